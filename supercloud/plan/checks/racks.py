"""Checks of racks."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..model import Plan


def rack_power(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks that draw more than their distribution carries."""
    for group in plan.facility.racks if plan.facility else ():
        limit = group.rack.max_power if group.rack else None
        if limit and group.power > limit:
            what = f"{group.nodes_per_rack} nodes of {group.pool}" if group.pool else "its switches"
            yield Finding(
                "rack-power",
                "error",
                "facility.rack",
                f"a rack with {what} draws {group.power}, "
                f"{group.power - limit} over the {limit} of a {group.rack.name if group.rack else ''}",
                "put fewer into a rack, or take another rack",
            )
