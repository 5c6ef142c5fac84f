"""Power, cooling and energy of the published plan. Field names include the unit, as in ``document.py``."""

from __future__ import annotations

from ...primitives.quantity import Power
from ..model.plan import FacilityPlan
from .document_part import DocumentPart, round_number, round_quantity

__all__ = [
    "CoolingDocument",
    "EnergyDocument",
    "PowerDocument",
    "SourceDocument",
    "build_cooling_document",
    "build_energy_document",
    "to_kw",
    "build_power_document",
]


class PowerDocument(DocumentPart):
    """Power distribution of the hall."""

    redundancy: str
    """Redundancy scheme of the feeds, such as ``N``, ``N+1`` or ``2N``."""
    feeds: int
    """Number of feeds."""
    feed_kw: float
    """Load of each feed in normal operation in kW."""
    feed_after_loss_kw: float | None
    """Load of each remaining feed after the loss of one in kW; null if the scheme does not allow a loss."""
    feed_capacity_kw: float | None
    """Capacity of each feed in kW; null if it is not declared."""
    distribution_loss_kw: float
    """Losses of the power distribution in kW; 0 if its efficiency is unknown."""
    ups_loss_kw: float
    """Losses of the uninterruptible power supplies (UPS) in kW; 0 without a UPS, or if its efficiency is unknown."""
    meter_kw: float
    """Power that IT draws from the building in kW, with losses, without cooling."""
    load_swing_kw: float | None
    """Load that can be switched on or off at once, in kW; null if it is unknown."""


class CoolingDocument(DocumentPart):
    """Heat and how it is removed."""

    liquid_kw: float
    """Heat that cold plates or immersion remove, in kW."""
    door_kw: float
    """Heat that rear doors remove, in kW."""
    air_kw: float
    """Heat to the air of the room in kW."""
    assumed_machines: list[str]
    """Machines whose liquid-cooled share is unknown: all of their heat is counted as liquid, an upper bound."""
    airflow_cfm: float | None
    """Airflow through the nodes in CFM; null if that of any machine is unknown."""
    flow_l_min: float | None
    """Flow of the loop through the racks in L/min; null without a loop, or if its temperature rise is unknown."""
    supply_c: float | None
    """Supply temperature of the loop in °C; null without a loop, or if it is not declared."""
    return_c: float | None
    """Return temperature of the loop in °C; null if supply or rise is unknown."""
    building_supply_c: float | None
    """Supply temperature of the building in °C: that of the racks less the approach of the distribution units; null if
    one of them is unknown."""
    cdu: str | None
    """Coolant distribution unit (CDU) of the catalog; null if none is specified."""
    cdus: int
    """Number of CDUs, spares included."""
    zones: int
    """Number of zones with their own CDUs."""
    outdoor_limit_c: float | None
    """Maximum outdoor temperature without a chiller in °C (dry or wet bulb, as the heat rejection uses); null if it is
    unknown."""
    free_cooling_hours: int | None
    """Hours of the weather file without a chiller; null without such a file, if the outdoor limit is unknown, or if the
    file lacks a value that the heat rejection requires."""
    weather_hours: int | None
    """Hours in the weather file; null without one."""
    pue: float | None
    """Power usage effectiveness (PUE), a lower bound if ``pue_missing`` is not empty; null if it is unknown."""
    pue_basis: str
    """Origin of the PUE: ``declared``, ``computed``, ``at least`` (a part is unknown and counted as 0) or ``unknown``.
    """
    pue_missing: list[str]
    """Missing parts of a PUE that is a lower bound."""
    wue_l_per_kwh: float | None
    """Water usage effectiveness in liters per kWh of IT energy; null if it is unknown."""
    cue_kg_per_kwh: float | None
    """Carbon usage effectiveness in kgCO2e per kWh of IT energy; null if it is unknown."""


class SourceDocument(DocumentPart):
    """A source of electricity."""

    name: str
    """Name of the source."""
    kind: str
    """``grid``, ``contract`` or ``on-site``."""
    share: float
    """Share of the annual energy, 0 to 1."""
    average_kw: float
    """Average power in kW with the site at full load all year."""
    limit_kw: float | None
    """Maximum average power in kW; null without a limit."""
    carbon_g_per_kwh: float | None
    """Carbon intensity in gCO2e/kWh; null if it is unknown."""


