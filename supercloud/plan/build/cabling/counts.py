"""How many links and how many pieces of cable a plan has, for everything that prints or publishes a number of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ....errors import InputError
from ...model.plan import FabricPlan, Plan
from .cabled import list_cabled_fabrics

__all__ = ["CableCount", "count_cables"]


class CableCount(NamedTuple):
    """Links, and the pieces of cable they take: links of one twin-port cable or splitter share it."""

    links: int
    pieces: int

    @property
    def description(self) -> str:
        """Pieces, with the links where these are another number."""
        return f"{self.pieces} cables" + (f" ({self.links} links)" if self.links != self.pieces else "")


def count_cables(plan: Plan, fabrics: Iterable[FabricPlan] | None = None) -> CableCount:
    """Links and cables of these fabrics, else of all: as the cable lists and the bill have them. A fabric whose cables
    find no ports, which a finding says, and one whose cables its maker brings count with the links of its shape."""
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
                pass  # said by cable-reach
        links, pieces = links + found.links, pieces + found.pieces
    return CableCount(links, pieces)
