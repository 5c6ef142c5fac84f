"""The domains of a pool, each inside the next larger one, and the selection of domains for a job.

A level is a list of domains over the pool's nodes, numbered from 0; a domain is a few runs of nodes, so that no data is
per node. ``allocate_domains`` is the packing: the innermost domain that holds the job, then the fewest domains inside
it, then those with the fewest nodes left free, then an even distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, combinations
from math import comb

from ...plan.model.plan import Group, Plan, PoolPlan

__all__ = ["Domain", "Domains", "DomainAllocation", "build_domains", "allocate_domains"]

_MAX_COMBINATIONS = 256
"""Maximum number of outer domains that are compared; if there are more, the largest."""


@dataclass(frozen=True, slots=True)
class Domain:
    """Nodes that share a resource, such as a switch."""

    name: str
    runs: tuple[tuple[int, int], ...]
    """Start and end (exclusive), numbered within the pool."""
    innermost: tuple[int, int]
    """Its innermost domains, by index: start and end (exclusive)."""

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return sum(stop - start for start, stop in self.runs)


@dataclass(frozen=True)
class Domains:
    """All domains of a pool: levels from the innermost outwards; the last level is a single domain with every node."""

    names: tuple[str, ...]
    levels: tuple[tuple[Domain, ...], ...]

    def get_largest_size(self, level: int) -> int:
        """Nodes of the largest domain of a level."""
        return self._largest_sizes[level]

    @cached_property
    def _largest_sizes(self) -> tuple[int, ...]:
        return tuple(max((domain.nodes for domain in row), default=0) for row in self.levels)


@dataclass(frozen=True, slots=True)
class DomainAllocation:
    """The number of nodes that a job takes from each innermost domain."""

    level: int
    """The innermost level at which one domain holds the whole job."""
    domain: str
    """That domain."""
    parts: tuple[tuple[int, int], ...]
    """Index of an innermost domain, and nodes in it; in the order of the domains."""
    block_size: int
    """Size of blocks of nodes that are never split between two innermost domains."""
    leftover_nodes: int
    """Free nodes that remain in the domains it takes nodes from."""


_Part = tuple[str, tuple[tuple[int, int], ...]]
"""Name and runs of a domain."""
_Partition = Sequence[_Part]
"""Domains that together have every node of a pool once."""


def build_domains(plan: Plan, pool: PoolPlan) -> Domains:
    """The domains of a pool: scale-up domains, then the levels of its switches, where each is nested in the next."""
    partitions = _list_nested_partitions(plan, pool)
    outer = [partition for _, partition in partitions[1:]]
    leaves = _sort_leaves(partitions[0][1], outer)
    innermost = tuple(Domain(name, runs, (n, n + 1)) for n, (name, runs) in enumerate(leaves))
    levels = (innermost, *(_build_level(leaves, partition) for partition in outer))
    return Domains(tuple(name for name, _ in partitions), levels)


def _list_nested_partitions(plan: Plan, pool: PoolPlan) -> list[tuple[str, _Partition]]:
    """Name and domains of each level, from the innermost outwards; the last is the whole pool."""
    partitions: list[tuple[str, _Partition]] = []
    for kind in ("block", "tree"):
        locality = next((item for item in plan.localities if item.kind == kind), None)
        for level in locality.levels if locality else ():
            parts = [(group.name, runs) for group in level.groups if (runs := _compute_runs(group, pool))]
            is_whole = sum(stop - start for _, runs in parts for start, stop in runs) == pool.nodes
            if is_whole and (not partitions or _is_coarser(partitions[-1][1], parts)):
                partitions.append((level.name, parts))
    if not partitions or len(partitions[-1][1]) > 1:
        partitions.append(("pool", [(pool.name, ((0, pool.nodes),))]))
    return partitions


def _sort_leaves(leaves: _Partition, outer: Sequence[_Partition]) -> list[_Part]:
    """The innermost domains, sorted by the domains around them, so that those of each outer domain form one run."""
    leaves = sorted(leaves, key=lambda item: item[1])
    homes = [_find_outer_domains(leaves, partition) for partition in reversed(outer)]
    order = sorted(range(len(leaves)), key=lambda index: (*(home[index] for home in homes), index))
    return [leaves[index] for index in order]


def _build_level(leaves: _Partition, partition: _Partition) -> tuple[Domain, ...]:
    """The domains of an outer level, in the order of their innermost domains."""
    inside: dict[int, list[int]] = {}
    for index, home in enumerate(_find_outer_domains(leaves, partition)):
        inside.setdefault(home, []).append(index)
    return tuple(
        Domain(*partition[home], (members[0], members[-1] + 1))
        for home, members in sorted(inside.items(), key=lambda item: item[1])
    )


def _compute_runs(group: Group, pool: PoolPlan) -> tuple[tuple[int, int], ...]:
    hosts, runs = pool.hosts, []
    for part in group.hosts.ranges:
        if part.prefix == hosts.prefix and part.width == hosts.width:
            start, stop = max(part.first, hosts.first) - hosts.first, min(part.last, hosts.last) - hosts.first + 1
            if start < stop:
                runs.append((start, stop))
    return tuple(sorted(runs))


def _find_outer_domains(inner: _Partition, outer: _Partition) -> list[int]:
    """For each inner domain the index of the outer one that holds its first node."""
    starts = sorted((start, stop, at) for at, (_, runs) in enumerate(outer) for start, stop in runs)
    homes, position = [0] * len(inner), 0
    for index in sorted(range(len(inner)), key=lambda index: inner[index][1]):
        first = inner[index][1][0][0]
        while position < len(starts) - 1 and starts[position][1] <= first:
            position += 1
        homes[index] = starts[position][2]
    return homes


def _is_coarser(inner: _Partition, outer: _Partition) -> bool:
    """Whether the outer level has fewer domains, and each holds whole domains of the inner one."""
    if len(outer) >= len(inner):
        return False
    homes = _find_outer_domains(inner, outer)
    return all(
        any(low <= start and stop <= high for low, high in outer[home][1])
        for (_, runs), home in zip(inner, homes, strict=True)
        for start, stop in runs
    )


def allocate_domains(
    domains: Domains, free: Sequence[int], nodes: int, block_sizes: Sequence[int] = (), largest_firm_block: int = 0
) -> DomainAllocation | None:
    """The best domains for ``nodes`` nodes when ``free[i]`` are free in the i-th innermost one; None if too few are
    free.

    ``block_sizes`` are numbers of nodes that should not be split between innermost domains: the largest that can be
    kept together is used. Sizes up to ``largest_firm_block`` take priority over one near domain for the whole job,
    larger ones do not. Without firm blocks the level is the innermost possible, no other choice at this level takes
    fewer outer domains, and (for up to 256 choices of those) none takes fewer innermost ones.
    """
    plain = _allocate_innermost(domains, free, nodes, 1) if sum(free) >= nodes else None
    if plain is None or plain.level == 0 or nodes == 1:
        return plain
    for unit in sorted({unit for unit in block_sizes if 1 < unit <= nodes and not nodes % unit}, reverse=True):
        room = [count // unit * unit for count in free]
        found = _allocate_innermost(domains, room, nodes, unit) if sum(room) >= nodes else None
        if found and (unit <= largest_firm_block or found.level == plain.level):
            left = sum(free[index] for index, _ in found.parts) - nodes
            return DomainAllocation(found.level, found.domain, found.parts, unit, left)
    return plain


def _allocate_innermost(domains: Domains, free: Sequence[int], nodes: int, block_size: int) -> DomainAllocation | None:
    before = list(accumulate(free, initial=0))
    for level, row in enumerate(domains.levels):
        best: tuple[tuple[int, int, int, int], DomainAllocation] | None = None
        for at, domain in enumerate(row):
            first, end = domain.innermost
            if before[end] - before[first] < nodes:
                continue
            outer, taken = _select_fewest_domains(domains, level, at, free, nodes)
            left = sum(free[leaf] for leaf in taken) - nodes
            rank = (outer, len(taken), left, at)
            if best is None or rank < best[0]:
                parts = tuple(_distribute_evenly(sorted(taken), free, nodes, block_size))
                best = rank, DomainAllocation(level, domain.name, parts, block_size, left)
        if best:
            return best[1]
    return None


def _select_fewest_domains(
    domains: Domains, level: int, domain_index: int, free: Sequence[int], nodes: int
) -> tuple[int, list[int]]:
    """The number of domains of the level below, and the innermost ones, that hold ``nodes`` nodes inside one domain."""
    inside = range(*domains.levels[level][domain_index].innermost)
    if level < 2:
        return 0, _select_smallest_set(inside, free, nodes)
    below = [
        item
        for item in domains.levels[level - 1]
        if inside.start <= item.innermost[0] and item.innermost[1] <= inside.stop
    ]
    sizes = [sum(free[slice(*item.innermost)]) for item in below]
    chosen = _select_smallest_set(range(len(below)), sizes, nodes)
    tries = [chosen]
    if len(chosen) > 1 and comb(len(below), len(chosen)) <= _MAX_COMBINATIONS:
        tries = [
            list(some)
            for some in combinations(range(len(below)), len(chosen))
            if sum(sizes[index] for index in some) >= nodes
        ]
    answers = []
    for some in tries:
        leaves = [leaf for index in some for leaf in range(*below[index].innermost)]
        taken = _select_smallest_set(leaves, free, nodes)
        answers.append((len(taken), sum(free[leaf] for leaf in taken), sorted(taken)))
    return len(chosen), min(answers)[2]


def _select_smallest_set(candidates: Sequence[int], free: Sequence[int], nodes: int) -> list[int]:
    """The fewest domains that hold ``nodes`` nodes; of equal sets small domains, as their remaining nodes are
    fragmented.
    """
    by_size = sorted((index for index in candidates if free[index]), key=lambda index: (-free[index], index))
    taken: list[int] = []
    held = 0
    for index in by_size:
        if held >= nodes:
            break
        taken.append(index)
        held += free[index]
    spare = by_size[len(taken) :]
    for position in range(len(taken) - 1, -1, -1):  # replace each with the smallest that still suffices
        if held == nodes or not spare:
            break
        least = nodes - (held - free[taken[position]])
        low, high = 0, len(spare)
        while low < high:  # spare is sorted from large to small: the last that holds ``least``
            middle = (low + high) // 2
            low, high = (middle + 1, high) if free[spare[middle]] >= least else (low, middle)
        if low and free[spare[low - 1]] < free[taken[position]]:
            held += free[spare[low - 1]] - free[taken[position]]
            taken[position] = spare.pop(low - 1)
    return taken


def _distribute_evenly(
    selected: Sequence[int], free: Sequence[int], nodes: int, block_size: int
) -> list[tuple[int, int]]:
    """Distribute nodes over these domains as evenly as their capacity allows, in whole units."""
    left, shares = nodes // block_size, dict[int, int]()
    for number, index in enumerate(sorted(selected, key=lambda index: (free[index], index))):
        shares[index] = min(free[index] // block_size, left // (len(selected) - number))
        left -= shares[index]
    return [(index, shares[index] * block_size) for index in selected]
