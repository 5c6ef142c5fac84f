"""Which job gets which accelerators of this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .queue import Task

__all__ = ["Capacity", "VARIABLE", "capacity", "lease", "real_accelerators"]

VARIABLE = "SUPERCLOUD_ACCELERATORS"
"""How many accelerators of this machine jobs may use; empty means what is there, or else pretended ones."""


@dataclass(frozen=True)
class Capacity:
    """What may run at one time."""

    slots: int
    simulated: bool
    plain: int
    """Jobs without accelerators."""


def real_accelerators() -> int | None:
    """Accelerators the user lets us have, or that are there; None when there are none."""
    said = os.environ.get(VARIABLE, "")
    if said.isdigit():
        return int(said)
    return sum(bool(re.fullmatch(r"nvidia\d+", name)) for name in os.listdir("/dev")) or None


def capacity(tasks: Sequence[Task]) -> Capacity:
    """What there is; without accelerators, as many pretended ones as the largest job on its machines would see."""
    plain = max(4, 2 * (os.cpu_count() or 1))
    real = real_accelerators()
    if real is not None:
        return Capacity(real, False, plain)
    largest = max((int(task.number("nodes") * task.number("node_accelerators")) for task in tasks), default=0)
    return Capacity(largest, True, plain)


def need(task: Task, places: Capacity) -> int:
    """Slots a job takes. The nodes it pretends to have share what is really there."""
    return min(int(task.number("nodes") * task.number("accelerators_per_node")), max(places.slots, 1))


def lease(
    running: Sequence[Task], waiting: Sequence[Task], places: Capacity
) -> tuple[list[tuple[Task, list[int]]], list[tuple[Task, str]]]:
    """Jobs that can begin now with their slots, and jobs that never can with the reason.

    A job that must wait for slots keeps those behind it from overtaking, or a large one would wait for ever.
    """
    taken = {slot for task in running for slot in task.slots}
    free = [slot for slot in range(places.slots) if slot not in taken]
    plain = places.plain - sum(not task.slots for task in running)
    leases: list[tuple[Task, list[int]]] = []
    hopeless: list[tuple[Task, str]] = []
    held = False
    for task in waiting:
        if task.cancelled:
            continue
        per_node = int(task.number("accelerators_per_node"))
        if per_node > places.slots:
            hopeless.append((task, f"it needs {per_node} accelerators on a node, this machine may give {places.slots}; "
                                   f"set {VARIABLE}"))  # fmt: skip
        elif not per_node:
            if plain > 0:
                plain -= 1
                leases.append((task, []))
        elif not held and need(task, places) <= len(free):
            count = need(task, places)
            leases.append((task, free[:count]))
            free = free[count:]
        else:
            held = True
    return leases, hopeless
