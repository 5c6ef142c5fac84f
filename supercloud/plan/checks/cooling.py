"""Checks of cooling."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ...catalog import Catalog, CoolingMethod, Machine, ThermalClass
from ...errors import Finding, Level, UnknownNameError
from ...facility import compute_flow, find_thermal_class
from ...primitives.quantity import Flow, Power
from ..build.facility.racking import compute_node_power, find_air_cooling_limit
from ..model.plan import Plan, RackGroup
from .rack_suggestions import suggest_node_count

__all__ = ["CHECKS"]

_MEDIA = {"air": {"air"}, "rear-door": {"air"}, "direct-liquid": {"direct-liquid"}, "immersion": {"immersion"}}


def _find_cooling_methods(plan: Plan) -> dict[str, str]:
    """Pool -> cooling method of its racks."""
    racks = plan.facility.racks if plan.facility else ()
    hall = plan.facility.cooling if plan.facility else "air"
    own = {group.pool: group.cooling for group in racks if group.pool}
    return {pool.name: own.get(pool.name, hall) for pool in plan.pools}


def _needs_liquid(machine: Machine) -> bool:
    """Whether part of its heat can be removed by liquid only: air removes the rest, not all of it."""
    heat = machine.heat
    both = {"air", "direct-liquid"} <= set(heat.methods)
    return "air" not in heat.methods or (both and (bool(heat.liquid_share) or machine.rack is not None))


def cooling_method(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines that the cooling method of their racks cannot cool."""
    kinds = _find_cooling_methods(plan)
    for index, pool in enumerate(plan.pools if plan.facility else ()):
        kind, methods = kinds[pool.name], set(pool.machine.heat.methods)
        liquid = methods and _needs_liquid(pool.machine)
        if not methods or (methods & _MEDIA[kind] and (not liquid or kind == "direct-liquid")):
            continue
        made_for = " or ".join(sorted(methods - {"air"} if liquid else methods))
        heat, part = compute_node_power(pool.machine), pool.machine.heat.liquid_share
        over = ""
        if liquid and part and heat:
            over = f": {Power.from_base(heat.base * pool.nodes * Fraction(repr(part)))} cannot be removed"
        # Any hall has air, not every hall has liquid; and if no cooling is declared, nothing contradicts liquid yet.
        said = _is_cooling_declared(plan, pool.name)
        level: Level = "error" if liquid and said else "warning"
        mixed = len(set(kinds.values())) > 1 or len(plan.pools) > 1
        where = f"pools[{index}].rack.cooling" if mixed else "facility.cooling.kind"
        yield Finding(
            "cooling-method",
            level,
            f"pools[{index}].machine",
            f"{pool.machine.name} requires {made_for} cooling, but its racks are cooled by {kind}"
            + (over if said else ", the default"),
            f"set {where}: {made_for}, or use another machine",
        )


def _is_cooling_declared(plan: Plan, pool: str) -> bool:
    """Whether the spec declares the cooling of a pool's racks."""
    facility = plan.spec.facility
    own = next((item.rack for item in plan.spec.pools if item.name == pool), None)
    choice = own or (facility.rack if facility else None)
    return bool(choice and choice.cooling) or bool(facility and "kind" in facility.cooling.model_fields_set)