class EnergyDocument(DocumentPart):
    """Sources, carbon intensity and price of the electricity."""

    sources: list[SourceDocument]
    """Sources, with their shares of the annual energy; empty if none are declared."""
    carbon_g_per_kwh: float | None
    """Carbon intensity of the mix in gCO2e/kWh; null if that of a source is unknown."""
    price_usd_per_kwh: float | None
    """Price of the mix in USD per kWh; null if that of a source is unknown."""
    carbon_by_hour_g_per_kwh: list[float]
    """Carbon intensity of the grid in gCO2e/kWh for each hour of the day, as an average over the year; empty without an
    hourly file."""


def to_kw(power: Power | None) -> float | None:
    """Power in kW, or None."""
    return None if power is None else round(power.to("kW"), 3)


def _to_kw(power: Power) -> float:
    return round(power.to("kW"), 3)


def build_power_document(hall: FacilityPlan) -> PowerDocument | None:
    """Build the published power distribution of a hall."""
    plan = hall.power_plan
    if plan is None:
        return None
    return PowerDocument(
        redundancy=plan.feeds.scheme,
        feeds=plan.feeds.count,
        feed_kw=_to_kw(plan.feeds.feed_load),
        feed_after_loss_kw=to_kw(plan.feeds.load_after_loss),
        feed_capacity_kw=to_kw(plan.feeds.capacity),
        distribution_loss_kw=_to_kw(plan.distribution_loss),
        ups_loss_kw=_to_kw(plan.ups_loss),
        meter_kw=_to_kw(plan.meter_power),
        load_swing_kw=to_kw(plan.load_swing),
    )


def build_cooling_document(hall: FacilityPlan) -> CoolingDocument | None:
    """Build the published cooling of a hall."""
    plan = hall.cooling_plan
    if plan is None:
        return None
    loop = plan.loop
    return CoolingDocument(
        liquid_kw=_to_kw(plan.heat.liquid),
        door_kw=_to_kw(plan.heat.door),
        air_kw=_to_kw(plan.heat.air),
        assumed_machines=list(plan.assumed_machines),
        airflow_cfm=round_quantity(plan.airflow, "CFM", 1),
        flow_l_min=round_quantity(loop.flow, "L/min", 1) if loop else None,
        supply_c=loop.supply.to("°C") if loop and loop.supply is not None else None,
        return_c=round_quantity(loop.return_temperature, "°C", 3) if loop else None,
        building_supply_c=round_quantity(loop.building_supply, "°C", 3) if loop else None,
        cdu=loop.cdu.name if loop and loop.cdu else None,
        cdus=loop.cdu_count if loop else 0,
        zones=len(loop.zone_cdus) if loop else 0,
        outdoor_limit_c=round_quantity(plan.outdoor_limit, "°C", 3),
        free_cooling_hours=plan.free_hours,
        weather_hours=plan.weather_hours,
        pue=round_number(plan.pue, 4),
        pue_basis=plan.pue_basis,
        pue_missing=list(plan.overhead.missing),
        wue_l_per_kwh=round_number(plan.wue, 4),
        cue_kg_per_kwh=round_number(plan.cue, 6),
    )


def build_energy_document(hall: FacilityPlan) -> EnergyDocument | None:
    """Build the published energy of a hall."""
    plan = hall.energy_plan
    if plan is None:
        return None
    return EnergyDocument(
        sources=[
            SourceDocument(
                name=item.name,
                kind=item.kind,
                share=round(item.share, 6),
                average_kw=_to_kw(item.average_power),
                limit_kw=to_kw(item.power_limit),
                carbon_g_per_kwh=round_quantity(item.carbon, "gCO2e/kWh", 3),
            )
            for item in plan.sources
        ],
        carbon_g_per_kwh=round_quantity(plan.carbon, "gCO2e/kWh", 3),
        price_usd_per_kwh=round_quantity(plan.price, "USD/kWh", 6),
        carbon_by_hour_g_per_kwh=[round(value, 3) for value in plan.carbon_by_hour],
    )
