"""How near the nodes of a job must be to each other, and what the scheduler is asked so that they are."""

from __future__ import annotations

from dataclasses import dataclass

from ....plan.model.plan import Group, Level, Locality, Plan, PoolPlan
from ....primitives.nodes import HostRange
from ....spec import JobSpec
from ....spec.scheduler import Partition
from .feasibility import Refused
from .shape import Change, Fewer

__all__ = ["Nearness", "nearness"]


@dataclass(frozen=True)
class Nearness:
    """The innermost level that holds the whole job, and how to ask for it."""

    level: str = ""
    required: bool = False
    """Whether the job insists; otherwise it is a preference that must not make it wait for ever."""
    switches: int = 0
    """Trees: the fewest innermost groups that hold it; 0 says nothing."""
    segment: int = 0
    """Blocks: nodes that must share one; 0 says nothing."""


def nearness(
    job: JobSpec, plan: Plan, pool: PoolPlan, nodes: int, group_nodes: int, partition: Partition | None, fewer: Fewer
) -> Nearness:
    """Where a job of so many nodes fits; raises :class:`Refused` where it is asked to be nearer than it can be."""
    near = job.place.near
    seen = _view(plan, pool, partition)
    if plan.scheduler.kind == "kubernetes":  # its queue sees switches and domains in one tree
        seen = _covering(plan, pool, "block") or seen
    domain = pool.machine.domain_nodes
    if near == "scale-up" and nodes > domain:
        outer = "leaf" if seen and seen.kind == "tree" and nodes <= _largest(seen.levels[0], pool.hosts) else "any"
        raise Refused(f"near: scale-up holds {domain} of its nodes, the job needs {nodes}",
                      *_or_near(fewer(nodes=domain), outer))  # fmt: skip
    if near == "scale-up" and nodes > 1 and plan.scheduler.kind == "slurm" and not (seen and seen.kind == "block"):
        raise Refused("near: scale-up, but its scheduler sees no scale-up domains",
                      "set near to leaf, or give the scheduler (or a partition) topology: block",
                      {"place.near": "leaf"})  # fmt: skip
    tree = seen if seen and seen.kind == "tree" else _covering(plan, pool, "tree")
    level = _innermost(tree, pool, nodes) if tree else None
    if near in ("leaf", "pod", "fabric"):
        level = _asked(near, tree, pool, nodes, level, fewer)
    required = near not in (None, "any")
    name = tree.levels[level].name if tree and level is not None else ""
    if near == "scale-up" or (seen and seen.kind == "block" and nodes <= domain and near is None):
        name = "scale-up"
    switches = 0
    if seen and seen is tree and level is not None and nodes > 1 and near not in ("any", "fabric"):
        switches = _switches(tree, level, pool.hosts, nodes)
    segment = 0
    if seen and seen.kind == "block" and _segments(plan) and near != "any":
        # the whole job where one domain holds it, else no more than its groups need: a segment that is larger than
        # what is whole on the day would keep the job waiting for ever
        segment = nodes if 1 < nodes <= domain else group_nodes if 1 < group_nodes <= domain else 0
    return Nearness(name, required, switches, segment)


def _view(plan: Plan, pool: PoolPlan, partition: Partition | None) -> Locality | None:
    """The locality the scheduler goes by: the partition's, else its default."""
    if partition and partition.topology:
        return _covering(plan, pool, partition.topology)
    first = plan.localities[0] if plan.localities else None
    return first if first and _largest(first.levels[0], pool.hosts) else None


def _covering(plan: Plan, pool: PoolPlan, kind: str) -> Locality | None:
    for locality in plan.localities:
        if locality.kind == kind and _largest(locality.levels[0], pool.hosts):
            return locality
    return None


def _segments(plan: Plan) -> bool:
    release = plan.scheduler.release
    return plan.scheduler.kind == "kubernetes" or bool(release and release.abilities.segments)


def _capacity(group: Group, hosts: HostRange) -> int:
    """Nodes of a pool in a group: arithmetic on ranges."""
    return sum(
        max(0, min(part.last, hosts.last) - max(part.first, hosts.first) + 1)
        for part in group.hosts.ranges
        if part.prefix == hosts.prefix and part.width == hosts.width
    )


_counted: dict[tuple[int, HostRange], tuple[Level, int]] = {}
"""Largest groups that were asked for; a level is known by being the same object, which stands here to remain so."""


def _largest(level: Level, hosts: HostRange) -> int:
    known = _counted.get((id(level), hosts))
    if known is None:
        if len(_counted) > 512:
            _counted.clear()
        most = max((_capacity(group, hosts) for group in level.groups), default=0)
        known = _counted[id(level), hosts] = (level, most)
    return known[1]


def _innermost(tree: Locality, pool: PoolPlan, nodes: int) -> int | None:
    return next((i for i, level in enumerate(tree.levels) if _largest(level, pool.hosts) >= nodes), None)


def _asked(near: str, tree: Locality | None, pool: PoolPlan, nodes: int, fits: int | None,
           fewer: Fewer) -> int:  # fmt: skip
    """The level that ``near`` means: the leaf is the innermost of a tree, the fabric its outermost."""
    if tree is None:
        raise Refused(f"near: {near}, but nothing is known about its switches", "leave out near",
                      {"place.near": None})  # fmt: skip
    names = [level.name for level in tree.levels]
    outermost = len(names) - 1
    pod = names.index("pod") if "pod" in names else min(1, outermost)
    index = {"leaf": 0, "pod": pod, "fabric": outermost}[near]
    if fits is not None and fits <= index:
        return index
    holds = _largest(tree.levels[index], pool.hosts)
    wider = "any" if fits is None else "pod" if 0 < fits <= pod else "fabric"
    raise Refused(f"near: {near} holds {holds} of its nodes, the job needs {nodes}",
                  *_or_near(fewer(nodes=holds), wider))  # fmt: skip


def _or_near(less: tuple[str, Change], wider: str) -> tuple[str, Change, tuple[str, Change] | None]:
    """Fewer nodes, or in their place a wider domain around them."""
    near: tuple[str, Change] = (f"set near to {wider}", {"place.near": wider})
    words, change = less
    return (words, change, near) if change else (*near, None)


def _switches(tree: Locality, level: int, hosts: HostRange, nodes: int) -> int:
    """The fewest innermost groups inside one group of ``level`` that hold the job."""
    parents: list[int | None] = list(range(len(tree.levels[0].groups)))
    for index in range(level):
        above = [group.parent for group in tree.levels[index].groups]
        parents = [None if parent is None else above[parent] for parent in parents]
    inside: dict[int | None, list[int]] = {}
    for group, parent in zip(tree.levels[0].groups, parents, strict=True):
        inside.setdefault(parent, []).append(_capacity(group, hosts))
    best = 0
    for capacities in inside.values():
        left, used = nodes, 0
        for capacity in sorted(capacities, reverse=True):
            if left <= 0:
                break
            left, used = left - capacity, used + 1
        if left <= 0 and (not best or used < best):
            best = used
    return best
