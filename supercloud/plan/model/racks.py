"""Decisions about the data hall: groups of equal racks, their power, and the position of each rack."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ...catalog import Rack
from ...facility import Circuits, Heat
from ...primitives.quantity import Carbon, Energy, Length, Mass, Money, Power, Temperature
from .hall import CoolingPlan, EnergyPlan, PowerPlan, ServiceGroup

__all__ = ["FacilityPlan", "RackItem", "LayoutPlan", "RackGroup", "RackPlan"]


@dataclass(frozen=True)
class RackGroup:
    """Equal racks."""

    pool: str
    """Pool of the nodes; empty for racks of switches and service machines."""
    rack: Rack | None
    count: int
    nodes_per_rack: int
    power: Power
    """Power of one full rack."""
    units: int
    """Rack units used in a full rack."""
    limited_by: str
    """What limits the number of nodes: units, power, weight, declared, reference (the vendor's design) or product."""
    kind: Literal["compute", "network", "storage"] = "compute"
    """``network`` racks also contain service machines."""
    weight: Mass | None = None
    """Weight of the contents of a full rack; None if that of a part is unknown."""
    power_limit: Power | None = None
    """Power limit of its distribution, or of the spec."""
    heat: Heat = Heat()
    """Heat of one full rack, by cooling path."""
    cooling: str = ""
    """Cooling method: air, rear-door, direct-liquid, immersion."""
    node_power: Power = Power(0, "W")
    """Power of one node at the input of its rack, with the losses of power shelves."""
    busbar_power: Power | None = None
    """Power of a full rack after its power shelves."""
    circuits: Circuits | None = None
    """None if not declared, and for rack products."""
    pdu: str = ""
    """Power distribution unit (PDU), if one is specified."""
    shelves: int = 0
    """Number of power shelves per rack."""
    shelf_power: Power | None = None
    """Power of each shelf."""
    shelf_units: int = 0
    """Rack units of each shelf, if not part of a rack product."""
    cdus: int = 0
    """Number of coolant distribution units (CDUs) in the rack."""
    cdu_units: int = 0
    """Rack units of each CDU."""
    leaf_fabrics: tuple[str, ...] = ()
    """Fabrics whose leaves are in these racks with the nodes, one per rack."""
    nodes: int = 0
    """Nodes in all of these racks; 0 for racks without nodes of a pool."""
    is_power_lower_bound: bool = False
    """Whether the power of a part is unknown: counted as 0, or by a lower bound."""

    @property
    def pdus(self) -> int:
        """PDUs of all racks: one per circuit."""
        return self.circuits.count * self.count if self.circuits else 0

    @property
    def fullest_nodes(self) -> int:
        """Nodes in the fullest rack: fewer than its capacity where the pool is smaller."""
        return min(self.nodes_per_rack, self.nodes) if self.nodes else self.nodes_per_rack

    @property
    def fullest_power(self) -> Power:
        """Power of the fullest rack with its installed nodes."""
        return Power.from_base(self.power.base - self.node_power.base * (self.nodes_per_rack - self.fullest_nodes))

    @property
    def fullest_heat(self) -> Heat:
        """Heat of the fullest rack with its installed nodes, in the proportions of a full rack."""
        if self.fullest_nodes == self.nodes_per_rack or not self.power:
            return self.heat
        return self.heat * Fraction(self.fullest_power.base / self.power.base)

    @property
    def headroom(self) -> Power | None:
        """Power limit less the power of a full rack; None without a limit, or if the power of a part is unknown."""
        return self.power_limit - self.power if self.power_limit and not self.is_power_lower_bound else None


@dataclass(frozen=True)
class FacilityPlan:
    """Totals of the data hall."""

    racks: tuple[RackGroup, ...]
    it_power: Power
    """Maximum power of all machines and switches."""
    node_power: Power
    switch_power: Power
    unknown_power: tuple[str, ...]
    """Items whose power has no source: counted as 0, or by a lower bound."""
    power_budget: Power | None
    annual_energy: Energy
    """Annual IT energy at full power."""
    annual_cost: Money | None
    annual_carbon: Carbon | None
    cooling: str
    server_power: Power = Power(0, "W")
    """Power of storage servers and service machines."""
    unknown_size: tuple[str, ...] = ()
    """Items whose rack units have no source: counted as one unit each."""
    power_plan: PowerPlan | None = None
    cooling_plan: CoolingPlan | None = None
    energy_plan: EnergyPlan | None = None
    service_groups: tuple[ServiceGroup, ...] = ()
    """Machines outside of the pools that are not storage servers."""
    supply: Temperature | None = None
    """Temperature of the water or air that the building supplies to the machines; None if not declared."""

    @property
    def node_racks(self) -> int:
        """Number of racks with nodes of pools."""
        return self._count_racks("compute")

    @property
    def pdu_count(self) -> int:
        """PDUs of all racks. Each is ordered and has a management port, whatever its product."""
        return sum(group.pdus for group in self.racks)

    @property
    def network_racks(self) -> int:
        """Number of racks with switches and service machines."""
        return self._count_racks("network")

    @property
    def storage_racks(self) -> int:
        """Number of racks with storage servers."""
        return self._count_racks("storage")

    @property
    def headroom(self) -> Power | None:
        """Power budget less IT power; None without a budget, or if the power of an item is unknown."""
        return self.power_budget - self.it_power if self.power_budget and not self.unknown_power else None

    def _count_racks(self, kind: str) -> int:
        return sum(group.count for group in self.racks if group.kind == kind)

    @property
    def densest_rack_power(self) -> Power:
        """Power of the fullest rack."""
        return max((group.fullest_power for group in self.racks), default=Power(0, "W"))


@dataclass(frozen=True, slots=True)
class RackItem:
    """Equal items that are mounted one above the other in a rack."""

    kind: Literal[
        "node",
        "switch",
        "server",
        "manager",
        "power-shelf",
        "pdu",
        "cdu",
        "panel",
        "nvlink-switch",
        "management-switch",
    ]
    group: str
    """Pool of nodes, ``fabric/tier`` of switches, group of servers (``scratch-oss``), else the product."""
    first: int
    """Index of the lowest item within its pool, tier or kind, from 0."""
    count: int
    unit: int
    """Lowest rack unit of the first item, from 1 at the bottom; 0 for zero-U items (vertical PDUs, in-row CDUs)."""
    height: int
    """Rack units of each item."""


@dataclass(frozen=True, slots=True)
class RackPlan:
    """One rack at its position, with its contents from the bottom upwards."""

    name: str
    """``r<row>-<column>``, both from 1."""
    row: int
    column: int
    """Position along the row, from 0."""
    kind: Literal["compute", "network", "storage", "service"]
    rack: Rack | None
    """None for a rack product whose rack is not in the catalog."""
    units: int
    items: tuple[RackItem, ...]
    power: Power
    zone: int | None = None
    """Cooling zone, from 0: racks that the same CDUs supply. None for a purely air-cooled hall."""
    group: int = -1
    """Index of its group in the facility's ``racks``; -1 if it belongs to none."""
    is_power_lower_bound: bool = False
    """Whether the power of an item in it is unknown: counted as 0, or by a lower bound."""

    @property
    def power_text(self) -> str:
        """Format its power for people."""
        if not self.power:
            return "power unknown"
        return f"at least {self.power}" if self.is_power_lower_bound else str(self.power)


@dataclass(frozen=True)
class LayoutPlan:
    """The positions of racks: rows of equal length, numbered from the door."""

    racks: tuple[RackPlan, ...]
    racks_per_row: int
    rack_width: Length
    row_pitch: Length
    """Distance from the front of one row to the front of the next."""

    @property
    def row_count(self) -> int:
        """Number of rows."""
        return max((rack.row for rack in self.racks), default=-1) + 1

    def compute_row_power(self) -> list[Power]:
        """Power of each row."""
        sums = [Fraction(0)] * self.row_count
        for rack in self.racks:
            sums[rack.row] += rack.power.base
        return [Power.from_base(value) for value in sums]

    def compute_run(self, start: RackPlan, end: RackPlan) -> Length:
        """Cable route from rack to rack along the row and across the rows, without the vertical parts at both ends."""
        along = abs(start.column - end.column) * self.rack_width.base
        return Length.from_base(along + abs(start.row - end.row) * self.row_pitch.base)
