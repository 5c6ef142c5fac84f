"""Steps of a pass that resize groups: until every node that Slurm wants has an instance on its way."""

from __future__ import annotations

from .cloud import Cloud, NoCapacityError, ResizeError
from .commands import Journal
from .memory import Memory
from .settings import Group
from .view import ClusterView

__all__ = ["compute_growth", "grow_groups", "shrink_refused"]


def shrink_refused(view: ClusterView, memory: Memory, cloud: Cloud, journal: Journal) -> None:
    """Shrink groups whose instances do not come to what they have, and leave them alone for a while.

    Clouds accept a size and find out later that they have no instances; as long as the group has that size, its
    instances count as on their way and no other group is asked.
    """
    for group in view.settings.groups:
        present = len(view.instances[group.key])
        if view.sizes[group.key] <= present:
            continue
        reason = cloud.find_refusal(group.key, memory.get_asked_since(group.key))
        if reason is None:
            continue
        _mark_full(group, reason, view, memory, journal)
        try:
            cloud.resize(group.key, present)
        except ResizeError as error:
            journal.write(f"{group.key}: cannot be shrunk to {present}: {error}")
        else:
            view.sizes[group.key] = present


def grow_groups(view: ClusterView, memory: Memory, cloud: Cloud, journal: Journal) -> None:
    """Resize the groups of each pool, in their order, until every node that Slurm wants has an instance on its way."""
    for pool in view.settings.list_pools():
        groups = view.settings.list_groups(pool)
        missing = len(view.list_waiting(pool)) - sum(view.count_pending(group) for group in groups)
        for group in groups:
            if missing > 0 and not memory.is_full(group.key, view.settings.capacity_retry):
                missing -= _grow(group, missing, view, memory, cloud, journal)
        if missing > 0:
            journal.write(f"{pool}: no group has capacity for {missing} nodes now")


def compute_growth(group: Group, size: int, missing: int) -> int:
    """Instances that a group is to have more.

    Args:
        group: The group: whole domains come at once, and it has its most.
        size: Instances that it is to have now.
        missing: Nodes that need one.
    """
    step = group.domain_instances
    more = -(-missing // step) * step
    return max(0, min(more, group.max_instances - size))


def _grow(group: Group, missing: int, view: ClusterView, memory: Memory, cloud: Cloud, journal: Journal) -> int:
    """Make a group larger; the instances that it gets more, 0 where it is refused."""
    more = compute_growth(group, view.sizes[group.key], missing)
    if not more:
        return 0
    size = view.sizes[group.key] + more
    memory.mark_asked(group.key)  # before: a refusal may come at once
    try:
        cloud.resize(group.key, size)
    except NoCapacityError as error:
        _mark_full(group, str(error), view, memory, journal)
        return 0
    except ResizeError as error:
        journal.write(f"{group.key}: cannot be resized: {error}")
        return 0
    journal.write(f"{group.key}: {more} more, {size} in all")
    view.sizes[group.key] = size
    return more


def _mark_full(group: Group, reason: str, view: ClusterView, memory: Memory, journal: Journal) -> None:
    why = reason or "the cloud gives no reason"
    journal.write(f"{group.key}: no capacity: {why}; left alone for {view.settings.capacity_retry:g} s")
    memory.mark_full(group.key)
