"""The topology of a cloud: a root under which every joining node reports its location, and scale-up domains by name.

The network is discovered: Slurm creates the switches that nodes report. Domains are known in advance: the scaler
assigns node names of one block to instances of one domain.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.model.plan import Locality, Plan, PoolPlan
from ....primitives.nodes import HostRange
from ....spec.scheduler import Partition
from .accessors import has_dynamic_nodes, require_slurm_release
from .topology import compute_block_sizes, select_blocks

__all__ = ["find_cloud_domain", "render_cloud_topology", "has_dynamic_topology", "iter_node_places"]

# Powered-down nodes need a location under the root, or jobs could not be allocated to them.
_POWERED_OFF_PLACE = "network:root:off"


def has_dynamic_topology(plan: Plan) -> bool:
    """Whether the location of nodes can be set while Slurm runs; in older releases locations are features only."""
    return has_dynamic_nodes(plan) and require_slurm_release(plan).abilities.topology_yaml


def iter_node_places(pool: PoolPlan, plan: Plan) -> Iterator[tuple[HostRange, str | None]]:
    """Yield nodes of a pool with their location while they are powered down."""
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
    """Return the topology of scale-up domains, for a partition whose nodes are all in one."""
    blocks = _find_block_locality(plan) if has_dynamic_topology(plan) else None
    if blocks is None:
        return None
    inside = {hosts.prefix for group in blocks.levels[0].groups for hosts in group.hosts.ranges}
    return blocks.name if all(plan.get_pool(name).hosts.prefix in inside for name in partition.pools) else None


def render_cloud_topology(plan: Plan) -> list[str]:
    """Render the lines of topology.yaml."""
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
