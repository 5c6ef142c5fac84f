"""The physical side of a site of one's own: racks, power, cooling, energy."""

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
    """Which rack, and how many nodes go into one."""

    type: Text
    """Rack of the catalog."""
    nodes: Count | None = None
    """Nodes per rack; empty means as the maker's reference architecture shows, else as many as fit; never more than fit
    by units, power and weight."""
    power: Power | None = None
    """Power a rack may draw; empty means what the rack is made for."""
    pdu: Text | None = None
    """Distribution unit in the catalog."""
    pdus: SmallCount | None = None
    """Distribution units of a rack, one circuit each; empty means as many of the named unit as carry a full rack after
    the loss that the redundancy asks for, or one for each feed where none is named or its rating is not known."""
    cooling: CoolingKind | None = None
    """How these racks are cooled; empty means as the hall (``facility.cooling.kind``)."""


class ManagementRacks(Model):
    """Racks for switches and service machines; type and distribution units are also those of storage servers' racks."""

    racks: MachineCount | None = None
    """How many; empty means as few as hold them by units and power."""
    type: Text | None = None
    """Empty means the rack of the nodes."""
    power: Power | None = None
    """Power one may draw; empty means no more than the densest rack of nodes and than its circuits carry."""
    switches: Count | None = None
    """Most switches and machines in one, as cables leave room for no more."""
    pdu: Text | None = None
    """Distribution unit in the catalog."""
    pdus: SmallCount | None = None
    """Distribution units of a rack; empty means two of a named unit, on two feeds, or one for each feed."""


class ServiceMachines(Model):
    """Equal machines that are in no pool: management servers, subnet managers."""

    name: Name
    """Name of the group; hosts are numbered after it (mgmt-01)."""
    machine: Text
    """Machine of the catalog."""
    count: MachineCount = 1
    """How many there are."""


class PowerSupply(Model):
    """What the building gives."""

    budget: Power | None = None
    """IT power of the hall."""
    feeds: SmallCount | None = None
    """Independent feeds (A, B, …); empty means 2, or 3 where the redundancy is 3N/2."""
    redundancy: Literal["N", "N+1", "2N", "3N/2"] = "N"
    """What must go on after the loss of one feed: N nothing, the others everything."""
    voltage: Voltage | None = None
    """Line-to-line voltage of the three-phase supply."""
    circuit: Current | None = None
    """Breaker of the circuit of one rack PDU."""
    continuous: PositiveRatio = 0.8
    """Part of a breaker's rating that may be drawn all the time: 0.8 in North America (NEC 210.20)."""
    power_factor: PositiveRatio = 1.0
    """Of the machines; 1 gives the most a circuit can carry."""
    feed: Power | None = None
    """What each feed carries."""
    row: Power | None = None
    """What the distribution of one row carries."""
    shelf: Text | None = None
    """Power shelf in the catalog, for racks whose machines hang on a busbar."""
    ups: Text | None = None
    """UPS in the catalog; empty means none is counted."""
    distribution: PositiveRatio | None = None
    """Efficiency of transformers and cables between the meter and the racks; empty means not known."""
    swing: Ratio | None = None
    """Part of the nodes' power that comes and goes at once, as synchronous training does between its phases."""
    swing_limit: Power | None = None
    """Step of load the supply takes."""


