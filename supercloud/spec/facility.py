"""The physical side of an on-prem site: racks, power, cooling, energy."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from ..primitives.quantity import (
    CarbonIntensity,
    Current,
    Flow,
    Length,
    Mass,
    Power,
    Temperature,
    TemperatureStep,
    UnitPrice,
    Voltage,
)
from .base import (
    Count,
    DuplicateNameError,
    IntegerRange,
    MachineCount,
    Model,
    Name,
    Number,
    PositiveRatio,
    Ratio,
    Text,
    find_duplicates,
)

__all__ = [
    "Cooling",
    "EnergySource",
    "EnergySupply",
    "Facility",
    "ManagementRacks",
    "PowerSupply",
    "RackChoice",
    "ServiceMachines",
]


SmallCount = Annotated[int, IntegerRange(1, 256)]
CoolingKind = Literal["air", "rear-door", "direct-liquid", "immersion"]


class RackChoice(Model):
    """Type of rack, and nodes per rack."""

    type: Text
    """Rack of the catalog."""
    nodes: Count | None = None
    """Nodes per rack; empty means those of the vendor's reference architecture, otherwise as many as fit; never more
    than fit by units, power and weight."""
    power: Power | None = None
    """Maximum power of a rack; empty means the rating of the rack."""
    pdu: Text | None = None
    """Distribution unit in the catalog."""
    pdus: SmallCount | None = None
    """Distribution units of a rack, one circuit each; empty means as many of the ``pdu`` as carry a full rack after
    the loss that the redundancy requires, or one for each feed if no ``pdu`` is set or its rating is unknown."""
    cooling: CoolingKind | None = None
    """Cooling method of these racks; empty means that of the hall (``facility.cooling.kind``)."""


class ManagementRacks(Model):
    """Racks for switches and service machines; type and distribution units are also those of storage servers' racks."""

    racks: MachineCount | None = None
    """Number of racks; empty means as few as possible by units and power."""
    type: Text | None = None
    """Empty means the rack of the nodes."""
    power: Power | None = None
    """Maximum power of a rack; empty means the lower of the densest rack of nodes and the capacity of its circuits."""
    switches: Count | None = None
    """Maximum number of switches and machines per rack, to leave space for cables."""
    pdu: Text | None = None
    """Distribution unit in the catalog."""
    pdus: SmallCount | None = None
    """Distribution units of a rack; empty means two of the ``pdu`` on two feeds, or one for each feed."""


class ServiceMachines(Model):
    """Equal machines outside of pools: management servers, subnet managers."""

    name: Name
    """Name of the group; host names are this name and a number (mgmt-01)."""
    machine: Text
    """Machine of the catalog."""
    count: MachineCount = 1
    """Number of machines."""


class PowerSupply(Model):
    """Power supply of the building."""

    budget: Power | None = None
    """IT power of the hall."""
    feeds: SmallCount | None = None
    """Independent feeds (A, B, …); empty means 2, or 3 with redundancy 3N/2."""
    redundancy: Literal["N", "N+1", "2N", "3N/2"] = "N"
    """Load that must survive the loss of one feed: none with N, all with the others."""
    voltage: Voltage | None = None
    """Line-to-line voltage of the three-phase supply."""
    circuit: Current | None = None
    """Breaker of the circuit of one rack PDU."""
    continuous: PositiveRatio = 0.8
    """Part of a breaker's rating that may be drawn continuously: 0.8 in North America (NEC 210.20)."""
    power_factor: PositiveRatio = 1.0
    """Power factor of the machines; 1 is the maximum capacity of a circuit."""
    feed: Power | None = None
    """Capacity of each feed."""
    row: Power | None = None
    """Capacity of the distribution of one row."""
    shelf: Text | None = None
    """Power shelf in the catalog, for racks whose machines are fed by a busbar."""
    ups: Text | None = None
    """UPS in the catalog; empty means none."""
    distribution: PositiveRatio | None = None
    """Efficiency of transformers and cables between the meter and the racks; empty means unknown."""
    swing: Ratio | None = None
    """Fraction of the nodes' power that changes simultaneously, as in synchronous training between its phases."""
    swing_limit: Power | None = None
    """Maximum load step of the supply."""


