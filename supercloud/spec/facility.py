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
    TemperatureDifference,
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
    """Rack of the catalog. Example: ``eia-48u``."""
    nodes: Count | None = None
    """Nodes per rack; empty means those of the vendor's reference architecture, otherwise as many as fit; never more
    than fit by units, power and weight. Example: ``4``."""
    power: Power | None = None
    """Maximum power of a rack; empty means the rating of the rack. Example: ``44 kW``."""
    pdu: Text | None = None
    """Distribution unit in the catalog; empty means that its rating is unknown. Example: ``raritan-px3-5878i2r``."""
    pdus: SmallCount | None = None
    """Distribution units of a rack, one circuit each; empty means as many of the ``pdu`` as carry a full rack after the
    loss that the redundancy requires, or one for each feed if no ``pdu`` is set or its rating is unknown. Example:
    ``4``."""
    cooling: CoolingKind | None = None
    """Cooling method of these racks; empty means that of the hall (``facility.cooling.kind``)."""


class ManagementRacks(Model):
    """Racks for switches and service machines; type and distribution units are also those of storage servers' racks."""

    racks: MachineCount | None = None
    """Number of racks; empty means as few as possible by units and power. Example: ``2``."""
    type: Text | None = None
    """Rack of the catalog; empty means that of the nodes. Example: ``eia-48u``."""
    power: Power | None = None
    """Maximum power of a rack; empty means the lower of the densest rack of nodes and the capacity of its circuits.
    Example: ``12 kW``."""
    switches: Count | None = None
    """Maximum number of switches and machines per rack, to leave space for cables; empty means no limit. Example:
    ``16``."""
    pdu: Text | None = None
    """Distribution unit in the catalog; empty means that its rating is unknown. Example: ``raritan-px3-5747v``."""
    pdus: SmallCount | None = None
    """Distribution units of a rack; empty means two of the ``pdu`` on two feeds, or one for each feed. Example:
    ``2``."""


class ServiceMachines(Model):
    """Equal machines outside of pools: management servers, subnet managers."""

    name: Name
    """Name of the group; host names are this name and a number (mgmt-01). Example: ``mgmt``."""
    machine: Text
    """Machine of the catalog. Example: ``management-server``."""
    count: MachineCount = 1
    """Number of machines. Example: ``3``."""


class PowerSupply(Model):
    """Power supply of the building."""

    budget: Power | None = None
    """IT power of the hall; empty means no limit. Example: ``1.2 MW``."""
    feeds: SmallCount | None = None
    """Independent feeds (A, B, …); empty means 2, or 3 with redundancy 3N/2. Example: ``2``."""
    redundancy: Literal["N", "N+1", "2N", "3N/2"] = "N"
    """Load that must survive the loss of one feed: none with N, all with the others. Example: ``2N``."""
    voltage: Voltage | None = None
    """Line-to-line voltage of the three-phase supply. Empty means unknown: the capacity of a circuit is then that of
    the distribution unit. Example: ``415 V``."""
    circuit: Current | None = None
    """Breaker of the circuit of one rack PDU. Empty means unknown: the capacity of a circuit is then that of the
    distribution unit. Example: ``63 A``."""
    continuous: PositiveRatio = 0.8
    """Part of a breaker's rating that may be drawn continuously: 0.8 in North America (NEC 210.20). Example:
    ``1.0``."""
    power_factor: PositiveRatio = 1.0
    """Power factor of the machines; 1 is the maximum capacity of a circuit. Example: ``0.95``."""
    feed: Power | None = None
    """Capacity of each feed; empty means no limit. Example: ``1 MW``."""
    row: Power | None = None
    """Capacity of the distribution of one row; empty means no limit. Example: ``400 kW``."""
    shelf: Text | None = None
    """Power shelf in the catalog, for racks whose machines are fed by a busbar; empty means those that the rack has in
    the catalog. Example: ``nvl72-33kw``."""
    ups: Text | None = None
    """UPS in the catalog; empty means none. Example: ``double-conversion``."""
    distribution: PositiveRatio | None = None
    """Efficiency of transformers and cables between the meter and the racks; empty means unknown. Example: ``0.98``."""
    swing: Ratio | None = None
    """Fraction of the nodes' power that changes simultaneously, as in synchronous training between its phases; empty
    means unknown. Example: ``0.4``."""
    swing_limit: Power | None = None
    """Maximum load step of the supply; empty means no limit. Example: ``500 kW``."""


