"""Numbers of links and cables of a plan, for all outputs that show them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ....errors import InputError
from ...model.plan import FabricPlan, Plan
from .cabled import list_cabled_fabrics

__all__ = ["CableCount", "count_cables"]


class CableCount(NamedTuple):
    """Number of links, and of their cables: links of one twin-port cable or splitter share it."""

    links: int
    pieces: int

    @property
    def description(self) -> str:
        """Format the number of cables, with the number of links if it differs."""
        return f"{self.pieces} cables" + (f" ({self.links} links)" if self.links != self.pieces else "")


def count_cables(plan: Plan, fabrics: Iterable[FabricPlan] | None = None) -> CableCount:
    """Count links and cables of these fabrics, default all, as cable lists and the bill of materials do. A fabric whose
    cables lack ports (reported by a finding), and one whose cables its vendor provides, count with the links of their
    shape.
    """
    from .cables import build_cable_table  # numpy

    cabled = {item.name for item in list_cabled_fabrics(plan)}
    links = pieces = 0
    for fabric in plan.fabrics if fabrics is None else fabrics:
        ports = sum(fabric.link_counts.values())
        found = CableCount(ports, ports)
        if fabric.name in cabled:
            try:
                table = build_cable_table(plan, fabric)
                found = CableCount(table.count, table.cable_count)
            except InputError:
                pass  # reported by cable-reach
        links, pieces = links + found.links, pieces + found.pieces
    return CableCount(links, pieces)