class Cooling(Model):
    """Cooling and heat rejection."""

    kind: CoolingKind = "air"
    """Default cooling method of racks."""
    supply: Temperature | None = None
    """Temperature of the water (or, for air, of the air) supplied to the machines."""
    flow: Flow | None = None
    """Water flow available for the hall."""
    step: TemperatureStep | None = None
    """Rise from supply to return; empty means the usual rise of the coolant."""
    coolant: Text = "pg25"
    """Coolant of the loop through the racks."""
    cdu: Text | None = None
    """Coolant distribution unit in the catalog."""
    cdus: SmallCount | None = None
    """Distribution units of each zone; empty means the required number plus spares."""
    cdu_spares: Annotated[int, IntegerRange(0, 256)] = 1
    """Redundant units of each zone, which may fail."""
    zone: Count | None = None
    """Racks that share distribution units; empty means all."""
    rejection: Text | None = None
    """Heat rejection of the site: heat-rejection in the catalog."""
    chiller: Text | None = None
    """Chiller for the hours in which ``rejection`` is not enough; heat-rejection in the catalog."""
    weather: Text | None = None
    """Hourly weather, CSV or EPW, relative to the spec's file."""
    air_class: Text | None = None
    """ASHRAE class of the air-cooled machines, if their limits are not in the catalog."""
    water_class: Text | None = None
    """ASHRAE class of the liquid-cooled machines (W32), if their limits are not in the catalog."""
    fans: Power | None = None
    """Power of fans of the hall and of heat rejection, and pumps of the building."""


class EnergySource(Model):
    """An energy source of the site."""

    name: Name
    """Name in reports."""
    kind: Literal["grid", "contract", "on-site"]
    """Kind of source: the grid, a contract (power purchase agreement), or generation on the site."""
    share: PositiveRatio
    """Share of the energy of a year."""
    power: Power | None = None
    """Maximum power of the source."""
    capacity_factor: PositiveRatio | None = None
    """Average power over a year as a fraction of ``power``, such as for sun and wind; empty means 1."""
    price: UnitPrice | None = None
    """Price of its energy."""
    carbon: CarbonIntensity | None = None
    """Carbon intensity of its energy."""


class EnergySupply(Model):
    """Prices, carbon intensity and sources of energy."""

    price: UnitPrice | None = None
    """Price of energy from the grid."""
    carbon: CarbonIntensity | None = None
    """Carbon of the supply; empty means that of the site's location, if it is in the catalog."""
    carbon_hours: Text | None = None
    """Hourly carbon intensity of the grid in g/kWh: a CSV file, relative to the spec's file."""
    sources: Annotated[tuple[EnergySource, ...], Field(max_length=64)] = ()
    """Contracts and own generation; the rest comes from the grid."""

    @model_validator(mode="after")
    def _check_sources(self) -> EnergySupply:
        for twice in find_duplicates(self.sources):
            raise DuplicateNameError(f"sources: duplicate name {twice!r}; names must be unique")
        total = sum(source.share for source in self.sources)
        if total > 1 + 1e-9:
            raise ValueError(f"the shares of the sources add up to {total:g}: the maximum is 1")
        return self


class Facility(Model):
    """The hall."""

    rack: RackChoice | None = None
    """Rack of the nodes; pools may set another."""
    management: ManagementRacks = ManagementRacks()
    """Racks for switches and service machines."""
    machines: Annotated[tuple[ServiceMachines, ...], Field(max_length=256)] = ()
    """Machines outside of pools and storage."""
    power: PowerSupply = PowerSupply()
    """Feeds, breakers and redundancy."""
    cooling: Cooling = Cooling()
    """Air and liquid cooling, heat rejection and weather."""
    energy: EnergySupply = EnergySupply()
    """Price and carbon of energy."""
    pue: Annotated[Number, Field(ge=1.0)] | None = None
    """Facility energy over IT energy, if known; the minimum is 1, as it includes IT energy."""
    racks_per_row: Count | None = None
    """Racks per row; empty means a usual number."""
    floor: Mass | None = None
    """Maximum weight of a rack with its equipment on the floor; empty means no limit."""
    door: Length | None = None
    """Height of the lowest door on the way into the hall; empty means no limit."""
    reach: Length | None = None
    """Maximum cable run; leaves are then placed among the racks they serve. Empty means no limit."""

    @model_validator(mode="after")
    def _check_unique_machines(self) -> Facility:
        for twice in find_duplicates(self.machines):
            raise DuplicateNameError(f"machines: duplicate name {twice!r}; names must be unique")
        return self
