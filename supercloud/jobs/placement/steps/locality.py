"""Locality of a job: how near its nodes must be to each other, and the corresponding request to the scheduler."""

from __future__ import annotations

from dataclasses import dataclass

from ....plan.model.plan import Group, Level, Locality, Plan, PoolPlan
from ....primitives.nodes import HostRange
from ....spec import JobSpec
from ....spec.scheduler import Partition
from .feasibility import RefusalError
from .shape import JobChange, ShrinkAdvisor

__all__ = ["LocalityRequest", "select_locality"]


@dataclass(frozen=True)
class LocalityRequest:
    """The innermost level that holds the whole job, and how to request it."""

    level: str = ""
    required: bool = False
    """Whether it is required; otherwise it is a preference that must not keep the job waiting forever."""
    switches: int = 0
    """Trees: the fewest innermost groups that hold it; 0: no request."""
    segment: int = 0
    """Blocks: nodes that must share a block; 0: no request."""


def select_locality(
    job: JobSpec,
    plan: Plan,
    pool: PoolPlan,
    nodes: int,
    group_nodes: int,
    partition: Partition | None,
    advisor: ShrinkAdvisor,
) -> LocalityRequest:
    """The level at which a job of ``nodes`` nodes fits; raises :class:`RefusalError` if the requested level is too
    small.
    """
    near = job.place.near
    seen = _select_scheduler_locality(plan, pool, partition)
    if plan.scheduler.kind == "kubernetes":  # its queue has switches and domains in one tree
        seen = _find_locality(plan, pool, "block") or seen
    domain = pool.machine.domain_nodes
    if near == "scale-up" and nodes > domain:
        outer = (
            "leaf"
            if seen and seen.kind == "tree" and nodes <= _count_largest_group(seen.levels[0], pool.hosts)
            else "any"
        )
        raise RefusalError(
            f"near: scale-up holds {domain} of its nodes, the job needs {nodes}",
            *_suggest_wider_locality(advisor(nodes=domain), outer),
        )
    if near == "scale-up" and nodes > 1 and plan.scheduler.kind == "slurm" and not (seen and seen.kind == "block"):
        raise RefusalError(
            "near: scale-up, but its scheduler has no scale-up domains",
            "set near to leaf, or set topology: block on the scheduler or a partition",
            {"place.near": "leaf"},
        )
    tree = seen if seen and seen.kind == "tree" else _find_locality(plan, pool, "tree")
    level = _find_innermost_level(tree, pool, nodes) if tree else None
    if near in ("leaf", "pod", "fabric"):
        level = _require_level(near, tree, pool, nodes, level, advisor)
    required = near not in (None, "any")
    name = tree.levels[level].name if tree and level is not None else ""
    if near == "scale-up" or (seen and seen.kind == "block" and nodes <= domain and near is None):
        name = "scale-up"
    switches = 0
    if seen and seen is tree and level is not None and nodes > 1 and near not in ("any", "fabric"):
        switches = _count_switches(tree, level, pool.hosts, nodes)
    segment = 0
    if seen and seen.kind == "block" and _supports_segments(plan) and near != "any":
        # the whole job if one domain holds it, else no more than its groups need: a segment larger than the
        # currently healthy domains would keep the job waiting forever
        segment = nodes if 1 < nodes <= domain else group_nodes if 1 < group_nodes <= domain else 0
    return LocalityRequest(name, required, switches, segment)


def _select_scheduler_locality(plan: Plan, pool: PoolPlan, partition: Partition | None) -> Locality | None:
    """The locality used by the scheduler: the partition's, else the default."""
    if partition and partition.topology:
        return _find_locality(plan, pool, partition.topology)
    first = plan.localities[0] if plan.localities else None
    return first if first and _count_largest_group(first.levels[0], pool.hosts) else None


def _find_locality(plan: Plan, pool: PoolPlan, kind: str) -> Locality | None:
    for locality in plan.localities:
        if locality.kind == kind and _count_largest_group(locality.levels[0], pool.hosts):
            return locality
    return None


def _supports_segments(plan: Plan) -> bool:
    release = plan.scheduler.release
    return plan.scheduler.kind == "kubernetes" or bool(release and release.abilities.segments)


def _count_nodes(group: Group, hosts: HostRange) -> int:
    """Nodes of a pool in a group: arithmetic on ranges."""
    return sum(
        max(0, min(part.last, hosts.last) - max(part.first, hosts.first) + 1)
        for part in group.hosts.ranges
        if part.prefix == hosts.prefix and part.width == hosts.width
    )


_largest_groups: dict[tuple[int, HostRange], tuple[Level, int]] = {}
"""Cached sizes of largest groups; levels are compared by identity, and stored here so that the identity stays valid."""


def _count_largest_group(level: Level, hosts: HostRange) -> int:
    known = _largest_groups.get((id(level), hosts))
    if known is None:
        if len(_largest_groups) > 512:
            _largest_groups.clear()
        most = max((_count_nodes(group, hosts) for group in level.groups), default=0)
        known = _largest_groups[id(level), hosts] = (level, most)
    return known[1]


def _find_innermost_level(tree: Locality, pool: PoolPlan, nodes: int) -> int | None:
    return next((i for i, level in enumerate(tree.levels) if _count_largest_group(level, pool.hosts) >= nodes), None)


def _require_level(
    requested_level: str,
    tree: Locality | None,
    pool: PoolPlan,
    nodes: int,
    innermost_level: int | None,
    advisor: ShrinkAdvisor,
) -> int:
    """The level for ``requested_level``: the leaf is the innermost of a tree, the fabric the outermost."""
    if tree is None:
        raise RefusalError(f"near: {requested_level}, but its switches are unknown", "omit near", {"place.near": None})
    names = [level.name for level in tree.levels]
    outermost = len(names) - 1
    pod = names.index("pod") if "pod" in names else min(1, outermost)
    index = {"leaf": 0, "pod": pod, "fabric": outermost}[requested_level]
    if innermost_level is not None and innermost_level <= index:
        return index
    holds = _count_largest_group(tree.levels[index], pool.hosts)
    wider = "any" if innermost_level is None else "pod" if 0 < innermost_level <= pod else "fabric"
    raise RefusalError(
        f"near: {requested_level} holds {holds} of its nodes, the job needs {nodes}",
        *_suggest_wider_locality(advisor(nodes=holds), wider),
    )


def _suggest_wider_locality(
    suggestion: tuple[str, JobChange], wider: str
) -> tuple[str, JobChange, tuple[str, JobChange] | None]:
    """Fewer nodes, or as the alternative a wider domain."""
    near: tuple[str, JobChange] = (f"set near to {wider}", {"place.near": wider})
    words, change = suggestion
    return (words, change, near) if change else (*near, None)


def _count_switches(tree: Locality, level: int, hosts: HostRange, nodes: int) -> int:
    """The fewest innermost groups inside one group of ``level`` that hold the job."""
    parents: list[int | None] = list(range(len(tree.levels[0].groups)))
    for index in range(level):
        above = [group.parent for group in tree.levels[index].groups]
        parents = [None if parent is None else above[parent] for parent in parents]
    inside: dict[int | None, list[int]] = {}
    for group, parent in zip(tree.levels[0].groups, parents, strict=True):
        inside.setdefault(parent, []).append(_count_nodes(group, hosts))
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
