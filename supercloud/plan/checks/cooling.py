"""Checks of cooling."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ...catalog import Catalog, CoolingMethod, Machine, ThermalClass
from ...errors import Finding, Level, UnknownName
from ...facility import class_of, flow_for
from ...primitives.quantity import Power
from ..model import Plan

__all__ = ["CHECKS"]

_MEDIUM = {"air": {"air"}, "rear-door": {"air"}, "direct-liquid": {"direct-liquid"}, "immersion": {"immersion"}}


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
    """Water warmer, or colder, than a machine takes."""
    supply = plan.spec.facility.cooling.supply if plan.spec.facility else None
    if supply is None or plan.facility is None:
        return
    classes = _classes(catalog)
    for machine in _machines(plan):
        limit, least = machine.heat.max_supply, machine.heat.min_supply
        if limit is not None and supply > limit:
            named = class_of(limit, classes, "liquid")
            yield Finding(
                "cooling-supply",
                "error",
                "facility.cooling.supply",
                f"{supply} is {supply - limit} above what {machine.name} takes ({limit}"
                f"{', class ' + named.name.upper() if named else ''})",
                f"supply at most {limit}",
            )
        if least is not None and supply < least:
            yield Finding(
                "cooling-supply",
                "error",
                "facility.cooling.supply",
                f"{supply} is {least - supply} below what {machine.name} takes ({least})",
                f"supply at least {least}",
            )
    if plan.facility.cooling in ("rear-door", "direct-liquid"):
        coldest = min((item.supply_from for item in classes if item.medium == "liquid"), default=None)
        if coldest is not None and supply < coldest:
            yield Finding(
                "cooling-supply",
                "error",
                "facility.cooling.supply",
                f"{supply} is {coldest - supply} below every class of facility water ({coldest})",
                f"supply at least {coldest}",
            )


def cooling_air_class(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Air outside what air-cooled machines take: their own limit, or the class that was declared for them."""
    declared = plan.spec.facility.cooling if plan.spec.facility else None
    if declared is None or plan.facility is None:
        return
    named = None
    if declared.air_class:
        try:
            named = cast(ThermalClass, catalog.get("thermal-classes", declared.air_class.lower()))
        except UnknownName as error:
            yield Finding("cooling-air-class", "error", "facility.cooling.air_class", str(error.args[0]), error.hint)
    if declared.supply is None or plan.facility.cooling != "air":
        return
    supply = declared.supply
    for machine in _machines(plan):
        low = named.supply_from if named else None
        high = machine.heat.max_air if machine.heat.max_air is not None else named.supply_to if named else None
        of = f"{machine.name} takes" if machine.heat.max_air is not None or named is None else (
            f"class {named.name.upper()} allows")  # fmt: skip
        if high is not None and supply > high:
            problem, cure = f"air of {supply} is {supply - high} above what {of} ({high})", f"supply at most {high}"
        elif low is not None and supply < low:
            problem, cure = f"air of {supply} is {low - supply} below what {of} ({low})", f"supply at least {low}"
        else:
            continue
        yield Finding("cooling-air-class", "error", "facility.cooling.supply", problem, cure)


def _machines(plan: Plan) -> list[Machine]:
    return list({pool.machine.name: pool.machine for pool in plan.pools}.values())


def _classes(catalog: Catalog) -> list[ThermalClass]:
    return [cast(ThermalClass, item) for item in catalog.all("thermal-classes")]


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


