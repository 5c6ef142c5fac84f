"""Where a queue may say that pods belong together: the levels of a pool's topology as node labels.

On-prem the levels are those of the wiring, and the labels are ours. On a cloud the provider says where a node is, once
it is there, so its own labels take the place of ours for the machines that get them (a node without the labels would
never be used); such a level is called like its label without the prefix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ...catalog.kubernetes_parts import NodeTopology
from ...spec.scheduler import KubernetesScheduler
from ..model import Plan, PoolPlan
from .names import HOSTNAME, topology_of, whole_topology_of

__all__ = ["Place", "level_names", "place_of", "tiers_of"]


@dataclass(frozen=True)
class Place:
    """A topology by name, with the node label of every level, outermost first; the last is the host name."""

    name: str
    labels: tuple[str, ...]


def place_of(plan: Plan, pool: PoolPlan) -> Place:
    """The topology of a pool's flavor."""
    facts = plan.scheduler.kubernetes
    if facts and facts.topology and _labelled(facts.topology, pool):
        declared = plan.scheduler.spec
        wanted = declared.levels if isinstance(declared, KubernetesScheduler) else ()
        shown = (label for label in facts.topology.labels if not wanted or _word(label) in wanted)
        return Place(facts.topology.name, (*shown, HOSTNAME))
    if plan.site.kind != "onprem":
        return Place("nodes", (HOSTNAME,))
    own = topology_of(plan, pool)
    return Place(own.name, own.labels)


def level_names(plan: Plan) -> list[str]:
    """All levels that the queue can be told of, outermost first."""
    facts = plan.scheduler.kubernetes
    if facts and facts.topology:
        known = any(_labelled(facts.topology, pool) for pool in plan.pools)
        return [_word(label) for label in facts.topology.labels] if known else []
    found = [level.name for pool in plan.pools for level in whole_topology_of(plan, pool).levels]
    return list(dict.fromkeys(found))


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
