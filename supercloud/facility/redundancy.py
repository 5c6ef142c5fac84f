"""Redundancy of power: schemes, and what is left after the loss of one path.

To add a scheme, give it a row in ``SCHEMES``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ..primitives.quantity import Power

__all__ = ["SCHEMES", "Feeds", "RedundancyScheme", "count_paths", "count_remaining_supplies"]


@dataclass(frozen=True, slots=True)
class RedundancyScheme:
    """How feeds back each other."""

    min_feeds: int
    """Feeds it takes at least."""
    is_exact: bool
    """Whether the number of feeds is a multiple of ``min_feeds``."""
    can_survive_loss: bool
    """Whether everything goes on after the loss of one feed."""


# N: no spare. N+1: N units and one more. 2N: two full paths, each loaded to at most one half. 3N/2: three paths, each
# loaded to at most two thirds. (Uptime Institute's terms, as data centre guides print them.)
SCHEMES = {
    "N": RedundancyScheme(1, False, False),
    "N+1": RedundancyScheme(2, False, True),
    "2N": RedundancyScheme(2, True, True),
    "3N/2": RedundancyScheme(3, True, True),
}


def count_paths(scheme: str, feeds: int) -> int:
    """How many paths the feeds make; what is lost at once is a path. 2N over four feeds is two paths of two."""
    groups = {"2N": 2, "3N/2": 3}.get(scheme, feeds)
    return min(groups, feeds)


def count_remaining_supplies(count: int, paths: int) -> int:
    """Power supplies of a machine that still have power after the loss of one path, the one with most of them.

    Six over two paths leave three, over three paths four.
    """
    return count - -(-count // paths) if paths > 1 else 0


@dataclass(frozen=True, slots=True)
class Feeds:
    """The feeds of the hall and the load they share evenly."""

    count: int
    scheme: str
    load: Power
    """What the feeds give together, losses behind them included."""
    capacity: Power | None
    """Of each; None where nobody said."""

    @property
    def paths(self) -> int:
        """Groups of feeds that are lost together."""
        return count_paths(self.scheme, self.count)

    @property
    def feed_load(self) -> Power:
        """Load of each while all are there."""
        return Power.from_base(self.load.base / self.count)

    @property
    def load_after_loss(self) -> Power | None:
        """Load of each that is left when one is gone; None where none is left, or the scheme does not carry on."""
        if not SCHEMES[self.scheme].can_survive_loss or self.count < 2:
            return None
        lost = max(1, self.count // self.paths)
        return Power.from_base(self.load.base / (self.count - lost)) if self.count > lost else None

    @property
    def max_utilization(self) -> Fraction:
        """The highest part of a feed that may be used while all are there."""
        after = self.load_after_loss
        return Fraction(1) if after is None or not after.base else self.feed_load.base / after.base

    @property
    def overload(self) -> Power | None:
        """By how much a feed is over what it carries, in the worst case the scheme must stand; None where it is not."""
        worst = self.load_after_loss or self.feed_load
        if self.capacity is None or worst <= self.capacity:
            return None
        return worst - self.capacity
