"""Assignment of this machine's accelerators to jobs."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from .queue import Task

__all__ = ["Capacity", "ACCELERATORS_VARIABLE", "compute_capacity", "lease_slots", "count_real_accelerators"]

ACCELERATORS_VARIABLE = "SUPERCLOUD_ACCELERATORS"
"""Number of accelerators of this machine for jobs; empty: those present, else simulated ones."""


@dataclass(frozen=True)
class Capacity:
    """What may run concurrently."""

    slots: int
    is_simulated: bool
    jobs_without_accelerators: int
    """Number of jobs without accelerators."""


def count_real_accelerators() -> int | None:
    """Accelerators that the user allows, or that are present; None if there are none."""
    value = os.environ.get(ACCELERATORS_VARIABLE, "")
    if value.isdigit():
        return int(value)
    return sum(bool(re.fullmatch(r"nvidia\d+", name)) for name in os.listdir("/dev")) or None


def compute_capacity(tasks: Sequence[Task]) -> Capacity:
    """The capacity; without accelerators, as many simulated ones as the largest job needs on a node."""
    plain = max(4, 2 * (os.cpu_count() or 1))
    real = count_real_accelerators()
    if real is not None:
        return Capacity(real, False, plain)
    largest = max((int(task.get_number("nodes") * task.get_number("node_accelerators")) for task in tasks), default=0)
    return Capacity(largest, True, plain)


def compute_needed_slots(task: Task, capacity: Capacity) -> int:
    """Slots of a job. Its simulated nodes share the real accelerators."""
    return min(int(task.get_number("nodes") * task.get_number("accelerators_per_node")), max(capacity.slots, 1))


def lease_slots(
    running: Sequence[Task], waiting: Sequence[Task], capacity: Capacity
) -> tuple[list[tuple[Task, list[int]]], list[tuple[Task, str]]]:
    """Jobs that can start now, with their slots, and jobs that never can, with the reason.

    A job that waits for slots blocks the jobs after it, or a large job would wait forever.
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
                    f"it needs {per_node} accelerators on a node, this machine has {capacity.slots}; "
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
