"""Selection of the plan's localities that are rendered for Slurm.

From 25.05 on all of them, and partitions select one; before, exactly one for the whole cluster. Nodes outside a block
topology cannot be allocated to jobs, so that a partition only uses one that covers all its nodes.
"""

from __future__ import annotations

from ....catalog import SlurmRelease
from ....plan.model.plan import Group, Locality, Plan
from ....primitives.nodes import HostRange
from ....spec.scheduler import Partition
from .accessors import has_dynamic_nodes, require_slurm_release, require_slurm_spec

__all__ = [
    "FLAT_LOCALITY",
    "compute_block_sizes",
    "select_blocks",
    "select_default_locality",
    "fold_names",
    "select_partition_locality",
    "list_supported_localities",
]

FLAT_LOCALITY = Locality("flat", "flat", ())


def list_supported_localities(plan: Plan) -> list[Locality]:
    """Return localities that the release supports, in the plan's order; flat is always one of them."""
    if has_dynamic_nodes(plan):  # nodes report their location when they register
        return [FLAT_LOCALITY]
    kinds = require_slurm_release(plan).abilities.topologies
    found = [locality for locality in plan.localities if locality.kind in kinds and locality.kind != "flat"]
    return [*found, next((locality for locality in plan.localities if locality.kind == "flat"), FLAT_LOCALITY)]


def select_default_locality(plan: Plan) -> Locality:
    """Return the cluster's default: the requested one, else the first that covers every node."""
    able = list_supported_localities(plan)
    wanted = require_slurm_spec(plan).topology
    asked = [locality for locality in able if locality.kind == wanted]
    every = {pool.name for pool in plan.pools}
    return next(iter(asked), None) or next(
        locality for locality in able if every <= _find_covered_pools(plan, locality)
    )


def select_partition_locality(plan: Plan, partition: Partition) -> Locality:
    """Return the locality of a partition: the kind that it or the cluster requests, else the first that covers all its
    nodes.

    Blocks come first: they cover only nodes with scale-up domains.
    """
    able = sorted(list_supported_localities(plan), key=lambda locality: locality.kind != "block")
    wanted = partition.topology or require_slurm_spec(plan).topology
    asked = [locality for locality in able if locality.kind == wanted]
    pools = set(partition.pools)
    return next(iter(asked), None) or next(
        locality for locality in able if pools <= _find_covered_pools(plan, locality)
    )


def select_blocks(locality: Locality, release: SlurmRelease) -> tuple[Group, ...]:
    """Return the blocks that the release supports: some releases do not start if a block has fewer nodes than the
    others.
    """
    groups, base = locality.levels[0].groups, _compute_base_size(locality)
    return groups if release.abilities.short_blocks else tuple(item for item in groups if len(item.hosts) == base)


def compute_block_sizes(locality: Locality, blocks: int) -> list[int]:
    """Return the sizes of aggregated blocks: the block, and its doublings while there are enough blocks.

    Slurm supports 16 levels.
    """
    return [_compute_base_size(locality) << level for level in range(16) if not level or 1 << level <= blocks]


def _compute_base_size(locality: Locality) -> int:
    return min(locality.block_nodes, max(len(group.hosts) for group in locality.levels[0].groups))


def _find_covered_pools(plan: Plan, locality: Locality) -> set[str]:
    """Return pools whose nodes are all in the locality."""
    if locality.kind == "flat":
        return {pool.name for pool in plan.pools}
    groups = (
        select_blocks(locality, require_slurm_release(plan)) if locality.kind == "block" else locality.levels[0].groups
    )
    found: dict[str, int] = {}
    for hosts in (part for group in groups for part in group.hosts.ranges):
        found[hosts.prefix] = found.get(hosts.prefix, 0) + len(hosts)
    return {pool.name for pool in plan.pools if found.get(pool.hosts.prefix) == pool.nodes}


def fold_names(names: list[str]) -> str:
    """Fold names, in order, with runs of numbers in brackets.

    >>> fold_names(["su1", "su2", "su3", "net-login"])
    'su[1-3],net-login'
    """
    runs: list[HostRange | str] = []
    for name in names:
        digits = len(name) - len(name.rstrip("0123456789"))
        number = name[-digits:] if digits else ""
        if not number or (number[0] == "0" and digits > 1):
            runs.append(name)
            continue
        last = runs[-1] if runs else None
        if isinstance(last, HostRange) and last.prefix == name[:-digits] and last.last + 1 == int(number):
            runs[-1] = HostRange(last.prefix, last.first, int(number), 1)
        else:
            runs.append(HostRange(name[:-digits], int(number), int(number), 1))
    return ",".join(map(str, runs))
