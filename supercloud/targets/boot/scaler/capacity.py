"""Steps of a pass that resize groups: until every node that Slurm requests has a pending instance."""

from __future__ import annotations

from .cloud import Cloud, NoCapacityError, ResizeError
from .commands import Journal
from .memory import Memory
from .settings import Group
from .view import ClusterView

__all__ = ["compute_growth", "grow_groups", "shrink_refused"]


def shrink_refused(view: ClusterView, memory: Memory, cloud: Cloud, journal: Journal) -> None:
    """Shrink groups whose instances the cloud could not start to the instances that exist, and skip them for a while.

    Clouds accept a size and detect later that they have no capacity; as long as the group has that size, its missing
    instances count as pending and no other group is tried.
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
    """Resize the groups of each pool, in their order, until every node that Slurm requests has a pending instance."""
    for pool in view.settings.list_pools():
        groups = view.settings.list_groups(pool)
        missing = len(view.list_waiting(pool)) - sum(view.count_pending(group) for group in groups)
        for group in groups:
            if missing > 0 and not memory.is_full(group.key, view.settings.capacity_retry):
                missing -= _grow(group, missing, view, memory, cloud, journal)
        if missing > 0:
            journal.write(f"{pool}: no group has capacity for {missing} further nodes")


def compute_growth(group: Group, size: int, missing: int) -> int:
    """The number of instances to add to a group: whole domains, up to its maximum.

    Args:
        group: The group.
        size: Its present size, in instances.
        missing: Nodes without an instance.
    """
    step = group.domain_instances
    more = -(-missing // step) * step
    return max(0, min(more, group.max_instances - size))


def _grow(group: Group, missing: int, view: ClusterView, memory: Memory, cloud: Cloud, journal: Journal) -> int:
    """Resize a group; the number of added instances, 0 if the cloud refuses."""
    more = compute_growth(group, view.sizes[group.key], missing)
    if not more:
        return 0
    size = view.sizes[group.key] + more
    memory.mark_asked(group.key)  # before the call: a refusal may be immediate
    try:
        cloud.resize(group.key, size)
    except NoCapacityError as error:
        _mark_full(group, str(error), view, memory, journal)
        return 0
    except ResizeError as error:
        journal.write(f"{group.key}: cannot be resized: {error}")
        return 0
    journal.write(f"{group.key}: resized by {more} to {size} instances")
    view.sizes[group.key] = size
    return more


def _mark_full(group: Group, reason: str, view: ClusterView, memory: Memory, journal: Journal) -> None:
    why = reason or "the cloud gives no reason"
    journal.write(f"{group.key}: no capacity: {why}; retried in {view.settings.capacity_retry:g} s")
    memory.mark_full(group.key)
