"""Locality of a job: how near its nodes must be to each other, and the corresponding request to the scheduler."""

from __future__ import annotations

from dataclasses import dataclass

from ....plan.model.plan import Group, Level, Locality, Plan, PoolPlan
from ....primitives.nodes import HostRange
from ....spec.scheduler import Partition
from ..context import PlacementContext
from ..parallelism import compute_block_sizes
from ..refusal import JobChange, StepRefusal
from .demand import NodeDemand

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
    context: PlacementContext, demand: NodeDemand, partition: Partition | None
) -> LocalityRequest | StepRefusal:
    """The level at which a job fits, if the requested level is large enough."""
    near, nodes, pool = context.job.place.near, demand.nodes, context.pool
    grouping = _find_grouping(context.plan, pool, partition)
    if near == "scale-up" and (refusal := _check_scale_up_domain(context, demand, grouping)):
        return refusal
    level = grouping.find_innermost_level(nodes)
    if near in ("leaf", "pod", "fabric"):
        required = _require_level(near, grouping, demand, level)
        if isinstance(required, StepRefusal):
            return required
        level = required
    return LocalityRequest(
        level=_name_level(context, demand, grouping, level),
        required=near not in (None, "any"),
        switches=0 if near in ("any", "fabric") else grouping.count_switches(level, nodes),
        segment=_compute_segment(context, demand) if grouping.has_domains and near != "any" else 0,
    )


@dataclass(frozen=True)
class _Grouping:
    """How the nodes of a pool are grouped."""

    hosts: HostRange
    used: Locality | None
    """By the scheduler."""
    tree: Locality | None
    """By switches."""

    @property
    def has_domains(self) -> bool:
        """Whether the scheduler has scale-up domains."""
        return self.used is not None and self.used.kind == "block"

    @property
    def has_switches(self) -> bool:
        """Whether the scheduler has switches."""
        return self.used is not None and self.used is self.tree

    def find_innermost_level(self, nodes: int) -> int | None:
        """The innermost level of switches with a group that holds ``nodes`` nodes."""
        levels = self.tree.levels if self.tree else ()
        return next((i for i, level in enumerate(levels) if _count_largest_group(level, self.hosts) >= nodes), None)

    def count_switches(self, level: int | None, nodes: int) -> int:
        """The fewest innermost groups inside one group of ``level`` that hold ``nodes`` nodes; 0 if there are none."""
        if self.tree is None or level is None or not self.has_switches or nodes < 2:
            return 0
        return _count_switches(self.tree, level, self.hosts, nodes)


def _find_grouping(plan: Plan, pool: PoolPlan, partition: Partition | None) -> _Grouping:
    used = _select_scheduler_locality(plan, pool, partition)
    tree = used if used and used.kind == "tree" else _find_locality(plan, pool, "tree")
    return _Grouping(pool.hosts, used, tree)


def _select_scheduler_locality(plan: Plan, pool: PoolPlan, partition: Partition | None) -> Locality | None:
    """The locality used by the scheduler: the partition's, else the default."""
    if plan.scheduler.kind == "kubernetes" and (blocks := _find_locality(plan, pool, "block")):
        return blocks  # its queue has switches and domains in one tree
    if partition and partition.topology:
        return _find_locality(plan, pool, partition.topology)
    first = plan.localities[0] if plan.localities else None
    return first if first and _count_largest_group(first.levels[0], pool.hosts) else None


def _check_scale_up_domain(context: PlacementContext, demand: NodeDemand, grouping: _Grouping) -> StepRefusal | None:
    """Check that one scale-up domain holds the job, and that the scheduler has such domains."""
    nodes, domain = demand.nodes, context.pool.machine.domain_nodes
    if nodes > domain:
        fits_leaf = grouping.has_switches and grouping.find_innermost_level(nodes) == 0
        return StepRefusal(
            f"near: scale-up holds {domain} of its nodes, the job needs {nodes}",
            *_suggest_wider_locality(demand.advisor(nodes=domain), "leaf" if fits_leaf else "any"),
        )
    if nodes > 1 and context.plan.scheduler.kind == "slurm" and not grouping.has_domains:
        return StepRefusal(
            "near: scale-up, but its scheduler has no scale-up domains",
            "set place.near to leaf, or set topology: block on the scheduler or a partition",
            {"place.near": "leaf"},
        )
    return None


def _require_level(
    requested: str, grouping: _Grouping, demand: NodeDemand, innermost_level: int | None
) -> int | StepRefusal:
    """The level for the ``requested`` one: the leaf is the innermost of a tree, the fabric the outermost."""
    tree = grouping.tree
    if tree is None:
        return StepRefusal(f"near: {requested}, but its switches are unknown", "omit place.near", {"place.near": None})
    names = [level.name for level in tree.levels]
    outermost = len(names) - 1
    pod = names.index("pod") if "pod" in names else min(1, outermost)
    index = {"leaf": 0, "pod": pod, "fabric": outermost}[requested]
    if innermost_level is not None and innermost_level <= index:
        return index
    holds = _count_largest_group(tree.levels[index], grouping.hosts)
    wider = "any" if innermost_level is None else "pod" if 0 < innermost_level <= pod else "fabric"
    return StepRefusal(
        f"near: {requested} holds {holds} of its nodes, the job needs {demand.nodes}",
        *_suggest_wider_locality(demand.advisor(nodes=holds), wider),
    )


def _name_level(context: PlacementContext, demand: NodeDemand, grouping: _Grouping, level: int | None) -> str:
    """The name of the level that holds the job; empty if none does."""
    near, domain = context.job.place.near, context.pool.machine.domain_nodes
    if near == "scale-up" or (near is None and grouping.has_domains and demand.nodes <= domain):
        return "scale-up"
    return grouping.tree.levels[level].name if grouping.tree and level is not None else ""


def _compute_segment(context: PlacementContext, demand: NodeDemand) -> int:
    """Nodes that must share a scale-up domain: the whole job if one holds it, else the largest group with constant
    communication. A segment larger than the currently healthy domains would keep the job waiting forever.
    """
    if not _supports_segments(context.plan):
        return 0
    domain = context.pool.machine.domain_nodes
    if 1 < demand.nodes <= domain:
        return demand.nodes
    frequent, _ = compute_block_sizes(context.job.parallelism, demand.per_node)
    group = max((nodes for nodes in frequent if nodes <= domain), default=demand.group_nodes)
    return group if 1 < group <= domain else 0


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


def _suggest_wider_locality(
    suggestion: tuple[str, JobChange], wider: str
) -> tuple[str, JobChange, tuple[str, JobChange] | None]:
    """Fewer nodes, or as the alternative a wider domain."""
    near: tuple[str, JobChange] = (f"set place.near to {wider}", {"place.near": wider})
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
