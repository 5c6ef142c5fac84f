"""Levels at which a queue can group pods: the levels of a pool's topology as node labels.

On-prem the levels are those of the wiring, with labels of supercloud. In a cloud the provider sets the location of a
node when it is created, so its labels replace those of supercloud on the machines that get them (a node without the
labels would never be used); the name of such a level is its label without the prefix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ....catalog.kubernetes_parts import NodeTopology
from ....spec.scheduler import KubernetesScheduler
from ...model.plan import Plan, PoolPlan
from .names import HOSTNAME_LABEL, build_full_topology, build_topology, format_level_label

__all__ = ["TopologyLabels", "find_level_label", "list_level_names", "build_topology_labels", "compute_label_tiers"]


@dataclass(frozen=True)
class TopologyLabels:
    """A named topology with the node label of every level, outermost first; the last is the host name."""

    name: str
    labels: tuple[str, ...]


def build_topology_labels(plan: Plan, pool: PoolPlan) -> TopologyLabels:
    """The topology of a pool's flavor."""
    if plan.site.kind == "onprem":
        own = build_topology(plan, pool)
        return TopologyLabels(own.name, own.labels)
    declared = plan.scheduler.settings
    wanted = declared.levels if isinstance(declared, KubernetesScheduler) else ()
    shown = tuple(label for label in _list_cloud_labels(plan, pool) if not wanted or _strip_prefix(label) in wanted)
    facts = plan.scheduler.kubernetes
    name = facts.topology.name if facts and facts.topology and _is_labeled(facts.topology, pool) else "nodes"
    domain = _find_domain_label(plan, pool)
    return TopologyLabels(f"{name}-domains" if domain and domain in shown else name, (*shown, HOSTNAME_LABEL))


def find_level_label(plan: Plan, pool: PoolPlan, level: str) -> str:
    """Node label of a level of the plan; empty if the queue does not use it.

    With labels of the provider, this is the scale-up domain of device discovery, for all other levels the innermost
    level of switches.
    """
    labels = build_topology_labels(plan, pool).labels[:-1]
    if plan.site.kind == "onprem" or format_level_label(level) in labels:
        return format_level_label(level) if format_level_label(level) in labels else ""
    facts, domain = plan.scheduler.kubernetes, _find_domain_label(plan, pool)
    if level == "scale-up" and domain in labels:
        return domain or ""
    single = facts.topology.single if facts and facts.topology else None
    return next((label for label in reversed(labels) if label not in (domain, single)), "")


def list_level_names(plan: Plan) -> list[str]:
    """All levels that the queue can use, outermost first."""
    if plan.site.kind != "onprem":
        return list(
            dict.fromkeys(_strip_prefix(label) for pool in plan.pools for label in _list_cloud_labels(plan, pool))
        )
    found = [level.name for pool in plan.pools for level in build_full_topology(plan, pool).levels]
    return list(dict.fromkeys(found))


def _list_cloud_labels(plan: Plan, pool: PoolPlan) -> tuple[str, ...]:
    """Labels that cloud nodes get automatically, outermost first: the provider's, and, around single machines, the
    scale-up domain from device discovery.
    """
    facts, domain = plan.scheduler.kubernetes, _find_domain_label(plan, pool)
    topology = facts.topology if facts and facts.topology and _is_labeled(facts.topology, pool) else None
    labels = list(topology.labels) if topology else []
    if domain:
        inside = labels.index(topology.single) if topology and topology.single in labels else len(labels)
        labels.insert(inside, domain)
    return tuple(labels)


def _find_domain_label(plan: Plan, pool: PoolPlan) -> str | None:
    """Node label of the scale-up domain, if it has several nodes and device discovery sets it."""
    facts = plan.scheduler.kubernetes
    resource = pool.accelerator.kubernetes if pool.accelerator else None
    stack = facts.stacks.get(resource) if facts and resource else None
    return stack.domain_label if stack and pool.machine.domain_nodes > 1 else None


def compute_label_tiers(plan: Plan) -> dict[str, int]:
    """Node label of a level -> its tier in Volcano, from 1 for the innermost.

    Volcano has one number for all pools, so the tier of a level is above those of all levels inside it in any topology.
    """
    within: dict[str, set[str]] = {}
    for pool in plan.pools:
        labels = build_topology_labels(plan, pool).labels[:-1]
        for index, label in enumerate(labels):
            within.setdefault(label, set()).update(labels[index + 1 :])

    @cache
    def compute_tier(label: str) -> int:
        return 1 + max(map(compute_tier, within[label]), default=0)

    return {label: compute_tier(label) for label in within}


def _is_labeled(topology: NodeTopology, pool: PoolPlan) -> bool:
    """Whether the provider labels the nodes of a pool."""
    resource = pool.accelerator.kubernetes if pool.accelerator else None
    known = not topology.machines or pool.machine.name in topology.machines
    return known and (not topology.resources or resource in topology.resources)


def _strip_prefix(label: str) -> str:
    return label.rpartition("/")[2]
