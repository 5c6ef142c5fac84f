"""What is free on a Slurm cluster: ``scontrol show node`` and ``squeue`` in, values out. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal

from ....errors import EngineError
from ...fleet.observations import NodeState, Waiting
from ..responses import LAST_TIME, lines_of, read_number

__all__ = ["NOT_FOR_NODES", "PENDING", "RUNNING", "SHOW", "accelerators", "condition", "ends", "nodes", "waiting"]

SHOW = ("scontrol", "show", "node", "--oneliner", "--all")
# of everybody: until when which nodes are taken, and how much waits where
RUNNING = ("env", "SLURM_TIME_FORMAT=%s", "squeue", "--noheader", "--all", "--states=RUNNING,COMPLETING",
           "--format=%e|%N")  # fmt: skip
PENDING = ("squeue", "--noheader", "--all", "--states=PENDING", "--array", "--format=%P|%D|%r")

DRAINED = {"DRAIN", "MAINT", "MAINTENANCE", "REBOOT_ISSUED", "REBOOT_REQUESTED", "PERFCTRS", "BLOCKED",
           "PLANNED_MAINT"}  # fmt: skip
DOWN = {"DOWN", "ERROR", "FUTURE", "FAIL", "INVAL", "INVALID_REG", "NOT_RESPONDING", "POWERING_DOWN", "UNKNOWN"}
_NAMES = 2**22
"""Names of nodes in one answer, each as often as a job has it: a cluster of 65,536 nodes with 64 jobs on each."""
# who waits for these does not wait for nodes
NOT_FOR_NODES = ("Dependency", "BeginTime", "JobHeldUser", "JobHeldAdmin", "JobArrayTaskLimit")


def nodes(text: str, until: Mapping[str, float]) -> Iterator[NodeState]:
    """Every node in the output of :data:`SHOW`; ``until`` is when the last job on a node must have ended."""
    for line in lines_of(text, "scontrol show node"):
        if not (name := _value(line, "NodeName")):
            continue
        words = set(_value(line, "State").strip("*~#!%$@^-").split("+"))
        used = accelerators(_value(line, "AllocTRES"))
        if not accelerators(_value(line, "CfgTRES")):
            used = int(bool(read_number(_value(line, "CPUAlloc") or "0", f"scontrol show node: CPUAlloc of {name}")))
        yield NodeState(name, condition(words), used, until.get(name))


def condition(words: set[str]) -> Literal["up", "drained", "down"]:
    """What the words of a node's state mean for new work."""
    return "down" if words & DOWN else "drained" if words & DRAINED else "up"


def _value(line: str, key: str) -> str:
    match = re.search(rf"(?:^| ){key}=(\S*)", line)
    return match[1] if match else ""


def accelerators(tres: str) -> int:
    """Those in a text such as ``cpu=4,gres/gpu=8``."""
    match = re.search(r"(?:^|,)gres/gpu=(\d+)", tres)
    return read_number(match[1], "gres/gpu of a node") if match else 0


def ends(text: str) -> dict[str, float]:
    """When the last job on each node must have ended, from :data:`RUNNING`; jobs without a limit say nothing."""
    latest: dict[str, float] = {}
    left = _NAMES
    for line in lines_of(text, "squeue"):
        end, _, hosts = line.partition("|")
        for host in hosts_of(hosts.strip(), left) if end.strip().isdigit() else ():
            left -= 1
            latest[host] = max(latest.get(host, 0.0), float(read_number(end, "squeue: the end of a job", LAST_TIME)))
    return latest


def waiting(text: str) -> list[Waiting]:
    """What waits for nodes, by partition, from :data:`PENDING`."""
    sums: dict[str, tuple[int, int]] = {}
    for line in lines_of(text, "squeue"):
        partition, _, rest = line.partition("|")
        count, _, reason = rest.partition("|")
        if count.strip().isdigit() and not reason.startswith(NOT_FOR_NODES):
            wanted = read_number(count, f"squeue: the nodes of a job in {partition[:80]}")
            for name in partition.split(","):
                total, jobs = sums.get(name, (0, 0))
                sums[name] = total + wanted, jobs + 1
    return [Waiting(name, total, jobs) for name, (total, jobs) in sorted(sums.items())]


def hosts_of(folded: str, most: int = _NAMES) -> Iterator[str]:
    """The names in ``a-[01-03,07],b2``: Slurm's way to write them, for names with one range of numbers.

    Raises :class:`EngineError` for a text of another form, and where it has more than ``most`` names.
    """
    for prefix, inside, single in re.findall(r"([^,\[\]]+)\[([^\]]+)\]|([^,\[\]]+)", folded):
        if single:
            yield single
        for part in inside.split(",") if inside else ():
            first, _, last = part.partition("-")
            if not (first.isdecimal() and (last or first).isdecimal()) or len(first + last) > 18:
                raise EngineError(f"squeue: {folded[:80]!r} is no list of nodes")
            most -= max(0, int(last or first) + 1 - int(first))
            if most < 0:
                raise EngineError(f"squeue: {folded[:80]!r} brings the nodes of jobs beyond {_NAMES:,}; is that the "
                                  "Slurm it should be?")  # fmt: skip
            for number in range(int(first), int(last or first) + 1):
                yield f"{prefix}{number:0{len(first)}d}"
