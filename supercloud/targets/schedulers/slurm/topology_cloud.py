"""The topology of a cloud: a root under which every node that joins says its place, and scale-up domains by name.

The network is discovered: Slurm makes the switches that nodes name. Domains are known before: the scaler gives names of
one block to instances of one domain.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.model.plan import Locality, Plan, PoolPlan
from ....primitives.nodes import HostRange
from ....spec.scheduler import Partition
from .given import is_dynamic, release_of
from .topology import block_sizes, blocks_of

__all__ = ["cloud_domain", "cloud_topology", "grows", "places"]

# Nodes that are off need a place under the root, or jobs could not be allocated to them.
_OFF = "network:root:off"


def grows(plan: Plan) -> bool:
    """Whether nodes can be given a place while Slurm runs; before, their places are features only."""
    return is_dynamic(plan) and release_of(plan).abilities.topology_yaml


def places(pool: PoolPlan, plan: Plan) -> Iterator[tuple[HostRange, str | None]]:
    """Nodes of a pool, by where they are as long as they are off."""
    if not grows(plan):
        yield pool.hosts, None
        return
    blocks = _blocks(plan)
    mine = [
        (hosts, group.name)
        for group in (blocks_of(blocks, release_of(plan)) if blocks else ())
        for hosts in group.hosts.ranges
        if hosts.prefix == pool.hosts.prefix
    ]
    if not mine:
        yield pool.hosts, _OFF
    for hosts, name in mine:
        yield hosts, f"{_OFF},{blocks.name if blocks else ''}:{name}"


def cloud_domain(plan: Plan, partition: Partition) -> str | None:
    """The topology of scale-up domains, for a partition all of whose nodes are in one."""
    blocks = _blocks(plan) if grows(plan) else None
    if blocks is None:
        return None
    inside = {hosts.prefix for group in blocks.levels[0].groups for hosts in group.hosts.ranges}
    return blocks.name if all(plan.pool(name).hosts.prefix in inside for name in partition.pools) else None


def cloud_topology(plan: Plan) -> list[str]:
    """Lines of topology.yaml."""
    lines = [
        "- topology: network",
        "  cluster_default: true",
        "  tree:",
        "    switches:",
        "      - {switch: root}",
    ]
    blocks = _blocks(plan)
    if blocks is not None:
        groups = blocks_of(blocks, release_of(plan))
        lines += [
            f"- topology: {blocks.name}",
            "  cluster_default: false",
            "  block:",
            f"    block_sizes: {block_sizes(blocks, len(groups))}",
            "    blocks:",
            *(f'      - {{block: "{group.name}"}}' for group in groups),
        ]
    return [*lines, "- topology: flat", "  cluster_default: false", "  flat: true"]


def _blocks(plan: Plan) -> Locality | None:
    able = "block" in release_of(plan).abilities.topologies
    return next((item for item in plan.localities if item.kind == "block"), None) if able else None
