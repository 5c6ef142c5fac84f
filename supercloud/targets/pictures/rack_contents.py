"""Names of the items in racks, and groups of equal racks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from ...plan.build.fabric.device_names import list_service_names, list_switch_names
from ...plan.model.hall import MachineGroup
from ...plan.model.plan import Plan, RackItem, RackPlan

__all__ = ["RackShape", "RackContents", "group_by_shape"]

RackShape = tuple[str, int, tuple[tuple[str, str, int, int, int], ...]]
"""Kind, units, and for each item: what, of, count, unit, height."""


class RackContents:
    """Names of nodes, switches and servers by their index."""

    def __init__(self, plan: Plan):
        self.plan = plan

    @cached_property
    def _names(self) -> dict[tuple[str, str], list[str]]:
        found = {("node", pool.name): list(pool.hosts) for pool in self.plan.pools}
        found |= {("server", group.name): list(group.hosts) for group in self.plan.servers}
        hall = self.plan.facility
        found |= {
            ("server", group.name): list_service_names(group.name, group.count)
            for group in (hall.service_groups if hall else ())
        }
        units = [
            item
            for rack in (self.plan.layout.racks if self.plan.layout else ())
            for item in rack.items
            if item.kind == "pdu"
        ]
        numbered = list_service_names("pdu", sum(item.count for item in units))  # numbered across the hall
        found |= {("pdu", item.group): numbered for item in units}
        for fabric in self.plan.fabrics:
            for tier in fabric.tiers:
                names = list_switch_names(fabric.name, tier.name, tier.count)
                chips = tier.switch.chips
                boxes = ["+".join(names[at : at + chips]) for at in range(0, len(names), chips)]
                found["switch", f"{fabric.name}/{tier.name}"] = boxes
        return found

    @cached_property
    def _products(self) -> dict[tuple[str, str], str]:
        found = {("node", pool.name): pool.machine.name for pool in self.plan.pools}
        hall = self.plan.facility
        groups: list[MachineGroup] = [*self.plan.servers, *(hall.service_groups if hall else ())]
        found |= {("server", group.name): group.machine.name for group in groups}
        for fabric in self.plan.fabrics:
            for tier in fabric.tiers:
                found["switch", f"{fabric.name}/{tier.name}"] = tier.switch.name
        return found

    def format_name(self, item: RackItem, index: int) -> str:
        """Return the name of the device at ``index`` within an item."""
        number = item.first + index
        names = self._names.get((item.kind, item.group))
        if names is not None and number < len(names):
            return names[number]
        stem = item.group.rpartition("/")[2]
        return f"{stem}-{number + 1:04d}"

    def get_product(self, item: RackItem) -> str:
        """Return the catalog name of an item's product."""
        return self._products.get((item.kind, item.group), item.group)

    def format_span(self, item: RackItem) -> str:
        """Format first and last name of an item: ``train-0001 … train-0004``."""
        first, last = self.format_name(item, 0), self.format_name(item, item.count - 1)
        return first if item.count == 1 else f"{first} … {last}"


def _build_shape(rack: RackPlan) -> RackShape:
    items = tuple((item.kind, item.group, item.count, item.unit, item.height) for item in rack.items)
    return rack.kind, rack.units, items


def group_by_shape(plan: Plan) -> Iterator[list[RackPlan]]:
    """Yield groups of equal racks, in the order of their first racks."""
    found: dict[RackShape, list[RackPlan]] = {}
    for rack in plan.layout.racks if plan.layout else ():
        found.setdefault(_build_shape(rack), []).append(rack)
    yield from found.values()