class Cooling(Model):
    """Cooling and heat rejection."""

    kind: CoolingKind = "air"
    """Default cooling method of racks. Example: ``direct-liquid``."""
    supply: Temperature | None = None
    """Temperature of the water (or, for air, of the air) supplied to the machines; empty means unknown, so that it is
    not compared with the limits of machines. Example: ``32 °C``."""
    flow: Flow | None = None
    """Water flow available for the hall; empty means no limit. Example: ``900 L/min``."""
    temperature_rise: TemperatureDifference | None = None
    """Rise from supply to return; empty means the usual rise of the coolant. Example: ``10 K``."""
    coolant: Text = "pg25"
    """Coolant of the loop through the racks. Example: ``water``."""
    cdu: Text | None = None
    """Coolant distribution unit in the catalog. Empty means unknown: distribution units are then not counted. Example:
    ``coolit-chx2000``."""
    cdus: SmallCount | None = None
    """Distribution units of each zone; empty means the required number plus spares. Example: ``3``."""
    cdu_spares: Annotated[int, IntegerRange(0, 256)] = 1
    """Redundant units of each zone, which may fail. Example: ``2``."""
    zone: Count | None = None
    """Racks that share distribution units; empty means all. Example: ``16``."""
    rejection: Text | None = None
    """Heat rejection of the site: heat-rejection in the catalog. Empty means unknown: PUE then lacks it. Example:
    ``dry-cooler``."""
    chiller: Text | None = None
    """Chiller for the hours in which ``rejection`` is not enough; heat-rejection in the catalog. Empty means none.
    Example: ``chiller``."""
    weather: Text | None = None
    """Hourly weather, CSV or EPW, relative to the spec's file. Empty means unknown: hours of free cooling are then not
    counted. Example: ``weather.csv``."""
    air_class: Text | None = None
    """ASHRAE class of the air-cooled machines, if their limits are not in the catalog; empty means that their limits
    are those of the catalog. Example: ``a2``."""
    water_class: Text | None = None
    """ASHRAE class of the liquid-cooled machines (W32), if their limits are not in the catalog; empty means that their
    limits are those of the catalog. Example: ``w32``."""
    fans: Power | None = None
    """Power of fans of the hall and of heat rejection, and pumps of the building. Empty means unknown: PUE then lacks
    them. Example: ``20 kW``."""


class EnergySource(Model):
    """An energy source of the site."""

    name: Name
    """Name in reports. Example: ``solar``."""
    kind: Literal["grid", "contract", "on-site"]
    """Kind of source: the grid, a contract (power purchase agreement), or generation on the site. Example:
    ``on-site``."""
    share: PositiveRatio
    """Share of the energy of a year. Example: ``0.2``."""
    power: Power | None = None
    """Maximum power of the source; empty means no limit. Example: ``2 MW``."""
    capacity_factor: PositiveRatio | None = None
    """Average power over a year as a fraction of ``power``, such as for sun and wind; empty means 1. Example:
    ``0.25``."""
    price: UnitPrice | None = None
    """Price of its energy; empty means unknown. Example: ``0.05 USD/kWh``."""
    carbon: CarbonIntensity | None = None
    """Carbon intensity of its energy; empty means unknown. Example: ``12 gCO2e/kWh``."""


class EnergySupply(Model):
    """Prices, carbon intensity and sources of energy."""

    price: UnitPrice | None = None
    """Price of energy from the grid. Empty means unknown: energy then has no cost. Example: ``0.08 USD/kWh``."""
    carbon: CarbonIntensity | None = None
    """Carbon of the supply; empty means that of the site's location, if it is in the catalog. Example: ``39
    gCO2e/kWh``."""
    carbon_hours: Text | None = None
    """Hourly carbon intensity of the grid in g/kWh: a CSV file, relative to the spec's file; empty means that it is
    constant. Example: ``carbon.csv``."""
    sources: Annotated[tuple[EnergySource, ...], Field(max_length=64)] = ()
    """Contracts and own generation; the rest comes from the grid. Empty means the grid only. Example: ``[{name: solar,
    kind: on-site, share: 0.2, carbon: 12 gCO2e/kWh}]``."""

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
    """Rack of the nodes; pools may set another. Empty means that racks are planned for pools with a `rack` only.
    Example: ``{type: eia-48u, nodes: 4}``."""
    management: ManagementRacks = ManagementRacks()
    """Racks for switches and service machines. Example: ``{switches: 16, pdu: raritan-px3-5747v}``."""
    machines: Annotated[tuple[ServiceMachines, ...], Field(max_length=256)] = ()
    """Machines outside of pools and storage; empty means none. Example: ``[{name: mgmt, machine: management-server,
    count: 3}]``."""
    power: PowerSupply = PowerSupply()
    """Feeds, breakers and redundancy. Example: ``{budget: 1.2 MW, feeds: 2, redundancy: 2N}``."""
    cooling: Cooling = Cooling()
    """Air and liquid cooling, heat rejection and weather. Example: ``{kind: direct-liquid, supply: 32 °C}``."""
    energy: EnergySupply = EnergySupply()
    """Price and carbon of energy. Example: ``{price: 0.08 USD/kWh}``."""
    pue: Annotated[Number, Field(ge=1.0, json_schema_extra={"unit": "ratio"})] | None = None
    """Facility energy over IT energy, if known; the minimum is 1, as it includes IT energy. Empty means that it is
    computed from the known parts. Example: ``1.2``."""
    racks_per_row: Count | None = None
    """Racks per row; empty means a usual number. Example: ``10``."""
    floor_load: Mass | None = None
    """Maximum weight of a rack with its equipment on the floor; empty means no limit. Example: ``1360 kg``."""
    door: Length | None = None
    """Height of the lowest door on the way into the hall; empty means no limit. Example: ``2.4 m``."""
    max_cable_length: Length | None = None
    """Maximum cable run; leaves are then placed among the racks they serve. Empty means no limit. Example: ``30 m``."""

    @model_validator(mode="after")
    def _check_unique_machines(self) -> Facility:
        for twice in find_duplicates(self.machines):
            raise DuplicateNameError(f"machines: duplicate name {twice!r}; names must be unique")
        return self