def cooling_flow(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """More water than there is, or less than a machine asks for."""
    loop = plan.facility.heat.loop if plan.facility and plan.facility.heat else None
    declared = plan.spec.facility.cooling if plan.spec.facility else None
    if loop is None or declared is None:
        return
    if declared.step is not None and declared.step.base <= 0:
        yield Finding("cooling-flow", "error", "facility.cooling.step", f"a rise of {declared.step} carries no heat",
                      "set a rise above zero, such as 10 K")  # fmt: skip
        return
    if declared.flow is not None and loop.flow is not None and loop.flow > declared.flow:
        step = loop.step.base * loop.flow.base / declared.flow.base if loop.step and declared.flow.base > 0 else 0
        yield Finding(
            "cooling-flow",
            "error",
            "facility.cooling.flow",
            f"{loop.heat} at a rise of {loop.step} takes {loop.flow}, {loop.flow - declared.flow} over the "
            f"{declared.flow} there is",
            f"give {loop.flow}" + (f", or let the rise be {float(step):.3g} K" if step else ""),
        )
    if loop.step is None or not loop.heat or loop.flow is None:
        return
    given = flow_for(Power(1, "kW"), loop.flow * (1000 / loop.heat.base) * loop.step.base, loop.step)
    for machine in _machines(plan):
        asked = machine.heat.flow_per_kw
        if asked is not None and given < asked:
            yield Finding(
                "cooling-flow",
                "warning",
                "facility.cooling.step",
                f"a rise of {loop.step} gives {given} for each kW, {asked - given} short of what {machine.name} "
                f"asks for ({asked})",
                f"set a rise of at most {float(loop.step.base * given.base / asked.base):.3g} K",
            )


def cooling_cdu(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Zones with fewer distribution units than heat and flow ask for after as many have failed as may."""
    loop = plan.facility.heat.loop if plan.facility and plan.facility.heat else None
    declared = plan.spec.facility.cooling if plan.spec.facility else None
    if loop is None or loop.cdu is None or declared is None:
        return
    spares = declared.cdu_spares
    short = [(needed + spares - (needed + spare), index) for index, (needed, spare) in enumerate(loop.zones)]
    missing, worst = max(short, default=(0, 0))
    if missing <= 0:
        return
    needed, spare = loop.zones[worst]
    left = max(0, needed + spare - spares)
    part = loop.heat * (1 / len(loop.zones))
    what = []
    if loop.cdu.capacity and loop.cdu.capacity * left < part:
        what.append(f"{loop.cdu.capacity * left} of {part}, {part - loop.cdu.capacity * left} short")
    if loop.cdu.flow and loop.flow:
        flow = loop.flow * (1 / len(loop.zones))
        if loop.cdu.flow * left < flow:
            what.append(f"{loop.cdu.flow * left} of {flow}, {flow - loop.cdu.flow * left} short")
    which = f"zone {worst + 1}" if len(loop.zones) > 1 else "the hall"
    yield Finding(
        "cooling-cdu",
        "error",
        "facility.cooling.cdus",
        f"{needed + spare} × {loop.cdu.name} in {which}: with {spares} failed {left} of {needed} are left"
        + (f" ({'; '.join(what)})" if what else ""),
        f"set cdus: {needed + spares}",
    )


def cooling_split_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines whose liquid share nobody sourced."""
    for name in plan.facility.heat.assumed if plan.facility and plan.facility.heat else ():
        yield Finding(
            "cooling-split-unknown",
            "note",
            "facility.cooling",
            f"not known: how much of the heat of {name} leaves in the liquid; counted as all of it, an upper bound",
            "put heat.liquid_share into a catalog overlay",
        )


def cooling_weather(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Hours of the year that the outdoors does not cool, where nothing else is declared that does."""
    heat = plan.facility.heat if plan.facility else None
    declared = plan.spec.facility.cooling if plan.spec.facility else None
    if heat is None or declared is None or heat.hours is None or heat.free_hours is None or heat.rejection is None:
        return
    hot = heat.hours - heat.free_hours
    if hot and declared.chiller is None:
        yield Finding(
            "cooling-weather",
            "warning",
            "facility.cooling.rejection",
            f"in {hot} of {heat.hours} hours it is warmer than the {heat.outdoor_limit} up to which a "
            f"{heat.rejection.name} gives {declared.supply}",
            "supply warmer, or add a chiller for these hours",
        )


CHECKS = (
    cooling_air_class,
    cooling_cdu,
    cooling_density,
    cooling_flow,
    cooling_method,
    cooling_split_unknown,
    cooling_supply,
    cooling_weather,
)