class Cooling(Model):
    """How heat leaves."""

    kind: CoolingKind = "air"
    """That of all racks that do not name another."""
    supply: Temperature | None = None
    """Temperature of the water (or, for air, of the air) given to the machines."""
    flow: Flow | None = None
    """Water flow available for the hall."""
    step: TemperatureStep | None = None
    """Rise from supply to return; empty means what the coolant is usually drawn for."""
    coolant: Text = "pg25"
    """Of the loop through the racks."""
    cdu: Text | None = None
    """Coolant distribution unit in the catalog."""
    cdus: SmallCount | None = None
    """Distribution units of each zone; empty means those that are needed and the spares."""
    cdu_spares: Annotated[int, IntegerRange(0, 256)] = 1
    """Units that may fail in each zone."""
    zone: Count | None = None
    """Racks that share distribution units; empty means all."""
    rejection: Text | None = None
    """How heat leaves the site: heat-rejection in the catalog."""
    chiller: Text | None = None
    """Chiller for the hours that ``rejection`` cannot; heat-rejection in the catalog."""
    weather: Text | None = None
    """Hourly weather, CSV or EPW, relative to the spec's file."""
    air_class: Text | None = None
    """ASHRAE class of the air-cooled machines, where the catalog does not say what they take."""
    water_class: Text | None = None
    """ASHRAE class of the liquid-cooled machines (W32), where the catalog does not say what they take."""
    fans: Power | None = None
    """Fans of the hall and of heat rejection, and pumps of the building."""


class EnergySource(Model):
    """One way the site gets its energy."""

    name: Name
    """Name in reports."""
    kind: Literal["grid", "contract", "on-site"]
    """The grid, a contract (power purchase agreement), or generation on the site."""
    share: PositiveRatio
    """Of the energy of a year."""
    power: Power | None = None
    """The most it gives at once."""
    capacity_factor: PositiveRatio | None = None
    """Part of ``power`` that it gives on average over a year, as sun and wind give a part; empty means all of it."""
    price: UnitPrice | None = None
    """Price of energy from it."""
    carbon: CarbonIntensity | None = None
    """Carbon intensity of it."""


class EnergySupply(Model):
    """What energy costs and emits."""

    price: UnitPrice | None = None
    """Price of energy from the grid."""
    carbon: CarbonIntensity | None = None
    """Carbon of the supply; empty means that of the place, where the catalog has it."""
    carbon_hours: Text | None = None
    """Carbon of the grid by hour in g/kWh: a CSV file, relative to the spec's file."""
    sources: Annotated[tuple[EnergySource, ...], Field(max_length=64)] = ()
    """Contracts and own generation; what they leave comes from the grid."""

    @model_validator(mode="after")
    def _check_sources(self) -> EnergySupply:
        for twice in find_duplicates(self.sources):
            raise DuplicateNameError(f"sources: {twice!r} is there twice; names are unique")
        total = sum(source.share for source in self.sources)
        if total > 1 + 1e-9:
            raise ValueError(f"the shares of the sources add up to {total:g}: more than all of the energy")
        return self


class Facility(Model):
    """The hall."""

    rack: RackChoice | None = None
    """Rack of the nodes; pools may name another."""
    management: ManagementRacks = ManagementRacks()
    """Racks for switches and service machines."""
    machines: Annotated[tuple[ServiceMachines, ...], Field(max_length=256)] = ()
    """Machines that are in no pool and are not those of storage."""
    power: PowerSupply = PowerSupply()
    """Feeds, breakers and redundancy."""
    cooling: Cooling = Cooling()
    """Air and liquid cooling, heat rejection and weather."""
    energy: EnergySupply = EnergySupply()
    """Price and carbon of energy."""
    pue: Annotated[Number, Field(ge=1.0)] | None = None
    """Facility energy over IT energy, where it is known: 1 is the least, as IT energy is a part of it."""
    racks_per_row: Count | None = None
    """Racks side by side in one row; empty means a usual number."""
    floor: Mass | None = None
    """Weight of one rack with what is in it that the floor carries; empty means no limit."""
    door: Length | None = None
    """Height of the lowest door a rack comes through; empty means no limit."""
    reach: Length | None = None
    """Longest cable run there may be; leaves then stand among the racks they serve. Empty means no limit."""

    @model_validator(mode="after")
    def _check_unique_machines(self) -> Facility:
        for twice in find_duplicates(self.machines):
            raise DuplicateNameError(f"machines: {twice!r} is there twice; names are unique")
        return self
