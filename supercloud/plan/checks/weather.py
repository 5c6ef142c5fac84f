"""Checks of the weather that cooling is planned for."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..model.plan import Plan

__all__ = ["CHECKS"]

_HOURS_PER_YEAR = 8760


def cooling_weather(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Hours of the year in which the outdoor air is too warm for cooling and no other cooling is declared."""
    heat = plan.facility.cooling_plan if plan.facility else None
    declared = plan.spec.facility.cooling if plan.spec.facility else None
    if (
        heat is None
        or declared is None
        or heat.weather_hours is None
        or heat.free_hours is None
        or heat.rejection is None
    ):
        return
    if heat.weather_hours < _HOURS_PER_YEAR:
        yield Finding(
            "cooling-weather",
            "warning",
            "facility.cooling.weather",
            f"the file has {heat.weather_hours} hours, {_HOURS_PER_YEAR - heat.weather_hours} short of a year of "
            f"{_HOURS_PER_YEAR}",
            "use a file of a whole year; until then the hours of free cooling are incomplete",
        )
    hot = heat.weather_hours - heat.free_hours
    if hot and declared.chiller is None:
        yield Finding(
            "cooling-weather",
            "warning",
            "facility.cooling.rejection",
            f"in {hot} of {heat.weather_hours} hours the outdoor temperature is above {heat.outdoor_limit}, the "
            f"limit at which a {heat.rejection.name} supplies {declared.supply}",
            "raise the supply temperature, or add a chiller for these hours",
        )


CHECKS = (cooling_weather,)
