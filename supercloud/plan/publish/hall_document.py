"""Power, cooling and energy of the published plan. Field names include the unit, as in ``document.py``."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from ...primitives.quantity import Flow, Power, Temperature
from ..model.plan import FacilityPlan

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


class _DocumentPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class PowerDocument(_DocumentPart):
    """Power distribution of the hall."""

    redundancy: str
    feeds: int
    feed_kw: float
    """Load of each feed in normal operation."""
    feed_after_loss_kw: float | None
    """Load of each remaining feed after the loss of one; null if the scheme does not allow a loss."""
    feed_capacity_kw: float | None
    distribution_loss_kw: float
    ups_loss_kw: float
    meter_kw: float
    """Power that IT draws from the building, with losses, without cooling."""
    load_swing_kw: float | None


class CoolingDocument(_DocumentPart):
    """Heat and how it is removed."""

    liquid_kw: float
    """Heat by cold plates or immersion."""
    door_kw: float
    """Heat by rear doors."""
    air_kw: float
    assumed_machines: list[str]
    """Machines whose liquid-cooled share is unknown: all of their heat is counted as liquid, an upper bound."""
    airflow_cfm: float | None
    """Airflow through the nodes; null if that of any machine is unknown."""
    flow_l_min: float | None
    """Flow of the loop through the racks."""
    supply_c: float | None
    return_c: float | None
    building_supply_c: float | None
    """Supply temperature less the approach of the distribution units."""
    cdu: str | None
    cdus: int
    """Spares included."""
    zones: int
    outdoor_limit_c: float | None
    """Maximum outdoor temperature (dry or wet bulb, as the heat rejection uses) without a chiller."""
    free_cooling_hours: int | None
    weather_hours: int | None
    pue: float | None
    pue_basis: str
    """declared, computed, at least (a part is unknown and counted as 0), unknown."""
    pue_missing: list[str]
    """Missing parts of a PUE that is a lower bound."""
    wue_l_per_kwh: float | None
    cue_kg_per_kwh: float | None


class SourceDocument(_DocumentPart):
    """A source of electricity."""

    name: str
    kind: str
    share: float
    average_kw: float
    limit_kw: float | None
    carbon_g_per_kwh: float | None


class EnergyDocument(_DocumentPart):
    """Sources, carbon intensity and price of the electricity."""

    sources: list[SourceDocument]
    carbon_g_per_kwh: float | None
    """Carbon intensity of the mix."""
    price_usd_per_kwh: float | None
    carbon_by_hour_g_per_kwh: list[float]
    """Hourly averages over the day for the grid; empty without an hourly file."""


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
        airflow_cfm=_round_quantity(plan.airflow, "CFM", 1),
        flow_l_min=_round_quantity(loop.flow, "L/min", 1) if loop else None,
        supply_c=loop.supply.to("°C") if loop and loop.supply is not None else None,
        return_c=_round_quantity(loop.return_temperature, "°C", 3) if loop else None,
        building_supply_c=_round_quantity(loop.building_supply, "°C", 3) if loop else None,
        cdu=loop.cdu.name if loop and loop.cdu else None,
        cdus=loop.cdu_count if loop else 0,
        zones=len(loop.zone_cdus) if loop else 0,
        outdoor_limit_c=_round_quantity(plan.outdoor_limit, "°C", 3),
        free_cooling_hours=plan.free_hours,
        weather_hours=plan.weather_hours,
        pue=_round_number(plan.pue, 4),
        pue_basis=plan.pue_basis,
        pue_missing=list(plan.overhead.missing),
        wue_l_per_kwh=_round_number(plan.wue, 4),
        cue_kg_per_kwh=_round_number(plan.cue, 6),
    )


def _round_quantity(value: Flow | Temperature | None, unit: str, digits: int) -> float | None:
    return None if value is None else round(value.to(unit), digits)


def _round_number(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


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
                carbon_g_per_kwh=round(item.carbon.to("gCO2e/kWh"), 3) if item.carbon is not None else None,
            )
            for item in plan.sources
        ],
        carbon_g_per_kwh=round(plan.carbon.to("gCO2e/kWh"), 3) if plan.carbon is not None else None,
        price_usd_per_kwh=round(plan.price.to("USD/kWh"), 6) if plan.price is not None else None,
        carbon_by_hour_g_per_kwh=[round(value, 3) for value in plan.carbon_by_hour],
    )
