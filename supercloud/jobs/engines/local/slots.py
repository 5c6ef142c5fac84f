"""Which job gets which accelerators of this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .queue import Task

__all__ = ["Capacity", "ACCELERATORS_VARIABLE", "compute_capacity", "lease_slots", "count_real_accelerators"]

ACCELERATORS_VARIABLE = "SUPERCLOUD_ACCELERATORS"
"""How many accelerators of this machine jobs may use; empty means what is there, or else pretended ones."""


@dataclass(frozen=True)
class Capacity:
    """What may run at one time."""

    slots: int
    is_simulated: bool
    jobs_without_accelerators: int
    """Jobs without accelerators."""


def count_real_accelerators() -> int | None:
    """Accelerators the user lets us have, or that are there; None when there are none."""
    said = os.environ.get(ACCELERATORS_VARIABLE, "")
    if said.isdigit():
        return int(said)
    return sum(bool(re.fullmatch(r"nvidia\d+", name)) for name in os.listdir("/dev")) or None


def compute_capacity(tasks: Sequence[Task]) -> Capacity:
    """What there is; without accelerators, as many pretended ones as the largest job on its machines would see."""
    plain = max(4, 2 * (os.cpu_count() or 1))
    real = count_real_accelerators()
    if real is not None:
        return Capacity(real, False, plain)
    largest = max((int(task.get_number("nodes") * task.get_number("node_accelerators")) for task in tasks), default=0)
    return Capacity(largest, True, plain)


def compute_needed_slots(task: Task, capacity: Capacity) -> int:
    """Slots a job takes. The nodes it pretends to have share what is really there."""
    return min(int(task.get_number("nodes") * task.get_number("accelerators_per_node")), max(capacity.slots, 1))


def lease_slots(
    running: Sequence[Task], waiting: Sequence[Task], capacity: Capacity
) -> tuple[list[tuple[Task, list[int]]], list[tuple[Task, str]]]:
    """Jobs that can begin now with their slots, and jobs that never can with the reason.

    A job that must wait for slots keeps those behind it from overtaking, or a large one would wait for ever.
    """
    taken = {slot for task in running for slot in task.slots}
    free = [slot for slot in range(capacity.slots) if slot not in taken]
    plain = capacity.jobs_without_accelerators - sum(not task.slots for task in running)
    leases: list[tuple[Task, list[int]]] = []
    hopeless: list[tuple[Task, str]] = []
    held = False
    for task in waiting:
        if task.is_cancelled:
            continue
        per_node = int(task.get_number("accelerators_per_node"))
        if per_node > capacity.slots:
            hopeless.append(
                (
                    task,
                    f"it needs {per_node} accelerators on a node, this machine may give {capacity.slots}; "
                    f"set {ACCELERATORS_VARIABLE}",
                )
            )
        elif not per_node:
            if plain > 0:
                plain -= 1
                leases.append((task, []))
        elif not held and compute_needed_slots(task, capacity) <= len(free):
            count = compute_needed_slots(task, capacity)
            leases.append((task, free[:count]))
            free = free[count:]
        else:
            held = True
    return leases, hopeless
