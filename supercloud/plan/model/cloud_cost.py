"""Hourly cost of a cloud site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...primitives.quantity import Money

__all__ = ["CloudCost", "CostLine"]


@dataclass(frozen=True)
class CostLine:
    """Hourly cost of one item; None if no price has a source."""

    item: str
    count: int
    unit_price: Money | None
    source: str
    """Date and origin of the price; empty without a price."""

    @property
    def total_price(self) -> Money | None:
        """Hourly cost of all units."""
        return self.unit_price * self.count if self.unit_price is not None else None


@dataclass(frozen=True)
class CloudCost:
    """Hourly cost with everything running."""

    lines: tuple[CostLine, ...]
    node_prices: Mapping[str, Money] = field(default_factory=dict)
    """Highest hourly price of a node by pool, over the sources of its capacity; pools with an unknown one are
    omitted."""

    @property
    def known_total(self) -> Money:
        """Sum of the items with a price: a lower bound if ``unpriced_items`` is not empty."""
        total = Money(0, "USD")
        for line in self.lines:
            if line.total_price is not None:
                total = total + line.total_price
        return total

    @property
    def unpriced_items(self) -> tuple[str, ...]:
        """Items without a sourced price."""
        return tuple(line.item for line in self.lines if line.unit_price is None)
