"""Volcano: a queue for each tenant, and HyperNodes, a tree of nodes by the switches that they share."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from ....plan.build.kubernetes.levels import build_topology_labels, compute_label_tiers
from ....plan.build.kubernetes.names import (
    POOL_LABEL,
    build_topology,
    format_cluster_queue_name,
    format_level_label,
    format_scheduling_class_name,
)
from ....plan.build.kubernetes.quota import MEMORY, compute_max_resources, compute_pool_capacity, compute_tenant_quotas
from ....plan.model.plan import Level, Plan, PoolPlan
from .accessors import require_kubernetes_plan
from .manifest import Object, build_object

__all__ = ["build_discovery_configuration", "build_files", "build_scheduler_configuration"]

_PRIORITY_VALUES = {"low": 0, "normal": 500, "high": 1000}


def build_files(plan: Plan) -> dict[str, list[Object]]:
    """Build queues and, if the wiring is known, HyperNodes. On a cloud Volcano discovers them
    (:func:`build_discovery_configuration`).
    """
    volcano = require_kubernetes_plan(plan).volcano
    assert volcano is not None, "a plan whose Volcano release is unknown has an error finding"
    found = {"queues": list(_build_queues(plan, volcano.queues))}
    if plan.site.kind == "onprem":
        found["hypernodes"] = list(_build_hyper_nodes(plan, volcano.topology, volcano.abilities.tier_names))
    found["priorities"] = [
        build_object(
            "scheduling.k8s.io/v1",
            "PriorityClass",
            format_scheduling_class_name(name),
            value=value,
            globalDefault=False,
            description=f"jobs of {name} priority",
        )
        for name, value in _PRIORITY_VALUES.items()
    ]
    return found


def build_scheduler_configuration(plan: Plan) -> Object:
    """Build actions and plugins of the scheduler, in the format of volcano-scheduler.conf."""
    devices = sorted({name for pool in plan.pools for name in compute_pool_capacity(pool) if "/" in name})
    near: Object = {"name": "network-topology-aware"}
    if devices:
        near["arguments"] = {
            "weight": 10,
            "hypernode.binpack.resources": ", ".join(devices),
            **{f"hypernode.binpack.resources.{name}": 2 for name in devices},
        }
    fits: Object = {"name": "predicates"}
    release = require_kubernetes_plan(plan).release
    if release and release.abilities.devices and any(pool.has_imex for pool in plan.pools):
        fits["arguments"] = {"predicate.DynamicResourceAllocationEnable": True}  # channels are claimed
    return {
        # Without "enqueue", which admits no job while all nodes are allocated, so that nothing would be preempted.
        "actions": "allocate, preempt, reclaim, backfill",
        # One tier, so that a victim must be allowed by all plugins: none within a queue's deserved share (capacity).
        # Without the two settings on gangs, gangs would never be preempted; a gang that loses a pod restarts as a
        # whole.
        "tiers": [
            {
                "plugins": [
                    {"name": "priority"},
                    {"name": "gang", "enablePreemptable": False, "enableReclaimable": False},
                    {"name": "conformance"},
                    {"name": "drf", "enablePreemptable": False},
                    fits,
                    {"name": "capacity"},
                    {"name": "nodeorder"},
                    {"name": "binpack"},
                    near,
                ]
            }
        ],
    }


def build_discovery_configuration(plan: Plan) -> Object:
    """Build the discovery of HyperNodes from the provider's node labels, in the format of volcano-controller.conf."""
    if plan.site.kind == "onprem":
        return {}
    places = dict.fromkeys(build_topology_labels(plan, pool) for pool in plan.pools)
    found = {place.name: [{"nodeLabel": label} for label in place.labels] for place in places if place.labels[1:]}
    if not found:
        return {}
    return {
        "networkTopologyDiscovery": [
            {"source": "label", "enabled": True, "config": {"networkTopologyTypes": found}},
        ]
    }


