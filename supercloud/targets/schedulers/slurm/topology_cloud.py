"""The topology of a cloud: a root under which every node that joins says its place, and scale-up domains by name.

The network is discovered: Slurm makes the switches that nodes name. Domains are known before: the scaler gives names of
one block to instances of one domain.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.model.plan import Locality, Plan, PoolPlan
from ....primitives.nodes import HostRange
from ....spec.scheduler import Partition
from .given import has_dynamic_nodes, require_slurm_release
from .topology import compute_block_sizes, select_blocks

__all__ = ["find_cloud_domain", "render_cloud_topology", "has_dynamic_topology", "iter_node_places"]

# Nodes that are off need a place under the root, or jobs could not be allocated to them.
_POWERED_OFF_PLACE = "network:root:off"


def has_dynamic_topology(plan: Plan) -> bool:
    """Whether nodes can be given a place while Slurm runs; before, their places are features only."""
    return has_dynamic_nodes(plan) and require_slurm_release(plan).abilities.topology_yaml


def iter_node_places(pool: PoolPlan, plan: Plan) -> Iterator[tuple[HostRange, str | None]]:
    """Nodes of a pool, by where they are as long as they are off."""
    if not has_dynamic_topology(plan):
        yield pool.hosts, None
        return
    blocks = _find_block_locality(plan)
    mine = [
        (hosts, group.name)
        for group in (select_blocks(blocks, require_slurm_release(plan)) if blocks else ())
        for hosts in group.hosts.ranges
        if hosts.prefix == pool.hosts.prefix
    ]
    if not mine:
        yield pool.hosts, _POWERED_OFF_PLACE
    for hosts, name in mine:
        yield hosts, f"{_POWERED_OFF_PLACE},{blocks.name if blocks else ''}:{name}"


def find_cloud_domain(plan: Plan, partition: Partition) -> str | None:
    """The topology of scale-up domains, for a partition all of whose nodes are in one."""
    blocks = _find_block_locality(plan) if has_dynamic_topology(plan) else None
    if blocks is None:
        return None
    inside = {hosts.prefix for group in blocks.levels[0].groups for hosts in group.hosts.ranges}
    return blocks.name if all(plan.get_pool(name).hosts.prefix in inside for name in partition.pools) else None


def render_cloud_topology(plan: Plan) -> list[str]:
    """Lines of topology.yaml."""
    lines = [
        "- topology: network",
        "  cluster_default: true",
        "  tree:",
        "    switches:",
        "      - {switch: root}",
    ]
    blocks = _find_block_locality(plan)
    if blocks is not None:
        groups = select_blocks(blocks, require_slurm_release(plan))
        lines += [
            f"- topology: {blocks.name}",
            "  cluster_default: false",
            "  block:",
            f"    block_sizes: {compute_block_sizes(blocks, len(groups))}",
            "    blocks:",
            *(f'      - {{block: "{group.name}"}}' for group in groups),
        ]
    return [*lines, "- topology: flat", "  cluster_default: false", "  flat: true"]


def _find_block_locality(plan: Plan) -> Locality | None:
    able = "block" in require_slurm_release(plan).abilities.topologies
    return next((item for item in plan.localities if item.kind == "block"), None) if able else None
