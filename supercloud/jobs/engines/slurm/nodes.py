"""The free capacity of a Slurm cluster, from ``scontrol show node`` and ``squeue``. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from ....errors import EngineError
from ....primitives.responses import MAX_TIMESTAMP, parse_number
from ...fleet.observations import NodeState, WaitingJobs
from .listings import iter_rows

__all__ = [
    "NON_NODE_REASONS",
    "LIST_PENDING",
    "LIST_RUNNING",
    "SHOW_NODES",
    "count_accelerators",
    "classify_state",
    "parse_ends",
    "parse_nodes",
    "parse_waiting_jobs",
]

SHOW_NODES = ("scontrol", "show", "node", "--oneliner", "--all")
# of all users: end times of running jobs by node, and waiting jobs by partition
LIST_RUNNING = (
    "env",
    "SLURM_TIME_FORMAT=%s",
    "squeue",
    "--noheader",
    "--all",
    "--states=RUNNING,COMPLETING",
    "--format=%e|%N",
)
LIST_PENDING = ("squeue", "--noheader", "--all", "--states=PENDING", "--array", "--format=%P|%D|%r")

DRAINED_STATES = {
    "DRAIN",
    "MAINT",
    "MAINTENANCE",
    "REBOOT_ISSUED",
    "REBOOT_REQUESTED",
    "PERFCTRS",
    "BLOCKED",
    "PLANNED_MAINT",
}
DOWN_STATES = {"DOWN", "ERROR", "FUTURE", "FAIL", "INVAL", "INVALID_REG", "NOT_RESPONDING", "POWERING_DOWN", "UNKNOWN"}
_MAX_NODE_NAMES = 2**22
"""Maximum number of node names in one answer, counted once per job: a cluster of 65,536 nodes with 64 jobs on each."""
_NODE_ROW, _END_ROW, _PENDING_ROW = (
    re.compile(pattern) for pattern in (r"NodeName=", r"[^|]*\|[^|]*$", r"[^|]+\|[^|]*[0-9][^|]*\|")
)
_NO_NODES = "No nodes in the system"  # printed on stdout, src/scontrol/info_node.c
# jobs with these reasons do not wait for nodes
NON_NODE_REASONS = ("Dependency", "BeginTime", "JobHeldUser", "JobHeldAdmin", "JobArrayTaskLimit")


def parse_nodes(text: str, until: Mapping[str, float]) -> Iterator[NodeState]:
    """All nodes in the output of :data:`SHOW_NODES`; ``until`` is the latest end of the jobs on a node."""
    for line in iter_rows(text.removeprefix(_NO_NODES), "scontrol show node", _NODE_ROW, "nodes"):
        if not (name := _read_value(line, "NodeName")):
            continue
        words = set(_read_value(line, "State").strip("*~#!%$@^-").split("+"))
        used = count_accelerators(_read_value(line, "AllocTRES"))
        if not count_accelerators(_read_value(line, "CfgTRES")):
            used = int(
                bool(parse_number(_read_value(line, "CPUAlloc") or "0", f"scontrol show node: CPUAlloc of {name}"))
            )
        yield NodeState(name, classify_state(words), used, until.get(name))


def classify_state(flags: set[str]) -> Literal["up", "drained", "down"]:
    """Classify the flags of a node's state."""
    return "down" if flags & DOWN_STATES else "drained" if flags & DRAINED_STATES else "up"


def _read_value(line: str, key: str) -> str:
    match = re.search(rf"(?:^| ){key}=(\S*)", line)
    return match[1] if match else ""


def count_accelerators(tres: str) -> int:
    """The number of accelerators in a text such as ``cpu=4,gres/gpu=8``."""
    match = re.search(r"(?:^|,)gres/gpu=(\d+)", tres)
    return parse_number(match[1], "gres/gpu of a node") if match else 0


def parse_ends(text: str) -> dict[str, float]:
    """The latest end of the jobs on each node, from :data:`LIST_RUNNING`; jobs without a limit are ignored."""
    latest: dict[str, float] = {}
    left = _MAX_NODE_NAMES
    for line in iter_rows(text, "squeue", _END_ROW):
        end, _, hosts = line.partition("|")
        for host in expand_hosts(hosts.strip(), left) if _is_time(end.strip()) else ():
            left -= 1
            latest[host] = max(latest.get(host, 0.0), float(end))
    return latest


def _is_time(text: str) -> bool:
    """Whether it is a possible time; a job with another one is treated as one without an end."""
    is_short = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_TIMESTAMP))
    return is_short and int(text) <= MAX_TIMESTAMP


def parse_waiting_jobs(text: str) -> list[WaitingJobs]:
    """Jobs that wait for nodes, by partition, from :data:`LIST_PENDING`."""
    sums: dict[str, tuple[int, int]] = {}
    for line in iter_rows(text, "squeue", _PENDING_ROW):
        partition, _, rest = line.partition("|")
        count, _, reason = rest.partition("|")
        if count.strip().isdigit() and not reason.startswith(NON_NODE_REASONS):
            wanted = parse_number(count, f"squeue: the nodes of a job in {partition[:80]}")
            for name in partition.split(","):
                total, jobs = sums.get(name, (0, 0))
                sums[name] = total + wanted, jobs + 1
    return [WaitingJobs(name, total, jobs) for name, (total, jobs) in sorted(sums.items())]


def expand_hosts(folded: str, max_names: int = _MAX_NODE_NAMES) -> Iterator[str]:
    """The names in ``a-[01-03,07],b2``: Slurm's hostlist notation, for names with one numeric range.

    Raises :class:`EngineError` for other notations, and for more than ``max_names`` names.
    """
    for prefix, inside, single in re.findall(r"([^,\[\]]+)\[([^\[\]]+)\]|([^,\[\]]+)", folded):
        if single:
            yield single
        for part in inside.split(",") if inside else ():
            first, _, last = part.partition("-")
            if not (first.isdecimal() and (last or first).isdecimal()) or len(first + last) > 18:
                raise EngineError(f"squeue: {folded[:80]!r} is not a list of nodes")
            max_names -= max(0, int(last or first) + 1 - int(first))
            if max_names < 0:
                raise EngineError(
                    f"squeue: {folded[:80]!r} exceeds the limit of {_MAX_NODE_NAMES:,} nodes of jobs; check that "
                    "this is the right Slurm cluster"
                )
            for number in range(int(first), int(last or first) + 1):
                yield f"{prefix}{number:0{len(first)}d}"
