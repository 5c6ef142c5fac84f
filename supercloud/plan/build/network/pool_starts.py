"""The first address of each pool in a subnet that pools share: an InfiniBand rail is one subnet for the whole fabric.

The first pool starts at the beginning, the second in the middle, the next ones in the middle of the largest remaining
gaps. Each pool can therefore grow up to its neighbors, a pool added after the others moves none of them, and a pool
moves its successors only when it grows into them: ``diff`` reports this.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from ....primitives.addresses import AddressRun, Block
from ....spec import ClusterSpec
from ...model.plan import FabricPlan

__all__ = ["compute_pool_starts"]

# Nodes use 1/n of a rail if possible: servers, which may be added later, have the upper half (``server_links.py``).
# Under Kubernetes pods have parts of the lower half (``pod_blocks``), at most its upper three quarters.
_PART, _PART_BESIDE_PODS = 2, 8
_MAX_PARTS = 1024
"""Number of positions that are tried for each pool."""


def compute_pool_starts(
    spec: ClusterSpec, item: FabricPlan, nodes: Sequence[int], rail: Block, has_servers: bool
) -> tuple[int, ...]:
    """Number of each pool's first host in the subnet of a rail, in the order of the fabric's pools.

    If pools do not fit with gaps between them, they follow each other without gaps: the subnet is then full.
    """
    whole = rail.num_addresses
    below = whole // (2 if has_servers else 1)
    usual = whole // (_PART_BESIDE_PODS if _count_pod_parts(spec, item) > 1 else _PART)
    for size, packed in ((usual, False), (below // _count_pod_parts(spec, item), True), (below, True)):
        hosts = size // 256 * AddressRun.HOSTS_PER_256
        found = _spread_starts(nodes, hosts)
        if found:
            return found
        if packed and sum(nodes) <= hosts:
            break
    return tuple(accumulate(nodes[:-1], initial=0))


def _count_pod_parts(spec: ClusterSpec, item: FabricPlan) -> int:
    """The nodes' part of the part of a rail without servers: 1/n, the rest is for addresses of pods."""
    if spec.scheduler.kind != "kubernetes" or item.role != "compute":
        return 1
    return 4 if len(spec.tenants) > 1 and any(pool.slicing for pool in spec.pools) else 2


def _spread_starts(nodes: Sequence[int], hosts: int) -> tuple[int, ...] | None:
    """The start of each pool in a range of numbers; None if they do not all fit."""
    if len(nodes) > _MAX_PARTS:
        return None
    free = [int(hosts * _compute_bisection(place)) for place in range(_MAX_PARTS)]
    taken: list[range] = []  # in the order of their numbers
    found: list[int] = []
    for count in nodes:
        start = next((start for start in free if start + count <= hosts and _is_free(taken, start, count)), None)
        if start is None:
            return None
        insort(taken, range(start, start + count), key=_get_start)
        free = [item for item in free if not start <= item < start + count]
        found.append(start)
    return tuple(found)


def _is_free(taken: Sequence[range], start: int, count: int) -> bool:
    """Whether numbers from ``start`` on are not in one of the ranges, which are in order and do not overlap."""
    after = bisect_left(taken, start, key=_get_start)
    is_free_before = after == 0 or taken[after - 1].stop <= start
    return is_free_before and (after == len(taken) or start + count <= taken[after].start)


def _get_start(numbers: range) -> int:
    return numbers.start


def _compute_bisection(place: int) -> Fraction:
    """0, 1/2, 1/4, 3/4, 1/8 …: each is in the middle of a gap between the previous ones."""
    digits = f"{place:b}"[::-1]
    return Fraction(int(digits, 2), 1 << len(digits))