def _build_queues(plan: Plan, version: str) -> Iterator[Object]:
    shares = compute_tenant_quotas(plan)
    for tenant in plan.tenants:
        deserved: dict[str, int] = {}
        for own in shares[tenant.name]:
            for name, number in own.nominal.items():
                deserved[name] = deserved.get(name, 0) + number
        spec: Object = {
            "weight": max(1, tenant.share),
            "reclaimable": True,
            "parent": "root",
            "deserved": _format_resources(deserved),
        }
        if capability := compute_max_resources(shares[tenant.name]):
            spec["capability"] = _format_resources(capability)
        yield build_object(
            f"scheduling.volcano.sh/{version}", "Queue", format_cluster_queue_name(tenant.name), spec=spec
        )
    if not plan.tenants:
        yield build_object(
            f"scheduling.volcano.sh/{version}",
            "Queue",
            format_cluster_queue_name(None),
            spec={"weight": 1, "reclaimable": True},
        )


def _format_resources(resources: dict[str, int]) -> dict[str, str]:
    return {name: f"{number}Mi" if name == MEMORY and number else str(number) for name, number in resources.items()}


def _build_hyper_nodes(plan: Plan, version: str, has_tier_names: bool) -> Iterator[Object]:
    """Yield HyperNodes: the innermost level of a pool selects nodes by label, every further one the groups below by
    name.

    Pools share switches, and a switch may hold domains of one pool and plain nodes of another: it is a single
    HyperNode.
    """
    tiers = compute_label_tiers(plan)
    for level, groups in _collect_members(plan, tiers).items():
        for group, own in groups.items():
            spec: Object = {
                "tier": tiers[format_level_label(level)],
                **({"tierName": level} if has_tier_names else {}),
                "members": own,
            }
            yield build_object(f"topology.volcano.sh/{version}", "HyperNode", _format_name(level, group), spec=spec)


def _collect_members(plan: Plan, tiers: Mapping[str, int]) -> dict[str, dict[str, list[Object]]]:
    """Level, by its tier -> group -> members of its HyperNode, without duplicates."""
    chains = [(pool, build_topology(plan, pool).levels) for pool in plan.pools]
    names = dict.fromkeys(level.name for _, levels in chains for level in levels)
    outer_names = {level.name for _, levels in chains for level in levels[:-1]}
    members: dict[str, dict[str, list[Object]]] = {
        name: {} for name in sorted(names, key=lambda name: tiers[format_level_label(name)])
    }
    for pool, levels in chains:
        for outer, inner in pairwise(levels):
            for group, found in _group_members(outer, inner).items():
                _add_new(members[outer.name].setdefault(group, []), found)
        if levels:
            # if other pools have further levels below this one, its nodes are selected by pool too
            labels = {POOL_LABEL: pool.name} if levels[-1].name in outer_names else {}
            for group in _iter_pool_groups(levels[-1], pool):
                _add_new(members[levels[-1].name].setdefault(group, []), [_select_nodes(levels[-1], group, labels)])
    return members


def _add_new(members: list[Object], found: Iterable[Object]) -> None:
    members += [item for item in found if item not in members]


def _select_nodes(level: Level, group: str, labels: Mapping[str, str]) -> Object:
    """Build the member that selects the nodes of a group by label, in addition to other labels."""
    return {
        "type": "Node",
        "selector": {"labelMatch": {"matchLabels": {format_level_label(level.name): group, **labels}}},
    }


def _iter_pool_groups(level: Level, pool: PoolPlan) -> Iterator[str]:
    """Yield the groups that contain nodes of a pool."""
    for group in level.groups:
        if any(
            part.prefix == pool.hosts.prefix and part.first <= pool.hosts.last and pool.hosts.first <= part.last
            for part in group.hosts.ranges
        ):
            yield group.name


def _format_name(level: str, group: str) -> str:
    return f"{level}-{group}"


def _group_members(outer: Level, inner: Level) -> dict[str, list[Object]]:
    """Outer group -> the inner groups whose first host is in it."""
    starts: dict[str, list[tuple[int, int, str]]] = {}
    for group in outer.groups:
        for part in group.hosts.ranges:
            starts.setdefault(part.prefix, []).append((part.first, part.last, group.name))
    for found in starts.values():
        found.sort()
    members: dict[str, list[Object]] = {}
    for group in inner.groups:
        first = group.hosts.ranges[0]
        known = starts.get(first.prefix, [])
        position = bisect_right(known, first.first, key=lambda item: item[0]) - 1
        if position >= 0 and first.first <= known[position][1]:
            member = {"type": "HyperNode", "selector": {"exactMatch": {"name": _format_name(inner.name, group.name)}}}
            members.setdefault(known[position][2], []).append(member)
    return members
