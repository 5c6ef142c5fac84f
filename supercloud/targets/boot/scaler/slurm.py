"""Calls of ``scontrol``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .commands import Output, UnavailableError, run_command

__all__ = ["SlurmNode", "expand_hosts", "fold_hosts", "list_nodes", "read_always_on", "run_scontrol", "update_node"]

_MOST_NAMES = 1000
"""Names in one host list: those of 12,500 nodes exceed the maximum length of an argument (128 KiB)."""
_NO_NODES = ("not found", "No nodes")
"""Messages of scontrol, with an exit code other than 0, if Slurm has no nodes."""
_ALWAYS_ON = re.compile(r"^SuspendExcNodes *= *(.*)$", re.MULTILINE)


class SlurmNode(NamedTuple):
    """State and topology of a node in Slurm."""

    state: str
    """Base state and flags, joined with ``+``."""
    topology: str
    """Empty if it has none."""


def run_scontrol(*arguments: str, with_errors: bool = False) -> Output:
    """Run scontrol; see :func:`run_command`."""
    return run_command(("scontrol", *arguments), with_errors=with_errors)


def list_nodes() -> dict[str, SlurmNode]:
    """All nodes of Slurm by name; empty if it has none.

    Raises:
        UnavailableError: slurmctld does not respond.
    """
    shown = run_scontrol("-o", "show", "nodes", with_errors=True)
    if shown.code == 0:
        return parse_nodes(shown.text)
    if any(text in shown.text for text in _NO_NODES):
        return {}
    raise UnavailableError(f"slurmctld does not respond: {shown.text}")


def parse_nodes(text: str) -> dict[str, SlurmNode]:
    """Nodes of the output of ``scontrol -o show nodes``, a line for each."""
    found: dict[str, SlurmNode] = {}
    for line in text.split("\n"):  # splitlines() also ends lines at characters that a reason may contain
        if line.startswith("NodeName="):
            name, *words = line.split()
            # the first State=: a later one may be a word of the reason
            states = [word[6:] for word in words if word.startswith("State=") and len(word) > 6]
            places = [word[9:] for word in words if word.startswith("Topology=")]
            found[name[9:]] = SlurmNode(states[0] if states else "", places[-1] if places else "")
    return found


def expand_hosts(hosts: str) -> list[str]:
    """Names of a host list.

    Raises:
        UnavailableError: scontrol failed.
    """
    shown = run_scontrol("show", "hostnames", hosts)
    if shown.code != 0:
        raise UnavailableError(f"scontrol cannot expand {hosts}")
    return shown.text.split()


def fold_hosts(names: Sequence[str]) -> list[str]:
    """Host lists with these names, of at most a thousand each.

    Raises:
        UnavailableError: scontrol failed.
    """
    found: list[str] = []
    for start in range(0, len(names), _MOST_NAMES):
        shown = run_scontrol("show", "hostlist", ",".join(names[start : start + _MOST_NAMES]))
        if shown.code != 0:
            raise UnavailableError(f"scontrol cannot make a host list of {names[start]} and others")
        found += shown.text.split()
    return found


def update_node(name: str, *values: str) -> bool:
    """Change a node, or the nodes of a host list; false if Slurm refuses."""
    return run_scontrol("update", f"NodeName={name}", *values).code == 0


def read_always_on() -> str | None:
    """The nodes that Slurm never powers down, as a host list; None if slurmctld does not respond."""
    shown = run_scontrol("show", "config")
    if shown.code != 0:
        return None
    found = _ALWAYS_ON.search(shown.text)
    return found[1].replace("(null)", "") if found else ""
