"""The free capacity of a fleet, reduced as jobs are placed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

from ..fleet.state import Cluster, Fleet, PoolState
from ..placement.answer import Placement

__all__ = ["mark_pool_unavailable", "select_clusters", "allocate"]


def allocate(fleet: Fleet, placement: Placement) -> Fleet:
    """The fleet with a job's nodes in use: the first free ones, or those that are pinned.

    A job that is delayed for a lower carbon intensity leaves them free until its start time.
    """
    return (
        fleet
        if placement.begin
        else _update_pool(fleet, placement.cluster, placement.pool, lambda state: _occupy(state, placement))
    )


def mark_pool_unavailable(fleet: Fleet, cluster: str, pool: str) -> Fleet:
    """The fleet with a pool that is unavailable now."""
    return _update_pool(
        fleet, cluster, pool, lambda state: PoolState(state.pool, state.domains, bytes(state.pool.nodes))
    )


def select_clusters(fleet: Fleet, names: Collection[str]) -> Fleet:
    """The fleet with only these clusters."""
    return replace(fleet, clusters=tuple(cluster for cluster in fleet.clusters if cluster.plan.name in names))


def _update_pool(fleet: Fleet, cluster: str, pool: str, update: Callable[[PoolState], PoolState]) -> Fleet:
    return replace(
        fleet,
        clusters=tuple(
            _update_cluster(one, pool, update) if one.plan.name == cluster else one for one in fleet.clusters
        ),
    )


def _update_cluster(cluster: Cluster, pool: str, update: Callable[[PoolState], PoolState]) -> Cluster:
    if pool not in cluster.pools:
        return cluster  # the plan has changed since the job was placed
    return replace(cluster, pools={**cluster.pools, pool: update(cluster.pools[pool])})


def _occupy(state: PoolState, placement: Placement) -> PoolState:
    need = min(max(1, placement.accelerators_per_node if not placement.slice else 1), state.whole)
    free = bytearray(state.free)
    left = placement.nodes
    pinned = set(placement.hosts)
    names = list(state.pool.hosts) if pinned else []
    for index, count in enumerate(free):
        if not left:
            break
        if count >= need and (not pinned or names[index] in pinned):
            free[index] = count - need if placement.accelerators_per_node else 0
            left -= 1
    return PoolState(state.pool, state.domains, state.healthy, bytes(free), state.busy_until, state.queued_nodes + left)
