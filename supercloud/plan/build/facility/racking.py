"""Power and heat of machines and switches in racks, and the inputs for the racks of a group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ....catalog import Catalog, CoolingMethod, Machine, PowerShelf, Rack, Switch
from ....errors import UnknownNameError
from ....facility import Heat, split_heat
from ....primitives.quantity import Power
from ....spec.facility import Facility, RackChoice
from ...model.hall import MachineGroup
from ...model.plan import FabricPlan, PoolPlan
from ...model.problems import Problems

__all__ = [
    "RackingContext",
    "find_air_cooling_limit",
    "find_unknown_power",
    "is_power_known",
    "compute_machine_heat",
    "compute_node_power",
    "count_switch_boxes",
    "compute_switch_heat",
    "get_switch_power",
]

_NO_POWER = Power(0, "W")


@dataclass(frozen=True)
class RackingContext:
    """The inputs for the racks of a group."""

    facility: Facility
    catalog: Catalog
    problems: Problems
    shelf: PowerShelf | None = None
    cdu_units: int = 0
    """Rack units of a coolant distribution unit in each rack."""

    @property
    def cooling(self) -> str:
        """Cooling method of the hall."""
        return self.facility.cooling.kind

    def select_cooling(self, choice: RackChoice | None) -> str:
        """Cooling method of racks of this choice."""
        return (choice.cooling if choice else None) or self.cooling

    def find_rack(self, name: str, path: str) -> Rack | None:
        """Look up a rack of the catalog; None with a problem if it is unknown."""
        try:
            return self.catalog.get(Rack, name)
        except UnknownNameError as error:
            self.problems.add_unknown_name(path, error)
            return None


def compute_node_power(machine: Machine, unknown: list[str] | None = None) -> Power:
    """Maximum input power of one node: its part of the rack product, its own value, or its lower bound.

    A rack product has switch trays, fans and shelves in addition to its nodes, so its power is more than theirs.
    """
    if machine.rack and machine.rack.power:
        return Power.from_base(machine.rack.power.base / machine.rack.nodes)
    if machine.power:
        return machine.power
    if unknown is not None:
        how = f", counted as {machine.power_floor}: its accelerators alone" if machine.power_floor else ", counted as 0"
        text = f"power of {machine.name}{how}"
        if text not in unknown:
            unknown.append(text)
    return machine.power_floor or _NO_POWER


def get_switch_power(switch: Switch) -> Power:
    """Maximum power of a switch; its typical power, a lower bound, if that is all that is known; 0 if unknown."""
    return switch.power_max or switch.power_typical or _NO_POWER


def is_power_known(equipment: Machine | Switch) -> bool:
    """Whether the power has a source, and is not only a lower bound."""
    if isinstance(equipment, Switch):
        return equipment.power_max is not None
    return bool(equipment.power or (equipment.rack and equipment.rack.power))


def find_unknown_power(
    pools: Iterable[PoolPlan], fabrics: Iterable[FabricPlan], groups: Iterable[MachineGroup]
) -> frozenset[str]:
    """Pools, groups of machines and tiers (``fabric/tier``) whose power has no source, or is only a lower bound."""
    things: list[tuple[str, Machine | Switch]] = [(item.name, item.machine) for item in pools]
    things += [(item.name, item.machine) for item in groups]
    things += [(f"{fabric.name}/{tier.name}", tier.switch) for fabric in fabrics for tier in fabric.tiers]
    return frozenset(name for name, thing in things if not is_power_known(thing))


def count_switch_boxes(count: int, switch: Switch) -> int:
    """Number of chassis for a number of switches."""
    return -(-count // switch.chips)


def compute_machine_heat(machine: Machine, power: Power, cooling: str) -> tuple[Heat, bool]:
    """Heat of a machine, and whether its split is known."""
    liquid = bool({"direct-liquid", "immersion"} & set(machine.heat.methods))
    return split_heat(power, cooling, liquid, machine.heat.liquid_share)


def compute_switch_heat(switch: Switch, power: Power, cooling: str) -> Heat:
    """Heat of a switch; for a liquid-cooled switch all of it in the liquid."""
    return split_heat(power, cooling, switch.cooling == "liquid", None)[0]


def find_air_cooling_limit(catalog: Catalog) -> Power | None:
    """Maximum power of a rack with air cooling, over all of its methods; None if the catalog has none."""
    ways = list(catalog.iter_entries(CoolingMethod))
    return max((way.power_to for way in ways if way.medium == "air" and way.power_to), default=None)
