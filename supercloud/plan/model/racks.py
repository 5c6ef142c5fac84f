"""What was decided about the hall: groups of equal racks, what they draw, and where each rack stands."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from ...catalog import Rack
from ...facility import Circuits, Heat
from ...primitives.quantity import Carbon, Energy, Length, Mass, Money, Power
from .hall import CoolingPlan, EnergyPlan, PowerPlan, ServiceGroup

__all__ = ["FacilityPlan", "RackItem", "LayoutPlan", "RackGroup", "RackPlan"]


@dataclass(frozen=True)
class RackGroup:
    """Equal racks."""

    pool: str
    """Pool whose nodes they hold; empty for switches and service machines."""
    rack: Rack | None
    count: int
    nodes_per_rack: int
    power: Power
    """Of one full rack."""
    units: int
    """Rack units used in a full rack."""
    limited_by: str
    """What ended the filling: units, power, weight, declared, reference (the maker's architecture), product."""
    kind: Literal["compute", "network", "storage"] = "compute"
    """``network`` racks also hold service machines."""
    weight: Mass | None = None
    """Of what is in a full rack; None where a part is not known."""
    power_limit: Power | None = None
    """What its distribution, or the spec, lets it draw."""
    heat: Heat = Heat()
    """Of one full rack, by the way it leaves."""
    cooling: str = ""
    """How it is cooled: air, rear-door, direct-liquid, immersion."""
    node_power: Power = Power(0, "W")
    """Of one node where its rack is fed: the loss of power shelves is in it."""
    busbar_power: Power | None = None
    """What a full rack draws behind its shelves."""
    circuits: Circuits | None = None
    """None where nobody declared them, and in rack products."""
    pdu: str = ""
    """Distribution unit, where one is named."""
    shelves: int = 0
    """Power shelves of one rack."""
    shelf_power: Power | None = None
    """Of each of them."""
    shelf_units: int = 0
    """Rack units of each, where they are not part of a rack product."""
    cdus: int = 0
    """Distribution units of coolant within the rack."""
    cdu_units: int = 0
    """Rack units of each of those."""
    leaf_fabrics: tuple[str, ...] = ()
    """Fabrics whose leaves stand with the nodes, one a rack."""
    nodes: int = 0
    """In all of these racks; 0 where they hold no nodes of a pool."""
    is_power_lower_bound: bool = False
    """Whether the power of a part is not known: counted as 0, or by a lower bound."""

    @property
    def pdus(self) -> int:
        """Distribution units of all racks: one a circuit."""
        return self.circuits.count * self.count if self.circuits else 0

    @property
    def fullest_nodes(self) -> int:
        """Nodes in the fullest rack: fewer than it has room for where the pool is smaller."""
        return min(self.nodes_per_rack, self.nodes) if self.nodes else self.nodes_per_rack

    @property
    def fullest_power(self) -> Power:
        """What the fullest rack draws with the nodes that stand in it."""
        return Power.from_base(self.power.base - self.node_power.base * (self.nodes_per_rack - self.fullest_nodes))

    @property
    def fullest_heat(self) -> Heat:
        """Heat of the fullest rack with the nodes that stand in it, in the proportions of a full one."""
        if self.fullest_nodes == self.nodes_per_rack or not self.power:
            return self.heat
        return self.heat * Fraction(self.fullest_power.base / self.power.base)

    @property
    def headroom(self) -> Power | None:
        """What a full rack leaves of its limit; None where it has none, or where its power is not wholly known."""
        return self.power_limit - self.power if self.power_limit and not self.is_power_lower_bound else None


@dataclass(frozen=True)
class FacilityPlan:
    """The hall in numbers."""

    racks: tuple[RackGroup, ...]
    it_power: Power
    """Power of all machines and switches at their highest."""
    node_power: Power
    switch_power: Power
    unknown_power: tuple[str, ...]
    """Things whose power nobody sourced: counted as 0, or by a lower bound."""
    power_budget: Power | None
    annual_energy: Energy
    """IT energy of a year at full power."""
    annual_cost: Money | None
    annual_carbon: Carbon | None
    cooling: str
    server_power: Power = Power(0, "W")
    """Of storage servers and service machines."""
    unknown_size: tuple[str, ...] = ()
    """Things whose rack units nobody sourced: counted as one unit each."""
    power_plan: PowerPlan | None = None
    cooling_plan: CoolingPlan | None = None
    energy_plan: EnergyPlan | None = None
    service_groups: tuple[ServiceGroup, ...] = ()
    """Machines that are in no pool and not those of storage."""

    @property
    def node_racks(self) -> int:
        """Racks that hold nodes of pools."""
        return self._count_racks("compute")

    @property
    def pdu_count(self) -> int:
        """Distribution units of all racks. Each is ordered and has a management port, whatever its product."""
        return sum(group.pdus for group in self.racks)

    @property
    def network_racks(self) -> int:
        """Racks that hold switches and service machines."""
        return self._count_racks("network")

    @property
    def storage_racks(self) -> int:
        """Racks that hold storage servers."""
        return self._count_racks("storage")

    @property
    def headroom(self) -> Power | None:
        """What IT leaves of the budget; None where there is none, or where the power of something is not known."""
        return self.power_budget - self.it_power if self.power_budget and not self.unknown_power else None

    def _count_racks(self, kind: str) -> int:
        return sum(group.count for group in self.racks if group.kind == kind)

    @property
    def densest_rack_power(self) -> Power:
        """Power of the fullest rack."""
        return max((group.fullest_power for group in self.racks), default=Power(0, "W"))


@dataclass(frozen=True, slots=True)
class RackItem:
    """Equal things that stand one above the other in a rack."""

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
    """Index of the lowest within its pool, tier or kind, from 0."""
    count: int
    unit: int
    """Lowest rack unit of the first, from 1 at the floor; 0 for what takes none (upright PDUs, CDUs in the row)."""
    height: int
    """Rack units of each."""


@dataclass(frozen=True, slots=True)
class RackPlan:
    """One rack where it stands, with what is in it from the floor upwards."""

    name: str
    """``r<row>-<column>``, both from 1."""
    row: int
    column: int
    """From 0, along the row."""
    kind: Literal["compute", "network", "storage", "service"]
    rack: Rack | None
    """None where a rack product brings its own and the catalog does not know it."""
    units: int
    items: tuple[RackItem, ...]
    power: Power
    zone: int | None = None
    """Cooling zone, from 0: the racks whose liquid the same distribution units move. None where only air cools."""
    group: int = -1
    """Index of its group in the facility's ``racks``; -1 where it is of none."""
    is_power_lower_bound: bool = False
    """Whether the power of something in it is not known: counted as 0, or by a lower bound."""

    @property
    def power_text(self) -> str:
        """What it draws, for people."""
        if not self.power:
            return "power unknown"
        return f"at least {self.power}" if self.is_power_lower_bound else str(self.power)


@dataclass(frozen=True)
class LayoutPlan:
    """Where racks stand: rows of equal length, numbered from the door."""

    racks: tuple[RackPlan, ...]
    racks_per_row: int
    rack_width: Length
    row_pitch: Length
    """From the front of one row to the front of the next."""

    @property
    def row_count(self) -> int:
        """How many rows there are."""
        return max((rack.row for rack in self.racks), default=-1) + 1

    def compute_row_power(self) -> list[Power]:
        """Power of each row."""
        sums = [Fraction(0)] * self.row_count
        for rack in self.racks:
            sums[rack.row] += rack.power.base
        return [Power.from_base(value) for value in sums]

    def compute_run(self, start: RackPlan, end: RackPlan) -> Length:
        """Way from rack to rack along the row and across the rows; what cables take up and down is not in it."""
        along = abs(start.column - end.column) * self.rack_width.base
        return Length.from_base(along + abs(start.row - end.row) * self.row_pitch.base)
