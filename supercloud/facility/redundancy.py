"""Redundancy of power: schemes, and the load after the loss of one path.

To add a scheme, add a row to ``SCHEMES``.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..primitives.quantity import Power

__all__ = ["SCHEMES", "Feeds", "RedundancyScheme", "count_paths", "count_remaining_supplies"]


@dataclass(frozen=True, slots=True)
class RedundancyScheme:
    """A redundancy scheme of feeds."""

    min_feeds: int
    """Minimum number of feeds."""
    is_exact: bool
    """Whether the number of feeds must be a multiple of ``min_feeds``."""
    can_survive_loss: bool
    """Whether operation continues after the loss of one feed."""


# N: no spare. N+1: N units and one more. 2N: two full paths, each loaded to at most one half. 3N/2: three paths, each
# loaded to at most two thirds. (Uptime Institute's terms, as data center guides print them.)
SCHEMES = {
    "N": RedundancyScheme(1, False, False),
    "N+1": RedundancyScheme(2, False, True),
    "2N": RedundancyScheme(2, True, True),
    "3N/2": RedundancyScheme(3, True, True),
}


def count_paths(scheme: str, feeds: int) -> int:
    """Number of paths that the feeds form; a path fails as a unit. 2N with four feeds has two paths of two."""
    groups = {"2N": 2, "3N/2": 3}.get(scheme, feeds)
    return min(groups, feeds)


def count_remaining_supplies(count: int, paths: int) -> int:
    """Power supplies of a machine that still have power after the loss of the path with the most of them.

    Of six, three remain with two paths, four with three paths.
    """
    return count - -(-count // paths) if paths > 1 else 0


@dataclass(frozen=True, slots=True)
class Feeds:
    """The feeds of the hall and the load that they share evenly."""

    count: int
    scheme: str
    load: Power
    """Load of all feeds together, with the losses behind them."""
    capacity: Power | None
    """Capacity of each feed; None if not declared."""

    @property
    def paths(self) -> int:
        """Number of groups of feeds that fail together."""
        return count_paths(self.scheme, self.count)

    @property
    def feed_load(self) -> Power:
        """Load of each feed in normal operation."""
        return Power.from_base(self.load.base / self.count)

    @property
    def load_after_loss(self) -> Power | None:
        """Load of each remaining feed after the loss of one; None if none remains, or if the scheme does not allow a
        loss.
        """
        if not SCHEMES[self.scheme].can_survive_loss or self.count < 2:
            return None
        lost = max(1, self.count // self.paths)
        return Power.from_base(self.load.base / (self.count - lost)) if self.count > lost else None

    @property
    def overload(self) -> Power | None:
        """Overload of a feed in the worst case that the scheme must survive; None if there is none."""
        worst = self.load_after_loss or self.feed_load
        if self.capacity is None or worst <= self.capacity:
            return None
        return worst - self.capacity
