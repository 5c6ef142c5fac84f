"""Checks of power, cooling and carbon."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ...catalog import Catalog, CoolingMethod
from ...errors import Finding, Level
from ..model import Plan

# A hall planned to the last tenth has no room for a warm day or a replaced part: worth a word, no more.
_HEADROOM = 0.1

_MEDIUM = {"air": {"air"}, "rear-door": {"air"}, "direct-liquid": {"direct-liquid"}, "immersion": {"immersion"}}


def power_budget(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """IT power over the hall's budget."""
    hall = plan.facility
    if hall and hall.budget and hall.it > hall.budget:
        yield Finding(
            "power-budget",
            "error",
            "facility.power.budget",
            f"{hall.it} of IT power is {hall.it - hall.budget} over the budget of {hall.budget}",
            "raise the budget, or take fewer nodes",
        )


def power_headroom(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """IT power within the budget, but close to it."""
    hall = plan.facility
    if hall and hall.budget and hall.it <= hall.budget and hall.budget - hall.it < hall.budget * _HEADROOM:
        yield Finding(
            "power-headroom",
            "warning",
            "facility.power.budget",
            f"{hall.it} leaves {hall.budget - hall.it} of {hall.budget}: less than {_HEADROOM:.0%}",
            "raise the budget, or suppress this with a reason",
        )


def power_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines or switches whose power nobody sourced."""
    for text in plan.facility.unknown if plan.facility else ():
        yield Finding(
            "power-unknown", "note", "facility", f"not known: {text}", "measure it and put it into a catalog overlay"
        )


def carbon_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A place without a carbon intensity."""
    if plan.facility and plan.facility.carbon_year is None:
        yield Finding(
            "carbon-unknown",
            "note",
            "site.location",
            f"the carbon intensity of {plan.site.place!r} is not known",
            "set facility.energy.carbon, or see: supercloud catalog locations",
        )


def cooling_method(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines that the hall's way of cooling does not cool."""
    if not plan.facility:
        return
    media = _MEDIUM[plan.facility.cooling]
    for index, pool in enumerate(plan.pools):
        methods = set(pool.machine.heat.methods)
        if not methods or methods & media:
            continue
        made_for = " or ".join(sorted(methods))
        # air is there in any hall, liquid is not
        level: Level = "warning" if "air" in methods else "error"
        yield Finding(
            "cooling-method",
            level,
            f"pools[{index}].machine",
            f"{pool.machine.name} is cooled by {made_for}, the hall by {plan.facility.cooling}",
            f"set facility.cooling.kind to {made_for}, or take another machine",
        )


def cooling_supply(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Water warmer than a machine takes."""
    supply = plan.spec.facility.cooling.supply if plan.spec.facility else None
    for pool in plan.pools:
        limit = pool.machine.heat.max_supply
        if supply and limit and supply > limit:
            yield Finding(
                "cooling-supply",
                "error",
                "facility.cooling.supply",
                f"{supply} is {supply - limit} above what {pool.machine.name} takes ({limit})",
                f"supply at most {limit}",
            )


def cooling_density(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks denser than the way of cooling reaches."""
    if not plan.facility or not plan.facility.racks:
        return
    methods = [cast(CoolingMethod, item) for item in catalog.all("cooling")]
    reached = [item for item in methods if item.medium == plan.facility.cooling and item.power_to]
    best = max(reached, key=lambda item: item.power_to.base if item.power_to else 0, default=None)
    densest = plan.facility.densest
    if best and best.power_to and densest > best.power_to:
        stronger = sorted({item.medium for item in methods if item.power_to and item.power_to >= densest})
        yield Finding(
            "cooling-density",
            "warning",
            "facility.cooling.kind",
            f"the fullest rack draws {densest}, {best.title} reaches {best.power_to}",
            f"put fewer nodes into a rack{', or cool by ' + ' or '.join(stronger) if stronger else ''}",
        )
