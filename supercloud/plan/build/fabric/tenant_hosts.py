"""Nodes of tenants: tenants that are isolated by partitions of InfiniBand fabrics have separate nodes.

A user on a node may use all keys of its ports, so a job of another tenant on it would reach the hosts that the node's
tenant reaches. Nodes of a tenant are therefore reserved for its jobs.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....spec import ClusterSpec
from ....spec import Fabric as Declared
from ...model.plan import PoolPlan
from .partitions import build_partitions, has_tenant_hosts

__all__ = ["find_host_tenants", "find_pool_tenants"]


def find_host_tenants(declared: Declared) -> dict[str, frozenset[str]]:
    """Host -> the tenants whose keys its ports have, for all hosts that a partition names: a partition without hosts
    includes all of them. Empty if no partition names any.

    The check ``subnet-isolation`` reports a partition without hosts next to one with hosts: its key is on all nodes.
    """
    if declared.kind != "infiniband" or not has_tenant_hosts(declared):
        return {}
    partitions = build_partitions(declared)
    everywhere = frozenset(item.name for item in partitions if item.hosts is None)
    found: dict[str, frozenset[str]] = {}
    for item in partitions:
        for host in item.hosts or ():
            found[host] = found.get(host, everywhere) | {item.name}
    return found


def find_pool_tenants(spec: ClusterSpec, pools: tuple[PoolPlan, ...]) -> dict[str, tuple[str, ...]]:
    """Pool -> the tenants that all of its nodes belong to, in the order of the spec; pools with nodes of several
    tenants, or of none, are omitted.
    """
    if spec.site.kind != "onprem" or not spec.tenants:
        return {}
    of_fabric = {item.name: find_host_tenants(item) for item in spec.fabrics}
    found: dict[str, tuple[str, ...]] = {}
    for pool in pools:
        sets = list(_iter_tenant_sets(pool, of_fabric))
        if not sets or any(len(item) != 1 for item in sets):
            continue
        common = frozenset.intersection(*(next(iter(item)) for item in sets))
        names = tuple(tenant.name for tenant in spec.tenants if tenant.name in common)
        if names:
            found[pool.name] = names
    return found


def _iter_tenant_sets(
    pool: PoolPlan, tenants_by_fabric: dict[str, dict[str, frozenset[str]]]
) -> Iterator[set[frozenset[str]]]:
    """For each fabric with nodes of tenants in the pool: the tenants of its nodes, each combination once."""
    nobody: frozenset[str] = frozenset()
    for name in pool.fabrics:
        owners = tenants_by_fabric.get(name, {})
        found = {owners.get(host, nobody) for host in pool.hosts} if owners else set()
        if found - {nobody}:
            yield found
