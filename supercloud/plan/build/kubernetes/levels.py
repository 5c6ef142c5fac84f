"""Where a queue may say that pods belong together: the levels of a pool's topology as node labels.

On-prem the levels are those of the wiring, and the labels are ours. On a cloud the provider says where a node is, once
it is there, so its own labels take the place of ours for the machines that get them (a node without the labels would
never be used); such a level is called like its label without the prefix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ....catalog.kubernetes_parts import NodeTopology
from ....spec.scheduler import KubernetesScheduler
from ...model.plan import Plan, PoolPlan
from .names import HOSTNAME, level_label, topology_of, whole_topology_of

__all__ = ["Place", "label_of", "level_names", "place_of", "tiers_of"]


@dataclass(frozen=True)
class Place:
    """A topology by name, with the node label of every level, outermost first; the last is the host name."""

    name: str
    labels: tuple[str, ...]


def place_of(plan: Plan, pool: PoolPlan) -> Place:
    """The topology of a pool's flavor."""
    if plan.site.kind == "onprem":
        own = topology_of(plan, pool)
        return Place(own.name, own.labels)
    declared = plan.scheduler.spec
    wanted = declared.levels if isinstance(declared, KubernetesScheduler) else ()
    shown = tuple(label for label in _found(plan, pool) if not wanted or _word(label) in wanted)
    facts = plan.scheduler.kubernetes
    name = facts.topology.name if facts and facts.topology and _labelled(facts.topology, pool) else "nodes"
    domain = _domain(plan, pool)
    return Place(f"{name}-domains" if domain and domain in shown else name, (*shown, HOSTNAME))


def label_of(plan: Plan, pool: PoolPlan, level: str) -> str:
    """Node label of a level of the plan; empty where the queue is not told of it.

    Where the provider labels nodes this is the scale-up domain that discovery finds, for all else the innermost level
    of switches.
    """
    labels = place_of(plan, pool).labels[:-1]
    if plan.site.kind == "onprem" or level_label(level) in labels:
        return level_label(level) if level_label(level) in labels else ""
    facts, domain = plan.scheduler.kubernetes, _domain(plan, pool)
    if level == "scale-up" and domain in labels:
        return domain or ""
    single = facts.topology.single if facts and facts.topology else None
    return next((label for label in reversed(labels) if label not in (domain, single)), "")


def level_names(plan: Plan) -> list[str]:
    """All levels that the queue can be told of, outermost first."""
    if plan.site.kind != "onprem":
        return list(dict.fromkeys(_word(label) for pool in plan.pools for label in _found(plan, pool)))
    found = [level.name for pool in plan.pools for level in whole_topology_of(plan, pool).levels]
    return list(dict.fromkeys(found))


def _found(plan: Plan, pool: PoolPlan) -> tuple[str, ...]:
    """Labels that nodes of a cloud get by themselves, outermost first: the provider's, and around single machines the
    scale-up domain that discovery finds."""
    facts, domain = plan.scheduler.kubernetes, _domain(plan, pool)
    topology = facts.topology if facts and facts.topology and _labelled(facts.topology, pool) else None
    labels = list(topology.labels) if topology else []
    if domain:
        inside = labels.index(topology.single) if topology and topology.single in labels else len(labels)
        labels.insert(inside, domain)
    return tuple(labels)


def _domain(plan: Plan, pool: PoolPlan) -> str | None:
    """Node label of the scale-up domain, where it holds several nodes and their devices' discovery says which."""
    facts = plan.scheduler.kubernetes
    resource = pool.accelerator.kubernetes if pool.accelerator else None
    stack = facts.stacks.get(resource) if facts and resource else None
    return stack.domain_label if stack and pool.machine.domain_nodes > 1 else None


def tiers_of(plan: Plan) -> dict[str, int]:
    """Node label of a level -> its tier as Volcano counts them, from 1 for the innermost.

    Volcano knows one number for all pools, so a level's is above those of all that lie within it in any topology.
    """
    within: dict[str, set[str]] = {}
    for pool in plan.pools:
        labels = place_of(plan, pool).labels[:-1]
        for index, label in enumerate(labels):
            within.setdefault(label, set()).update(labels[index + 1 :])

    @cache
    def tier(label: str) -> int:
        return 1 + max(map(tier, within[label]), default=0)

    return {label: tier(label) for label in within}


def _labelled(topology: NodeTopology, pool: PoolPlan) -> bool:
    """Whether the provider labels the nodes of a pool."""
    resource = pool.accelerator.kubernetes if pool.accelerator else None
    known = not topology.machines or pool.machine.name in topology.machines
    return known and (not topology.resources or resource in topology.resources)


def _word(label: str) -> str:
    return label.rpartition("/")[2]