def cooling_supply(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Water warmer, or colder, than a machine accepts or its declared class allows."""
    declared = plan.spec.facility.cooling if plan.spec.facility else None
    if declared is None or plan.facility is None:
        return
    supply, classes = declared.supply, _list_thermal_classes(catalog)
    named, wrong = _find_declared_class(declared.water_class, "liquid", "water_class", catalog)
    yield from wrong
    kinds = set(_find_cooling_methods(plan).values())
    if supply is None or not kinds - {"air"}:
        return
    for machine in _list_machines(plan, "direct-liquid", "immersion"):
        limit, least = machine.heat.max_supply, machine.heat.min_supply
        own = limit is not None
        if named:
            limit = limit if limit is not None else named.supply_to
            least = least if least is not None else named.supply_from
        made = {"direct-liquid", "immersion"} & set(machine.heat.methods)
        if limit is None and not made:
            continue  # a machine not made for water is reported by ``cooling_method``
        if limit is None:
            yield Finding(
                "cooling-class-unknown",
                "note",
                "facility.cooling.supply",
                f"unknown maximum water temperature of {machine.name}: {supply} is not checked",
                "set facility.cooling.water_class to the class specified by its vendor, such as W32",
            )
        elif supply > limit:
            found = find_thermal_class(limit, classes, "liquid")
            of = (
                f"{machine.name} accepts ({limit}{', class ' + found.name.upper() if found else ''})"
                if own
                else (f"class {named.name.upper()} allows ({limit})" if named else "")
            )
            yield Finding(
                "cooling-supply",
                "error",
                "facility.cooling.supply",
                f"{supply} is {supply - limit} above what {of}",
                f"supply at most {limit}",
            )
        if least is not None and supply < least:
            yield Finding(
                "cooling-supply",
                "error",
                "facility.cooling.supply",
                f"{supply} is {least - supply} below what {machine.name} accepts ({least})",
                f"supply at least {least}",
            )
    if kinds & {"rear-door", "direct-liquid"}:
        coldest = min((item.supply_from for item in classes if item.medium == "liquid"), default=None)
        if coldest is not None and supply < coldest:
            yield Finding(
                "cooling-supply",
                "error",
                "facility.cooling.supply",
                f"{supply} is {coldest - supply} below every class of facility water ({coldest})",
                f"supply at least {coldest}",
            )


def _find_declared_class(
    name: str | None, medium: str, field: str, catalog: Catalog
) -> tuple[ThermalClass | None, list[Finding]]:
    """A declared class, or the problem with its name."""
    if name is None:
        return None, []
    path = f"facility.cooling.{field}"
    try:
        found = catalog.get(ThermalClass, name.lower())
    except UnknownNameError as error:
        return None, [Finding(f"cooling-{field.replace('_', '-')}", "error", path, str(error.args[0]), error.hint)]
    if found.medium == medium:
        return found, []
    fitting = sorted(item.name.upper() for item in _list_thermal_classes(catalog) if item.medium == medium)
    problem = f"{name} is a class of {found.medium}, but {medium} is required"
    return None, [Finding(f"cooling-{field.replace('_', '-')}", "error", path, problem, f"one of {', '.join(fitting)}")]


def cooling_air_class(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Air outside the limits of air-cooled machines: their own limit, or the class declared for them."""
    declared = plan.spec.facility.cooling if plan.spec.facility else None
    if declared is None or plan.facility is None:
        return
    named, wrong = _find_declared_class(declared.air_class, "air", "air_class", catalog)
    yield from wrong
    if declared.supply is None or plan.facility.cooling != "air":
        return
    supply = declared.supply
    for machine in _list_machines(plan, "air"):
        low = named.supply_from if named else None
        high = machine.heat.max_air if machine.heat.max_air is not None else named.supply_to if named else None
        of = (
            f"{machine.name} accepts"
            if machine.heat.max_air is not None or named is None
            else (f"class {named.name.upper()} allows")
        )
        if high is not None and supply > high:
            problem = f"air of {supply} is {supply - high} above what {of} ({high})"
            suggestion = f"supply at most {high}"
        elif low is not None and supply < low:
            problem = f"air of {supply} is {low - supply} below what {of} ({low})"
            suggestion = f"supply at least {low}"
        else:
            continue
        yield Finding("cooling-air-class", "error", "facility.cooling.supply", problem, suggestion)


def _list_machines(plan: Plan, *methods: str) -> list[Machine]:
    """Machines of the pools whose racks are cooled in one of these ways; of all pools if none is given."""
    kinds = _find_cooling_methods(plan)
    chosen = (pool for pool in plan.pools if not methods or kinds[pool.name] in methods)
    return list({pool.machine.name: pool.machine for pool in chosen}.values())


def _list_thermal_classes(catalog: Catalog) -> list[ThermalClass]:
    return list(catalog.iter_entries(ThermalClass))


def cooling_density(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks with more power than their cooling method can remove: the fullest rack of each method."""
    methods = list(catalog.iter_entries(CoolingMethod))
    fullest: dict[str, RackGroup] = {}
    for group in plan.facility.racks if plan.facility else ():
        if group.cooling not in fullest or group.fullest_power > fullest[group.cooling].fullest_power:
            fullest[group.cooling] = group
    for kind, group in fullest.items():
        reached = [item for item in methods if item.medium == kind and item.power_to]
        best = max(reached, key=lambda item: item.power_to.base if item.power_to else 0, default=None)
        power = group.fullest_power
        if best is None or best.power_to is None or power <= best.power_to:
            continue
        stronger = sorted({item.medium for item in methods if _can_cool(item, power)} - {kind})
        what = f" of {group.pool}" if group.pool else ""
        fewer = suggest_node_count(plan, group, group.power, best.power_to)
        yield Finding(
            "cooling-density",
            "warning",
            "facility.cooling.kind",
            f"the fullest rack{what} draws {power}, {power - best.power_to} over the {best.power_to} that "
            f"{best.title[0].lower()}{best.title[1:]} can cool",
            (fewer or "put fewer nodes into a rack") + (f", or use {'  or '.join(stronger)}" if stronger else ""),
        )


def cooling_residual_air(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks with cold plates whose remaining heat exceeds what the air of the hall can remove."""
    reach = find_air_cooling_limit(catalog)
    for group in plan.facility.racks if plan.facility and reach else ():
        air = group.fullest_heat.air
        if group.cooling == "direct-liquid" and reach and air > reach:
            yield Finding(
                "cooling-density",
                "warning",
                "facility.cooling.kind",
                f"a rack of {group.pool or group.kind} releases {air} to the air, {air - reach} "
                f"over the {reach} that air can remove from one rack",
                "put less equipment into a rack, or add a rear door (rack.cooling)",
            )


def _can_cool(method: CoolingMethod, power: Power) -> bool:
    """Whether a cooling method supports a rack of this power; a method without an upper limit does from its minimum."""
    if method.power_to is not None:
        return method.power_to >= power
    return method.power_from is not None


def cooling_flow(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """More water flow than is available, or less than a machine requires."""
    loop = plan.facility.cooling_plan.loop if plan.facility and plan.facility.cooling_plan else None
    declared = plan.spec.facility.cooling if plan.spec.facility else None
    if loop is None or declared is None:
        return
    if declared.step is not None and declared.step.base <= 0:
        yield Finding(
            "cooling-flow",
            "error",
            "facility.cooling.step",
            f"a rise of {declared.step} removes no heat",
            "set a rise above zero, such as 10 K",
        )
        return
    if declared.flow is not None and loop.flow is not None and loop.flow > declared.flow:
        step = (
            loop.temperature_rise.base * loop.flow.base / declared.flow.base
            if loop.temperature_rise and declared.flow.base > 0
            else 0
        )
        yield Finding(
            "cooling-flow",
            "error",
            "facility.cooling.flow",
            f"{loop.heat} at a rise of {loop.temperature_rise} requires {loop.flow}, {loop.flow - declared.flow} "
            f"over the available {declared.flow}",
            f"provide {loop.flow}" + (f", or set a rise of {float(step):.3g} K" if step else ""),
        )
    if loop.temperature_rise is None or not loop.heat or loop.flow is None:
        return
    given = compute_flow(
        Power(1, "kW"), loop.flow * (1000 / loop.heat.base) * loop.temperature_rise.base, loop.temperature_rise
    )
    for machine in _list_machines(plan):
        asked = machine.heat.flow_per_kw
        if asked is not None and given < asked:
            yield Finding(
                "cooling-flow",
                "warning",
                "facility.cooling.step",
                f"a rise of {loop.temperature_rise} gives {given} per kW, {asked - given} less than "
                f"{machine.name} requires ({asked})",
                f"set a rise of at most {float(loop.temperature_rise.base * given.base / asked.base):.3g} K",
            )


def cooling_cdu(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Zones with too few distribution units for heat and flow after the tolerated number of failures."""
    loop = plan.facility.cooling_plan.loop if plan.facility and plan.facility.cooling_plan else None
    declared = plan.spec.facility.cooling if plan.spec.facility else None
    if loop is None or loop.cdu is None or declared is None:
        return
    spares = declared.cdu_spares
    short = [(needed + spares - (needed + spare), index) for index, (needed, spare) in enumerate(loop.zone_cdus)]
    missing, worst = max(short, default=(0, 0))
    if missing <= 0:
        return
    needed, spare = loop.zone_cdus[worst]
    left = max(0, needed + spare - spares)
    part = loop.zone_heats[worst]
    what = []
    if loop.cdu.capacity and loop.cdu.capacity * left < part:
        what.append(f"{loop.cdu.capacity * left} of {part}, {part - loop.cdu.capacity * left} short")
    if loop.cdu.flow and loop.flow:
        flow = Flow.from_base(loop.flow.base * part.base / loop.heat.base)
        if loop.cdu.flow * left < flow:
            what.append(f"{loop.cdu.flow * left} of {flow}, {flow - loop.cdu.flow * left} short")
    which = f"zone {worst + 1}" if len(loop.zone_cdus) > 1 else "the hall"
    yield Finding(
        "cooling-cdu",
        "error",
        "facility.cooling.cdus",
        f"{needed + spare} × {loop.cdu.name} in {which}: with {spares} failed, {left} of {needed} needed units remain"
        + (f" ({'; '.join(what)})" if what else ""),
        f"set cdus: {needed + spares}",
    )


def cooling_liquid_share_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines whose liquid share has no source."""
    for name in plan.facility.cooling_plan.assumed_machines if plan.facility and plan.facility.cooling_plan else ():
        yield Finding(
            "cooling-liquid-share-unknown",
            "note",
            "facility.cooling",
            f"unknown liquid share of the heat of {name}: counted as all of it, an upper bound",
            "add heat.liquid_share to a catalog overlay",
        )


def cooling_limit_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Heat rejection whose outdoor limit is unknown because a value of a part between it and the racks is unknown."""
    heat = plan.facility.cooling_plan if plan.facility else None
    declared = plan.spec.facility.cooling if plan.spec.facility else None
    if heat is None or declared is None or heat.rejection is None or not heat.rejection.reference:
        return
    cdu = heat.loop.cdu if heat.loop else None
    if declared.supply is None:
        what, suggestion = "temperature of the supply", "set facility.cooling.supply"
    elif heat.outdoor_limit is None and cdu is not None and cdu.approach is None:
        what, suggestion = f"approach of {cdu.name}", f"add it to cdus/{cdu.name}.yaml of a catalog overlay"
    else:
        return
    yield Finding(
        "cooling-limit-unknown",
        "note",
        "facility.cooling.rejection",
        f"unknown {what}: the maximum outdoor temperature for a {heat.rejection.name} cannot be computed"
        + (", nor the hours of free cooling" if declared.weather else ""),
        suggestion,
    )


CHECKS = (
    cooling_residual_air,
    cooling_air_class,
    cooling_cdu,
    cooling_density,
    cooling_flow,
    cooling_limit_unknown,
    cooling_method,
    cooling_liquid_share_unknown,
    cooling_supply,
)
