"""The common rules of all fabrics: the number of switches from ports per switch and leaves alone.

A leaf has `uplinks` ports towards the core. Leaves are in pods; every leaf of a pod reaches every spine of it by the
same number of links, so the number of spines divides the uplinks (which is why NVIDIA specifies 16, not 12, spines for
3 SU of DGX H100: RA-11333-001 V11 Table 4). With three tiers the i-th spine of every pod connects to core group i, by
the same rule. Two tiers are one pod without a tier above its spines. Inputs differ, the rules do not: Tables 3 and 4 of
RA-11333-001 V11 are pods of an SU, the table of RA-11338-001 V01 (GB200) pods of one rail of an SU.

All counts are of one plane.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TypeAlias

from .errors import TopologyError, require_at_least

Radix: TypeAlias = int | tuple[int, int, int]  # ports per switch, of all tiers or of leaf, spine and core
Oversubscription: TypeAlias = float | tuple[float, float]  # ports down per port up, of leaf and spine


def compute_uplinks(down: int, oversubscription: float) -> int:
    """Number of uplinks for ports down: `ceil(down / oversubscription)`, also for ratios such as 4/3 that are not
    exact.
    """
    return ceil(round(down / oversubscription, 9))


def compute_max_down(radix: int, oversubscription: float = 1.0) -> int:
    """Maximum number of ports down of a leaf: 32 of 64 non-blocking, 84 of 128 at 2:1 (``oversubscription``: ports down
    per port up).

    An integer ratio is kept exactly: uplinks then spread evenly over few spines (85 down, 43 up need 43 spines).
    """
    ratio = int(oversubscription)
    if ratio == oversubscription and radix > ratio:
        return radix // (ratio + 1) * ratio
    down = min(radix, int(radix * oversubscription / (1 + oversubscription)) + 1)
    while down > 0 and down + compute_uplinks(down, oversubscription) > radix:
        down -= 1
    return down


def find_least_divisor(number: int, minimum: int) -> int:
    """The smallest divisor of `number` that is at least `minimum`, which is not above `number`."""
    return next(d for d in range(max(1, minimum), number + 1) if number % d == 0)


def spread_uplinks(
    switches: int, least: int, most: int, radix: int, *, spines: int | None = None, links: int = 0
) -> tuple[int, int] | None:
    """Minimum number of spines that joins a number of `switches`, and the fewest uplinks of each that spread evenly
    over them.

    A switch has `least` to `most` uplinks, a spine has `radix` ports; `links` further ones end on all spines together.
    `spines` is a requested number of spines. None if no number is possible. More uplinks may need fewer spines: 31
    spread over 31 spines only, 32 over two.
    """
    lower = max(1, -(-switches * least // radix))
    for count in range(lower, most + 1) if spines is None else (spines,):
        uplinks = -(-max(least, 1) // count) * count
        if uplinks <= most and switches * uplinks // count + -(-links // count) <= radix:
            return count, uplinks
    return None


def expand_radix(radix: Radix) -> tuple[int, int, int]:
    """The radix of leaf, spine and core."""
    leaf, spine, core = (radix, radix, radix) if isinstance(radix, int) else radix
    require_at_least(1, leaf_radix=leaf, spine_radix=spine, core_radix=core)
    return leaf, spine, core


def expand_oversubscription(oversubscription: Oversubscription) -> tuple[float, float]:
    """The oversubscription at leaf and spine; one number is that of the leaf, with a non-blocking spine.

    Raises :class:`TopologyError` for a number that is not positive.
    """
    pair = oversubscription if isinstance(oversubscription, tuple) else (oversubscription, 1.0)
    if min(pair) <= 0:
        raise TopologyError(
            f"oversubscription is {oversubscription}", "specify ports down per port up: 1 is non-blocking"
        )
    return pair


@dataclass(frozen=True, slots=True)
class LeafUnits:
    """The leaves, in units that are not split: an SU, or the leaves of one node, or a rack."""

    count: int
    section_leaves: int  # of one unit in one section
    sections: int  # sets of leaves that are joined by the core only: the rails if a pod is of one rail, else 1
    uplinks: int  # of a leaf

    @property
    def leaf_count(self) -> int:
        """Total number of leaves."""
        return self.count * self.section_leaves * self.sections


@dataclass(frozen=True, slots=True)
class TierLayout:
    """Switch counts of one plane and their groups."""

    tiers: int
    units: LeafUnits
    pod_units: int  # units in a full pod
    spines: int = 0  # of a pod; also the number of core groups
    spine_down: int = 0
    spine_up: int = 0
    cores: int = 0  # of a core group

    @property
    def section_pods(self) -> int:
        """Pods of a section."""
        return -(-self.units.count // self.pod_units)

    @property
    def pods(self) -> int:
        """Pods of all sections."""
        return self.section_pods * self.units.sections


@dataclass(frozen=True, slots=True)
class UpperTiers:
    """The tiers above the leaves: the inputs of the rules. None: decided by the rules."""

    spine_radix: int
    core_radix: int
    oversubscription: float = 1.0  # of the spine, if there is a core tier
    tiers: int | None = None
    pod_units: int | None = None
    spines: int | None = None  # of a pod
    has_large_pods: bool = False  # maximum size that the spine allows (fat-tree), else minimum that the core allows

    def __post_init__(self) -> None:
        require_at_least(1, tiers=self.tiers, pod_units=self.pod_units, spines=self.spines)
        if self.tiers is not None and self.tiers > 3:
            raise TopologyError(f"tiers is {self.tiers}", "a fabric has 1 to 3 tiers")

    def _count_ports_down(self, tiers: int) -> int:
        """Number of ports of a spine towards the leaves."""
        return self.spine_radix if tiers == 2 else compute_max_down(self.spine_radix, self.oversubscription)

    def _compute_max_pod_units(self, tiers: int, units: LeafUnits) -> int:
        """Maximum number of units that the spines of a pod have ports for: at least one link from every leaf to every
        spine.
        """
        return self._count_ports_down(tiers) * (self.spines or units.uplinks) // units.uplinks // units.section_leaves

    def compute_max_units(self, tiers: int, units: LeafUnits) -> int:
        """Maximum number of units of this kind that a number of tiers can join."""
        if tiers == 1:
            return int(units.section_leaves == 1)
        pod_units = self._compute_max_pod_units(tiers, units)
        if tiers == 3:
            pod_units = pod_units if self.pod_units is None else self.pod_units * (self.pod_units <= pod_units)
            pod_units *= self.core_radix // units.sections
        return pod_units

    def describe_shortage(self, tiers: int, units: LeafUnits) -> str:
        """The reason why a number of tiers cannot join even one unit (or, if its size is specified, one pod)."""
        if tiers == 1:
            return f"one tier has a single leaf, but a unit has {units.section_leaves}"
        count, spines = self.pod_units or 1, self.spines or units.uplinks
        if self._compute_max_pod_units(tiers, units) < count:
            return (
                f"the {count * units.section_leaves} leaves of a pod have "
                f"{count * units.section_leaves * units.uplinks} uplinks, and "
                f"its {spines} spine{'s' * (spines > 1)} {'have' if spines > 1 else 'has'} "
                f"{spines * self._count_ports_down(tiers)} ports"
            )
        return f"{units.sections} sets of leaves meet in the core only, whose switches have {self.core_radix} ports"

    def select_tier_count(self, units: LeafUnits) -> int:
        """The requested number; else 1 for one leaf, 2 if the spines reach all leaves that must be joined, else 3."""
        if self.tiers is not None:
            return self.tiers
        if units.leaf_count == 1:
            return 1
        one_pod = (units.sections == 1 or units.count == 1) and (self.pod_units or units.count) >= units.count
        return 2 if one_pod and units.count <= self.compute_max_units(2, units) else 3

    def build_layout(self, units: LeafUnits) -> TierLayout:
        """Apply the rules to units that fit (see `compute_max_units`)."""
        tiers = self.select_tier_count(units)
        if tiers == 1:
            return TierLayout(1, replace(units, uplinks=0), units.count)
        pod_units = units.count if tiers == 2 else self._compute_pod_units(units)
        links = pod_units * units.section_leaves * units.uplinks
        spines = self._compute_spines(links, units.uplinks, self._count_ports_down(tiers))
        down = links // spines
        if tiers == 2:
            return TierLayout(2, units, pod_units, spines, down)
        pods = -(-units.count // pod_units) * units.sections
        cores, up = self._compute_cores(pods, down)
        return TierLayout(3, units, pod_units, spines, down, up, cores)

    def _compute_cores(self, pods: int, down: int) -> tuple[int, int]:
        """Core switches of a group and uplinks of a spine: more uplinks than required if that reduces the core
        switches.
        """
        up = compute_uplinks(down, self.oversubscription)
        found = spread_uplinks(pods, up, max(up, self.spine_radix - down), self.core_radix)
        return found or (find_least_divisor(up, -(-pods * up // self.core_radix)), up)

    def _compute_pod_units(self, units: LeafUnits) -> int:
        """Units of a pod under a core: the minimum with a core port for every pod, or evenly divided large pods."""
        if self.pod_units is not None:
            return self.pod_units
        if self.has_large_pods:
            pods = -(-units.count // self._compute_max_pod_units(3, units))
            return -(-units.count // pods)
        return -(-units.count // (self.core_radix // units.sections))

    def _compute_spines(self, links: int, uplinks: int, ports_down: int) -> int:
        """Spines of a pod: `min{d | d divides uplinks, d >= ceil(links/room)}`, or the requested number."""
        if self.spines is None:
            return find_least_divisor(uplinks, -(-links // ports_down))
        if uplinks % self.spines:
            even = find_least_divisor(uplinks, self.spines) if self.spines < uplinks else uplinks
            problem = f"{uplinks} uplinks of a leaf cannot be spread evenly over {self.spines} spines"
            raise TopologyError(problem, f"use {even} spines")
        return self.spines
