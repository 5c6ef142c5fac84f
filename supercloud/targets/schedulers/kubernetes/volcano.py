"""Volcano: a queue for each tenant, and HyperNodes, a tree that grows from nodes that share a switch."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from ....plan.kubernetes_names import cluster_queue_of, level_label, topology_of
from ....plan.kubernetes_quota import MEMORY, allotments, pool_capacity
from ....plan.model import Group, Level, Plan
from .given import facts_of
from .manifest import Object, obj

__all__ = ["files", "scheduler_configuration"]

_PRIORITY = {"low": 0, "normal": 500, "high": 1000}


def files(plan: Plan) -> dict[str, list[Object]]:
    """Queues and, where we know the wiring, HyperNodes. On a cloud Volcano's own discovery by label makes them."""
    volcano = facts_of(plan).volcano
    assert volcano is not None, "a plan whose Volcano release is unknown has an error finding"
    found = {"queues": list(_queues(plan, volcano.queues))}
    if plan.site.kind == "onprem":
        found["hypernodes"] = list(_hyper_nodes(plan, volcano.topology, volcano.abilities.tier_names))
    found["priorities"] = [
        obj("scheduling.k8s.io/v1", "PriorityClass", f"supercloud-{name}", value=value, globalDefault=False,
            description=f"jobs of {name} priority")
        for name, value in _PRIORITY.items()
    ]  # fmt: skip
    return found


def scheduler_configuration(plan: Plan) -> Object:
    """Actions and plugins of the scheduler, as volcano-scheduler.conf has them."""
    devices = sorted({name for pool in plan.pools for name in pool_capacity(pool) if "/" in name})
    near: Object = {"name": "network-topology-aware"}
    if devices:
        near["arguments"] = {
            "weight": 10,
            "hypernode.binpack.resources": ", ".join(devices),
            **{f"hypernode.binpack.resources.{name}": 2 for name in devices},
        }
    return {
        "actions": "enqueue, allocate, preempt, reclaim, backfill",
        "tiers": [
            {"plugins": [{"name": "priority"}, {"name": "gang"}, {"name": "conformance"}]},
            {"plugins": [{"name": "drf"}, {"name": "predicates"}, {"name": "capacity"}, {"name": "nodeorder"},
                         {"name": "binpack"}, near]},
        ],
    }  # fmt: skip


def _queues(plan: Plan, version: str) -> Iterator[Object]:
    shares = allotments(plan)
    for tenant in plan.tenants:
        deserved: dict[str, int] = {}
        most: dict[str, int] = {}
        bounded = True
        for own in shares[tenant.name]:
            for name, number in own.nominal.items():
                deserved[name] = deserved.get(name, 0) + number
                if name in own.borrow:
                    most[name] = most.get(name, 0) + number + own.borrow[name]
                else:
                    bounded = False
        spec: Object = {"weight": max(1, tenant.share), "reclaimable": True, "parent": "root",
                        "deserved": _list(deserved)}  # fmt: skip
        capability = most if bounded else {name: value for name, value in most.items() if "/" in name}
        if capability:
            spec["capability"] = _list(capability)
        yield obj(f"scheduling.volcano.sh/{version}", "Queue", cluster_queue_of(tenant.name), spec=spec)
    if not plan.tenants:
        yield obj(f"scheduling.volcano.sh/{version}", "Queue", cluster_queue_of(None),
                  spec={"weight": 1, "reclaimable": True})  # fmt: skip


def _list(resources: dict[str, int]) -> dict[str, str]:
    return {name: f"{number}Mi" if name == MEMORY and number else str(number) for name, number in resources.items()}


def _hyper_nodes(plan: Plan, version: str, named: bool) -> Iterator[Object]:
    """Tier 1 takes nodes by their label, every further tier the groups below it by name."""
    done: set[str] = set()
    for pool in plan.pools:
        topology = topology_of(plan, pool)
        if topology.name in done:
            continue
        done.add(topology.name)
        levels = tuple(reversed(topology.levels))
        for tier, level in enumerate(levels, start=1):
            below = _members(level, levels[tier - 2]) if tier > 1 else {}
            for group in level.groups:
                members = below.get(group.name, []) if tier > 1 else [_nodes(level, group)]
                if members:
                    spec: Object = {"tier": tier, **({"tierName": level.name} if named else {}), "members": members}
                    yield obj(f"topology.volcano.sh/{version}", "HyperNode", _name(level, group), spec=spec)


def _name(level: Level, group: Group) -> str:
    return f"{level.name}-{group.name}"


def _nodes(level: Level, group: Group) -> Object:
    return {"type": "Node", "selector": {"labelMatch": {"matchLabels": {level_label(level.name): group.name}}}}


def _members(outer: Level, inner: Level) -> dict[str, list[Object]]:
    """outer group -> the inner groups whose first host lies in it."""
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
            member = {"type": "HyperNode", "selector": {"exactMatch": {"name": _name(inner, group)}}}
            members.setdefault(known[position][2], []).append(member)
    return members
