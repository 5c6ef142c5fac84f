"""Checks of what cools the racks: temperature of air and water, flow, and distribution units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...catalog import Catalog, Cdu, Machine, ThermalClass
from ...errors import Finding, UnknownNameError
from ...facility import LiquidLoop, compute_flow, find_thermal_class
from ...primitives.quantity import Flow, Power, Temperature, TemperatureDifference
from ...spec.facility import Cooling
from ..model.plan import Plan

__all__ = [
    "cooling_air_class",
    "cooling_cdu",
    "cooling_cdu_unknown",
    "cooling_class_unknown",
    "cooling_flow",
    "cooling_supply",
    "find_cooling_methods",
]


def find_cooling_methods(plan: Plan) -> dict[str, str]:
    """Pool -> cooling method of its racks."""
    racks = plan.facility.racks if plan.facility else ()
    hall = plan.facility.cooling if plan.facility else "air"
    own = {group.pool: group.cooling for group in racks if group.pool}
    return {pool.name: own.get(pool.name, hall) for pool in plan.pools}


def _list_machines(plan: Plan, *methods: str) -> list[Machine]:
    """Machines of the pools whose racks are cooled in one of these ways; of all pools if none is given."""
    kinds = find_cooling_methods(plan)
    chosen = (pool for pool in plan.pools if not methods or kinds[pool.name] in methods)
    return list({pool.machine.name: pool.machine for pool in chosen}.values())


def _list_thermal_classes(catalog: Catalog) -> list[ThermalClass]:
    return list(catalog.iter_entries(ThermalClass))


def _get_declared_cooling(plan: Plan) -> Cooling | None:
    return plan.spec.facility.cooling if plan.spec.facility else None


def _get_liquid_loop(plan: Plan) -> LiquidLoop | None:
    return plan.facility.cooling_plan.loop if plan.facility and plan.facility.cooling_plan else None


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


@dataclass(frozen=True)
class _AcceptedRange:
    """Supply temperatures that a machine accepts; None if unknown."""

    least: Temperature | None
    most: Temperature | None


def _select_range(own: _AcceptedRange, declared: ThermalClass | None) -> _AcceptedRange:
    """The machine's own limits; for those that are unknown, the limits of the class declared for it."""
    if declared is None:
        return own
    return _AcceptedRange(
        declared.supply_from if own.least is None else own.least, declared.supply_to if own.most is None else own.most
    )


def cooling_supply(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Water warmer, or colder, than a machine accepts or its declared class allows."""
    declared = _get_declared_cooling(plan)
    if declared is None or plan.facility is None:
        return
    named, wrong = _find_declared_class(declared.water_class, "liquid", "water_class", catalog)
    yield from wrong
    supply = declared.supply
    if supply is None:
        return
    for machine, accepted in _list_water_ranges(plan, named):
        yield from _check_water_temperature(machine, supply, accepted, named, catalog)
    if set(find_cooling_methods(plan).values()) & {"rear-door", "direct-liquid"}:
        yield from _check_coldest_water(supply, catalog)


def cooling_class_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines with an unknown maximum water temperature, whose supply is not checked."""
    declared = _get_declared_cooling(plan)
    if declared is None or declared.supply is None or plan.facility is None:
        return
    named, _ = _find_declared_class(declared.water_class, "liquid", "water_class", catalog)
    for machine, accepted in _list_water_ranges(plan, named):
        # a machine not made for water is reported by ``cooling_method``
        if accepted.most is None and {"direct-liquid", "immersion"} & set(machine.heat.methods):
            yield Finding(
                "cooling-class-unknown",
                "note",
                "facility.cooling.supply",
                f"unknown maximum water temperature of {machine.name}: {declared.supply} is not checked",
                "set facility.cooling.water_class to the class specified by its vendor, such as W32",
            )


def _list_water_ranges(plan: Plan, named: ThermalClass | None) -> list[tuple[Machine, _AcceptedRange]]:
    """Machines that water cools, with the temperatures that they accept."""
    return [
        (machine, _select_range(_AcceptedRange(machine.heat.min_supply, machine.heat.max_supply), named))
        for machine in _list_machines(plan, "direct-liquid", "immersion")
    ]


def _check_water_temperature(
    machine: Machine, supply: Temperature, accepted: _AcceptedRange, named: ThermalClass | None, catalog: Catalog
) -> Iterator[Finding]:
    if accepted.most is None and not {"direct-liquid", "immersion"} & set(machine.heat.methods):
        return  # a machine not made for water is reported by ``cooling_method``
    if accepted.most is not None and supply > accepted.most:
        yield Finding(
            "cooling-supply",
            "error",
            "facility.cooling.supply",
            f"{supply} is {supply - accepted.most} above what "
            f"{_describe_water_limit(machine, accepted.most, named, catalog)}",
            f"supply at most {accepted.most}",
        )
    if accepted.least is not None and supply < accepted.least:
        yield Finding(
            "cooling-supply",
            "error",
            "facility.cooling.supply",
            f"{supply} is {accepted.least - supply} below what {machine.name} accepts ({accepted.least})",
            f"supply at least {accepted.least}",
        )


def _describe_water_limit(machine: Machine, limit: Temperature, named: ThermalClass | None, catalog: Catalog) -> str:
    if machine.heat.max_supply is None and named is not None:
        return f"class {named.name.upper()} allows ({limit})"
    found = find_thermal_class(limit, _list_thermal_classes(catalog), "liquid")
    return f"{machine.name} accepts ({limit}{', class ' + found.name.upper() if found else ''})"


def _check_coldest_water(supply: Temperature, catalog: Catalog) -> Iterator[Finding]:
    """Water colder than every class of facility water."""
    limits = (item.supply_from for item in _list_thermal_classes(catalog) if item.medium == "liquid")
    coldest = min(limits, default=None)
    if coldest is not None and supply < coldest:
        yield Finding(
            "cooling-supply",
            "error",
            "facility.cooling.supply",
            f"{supply} is {coldest - supply} below every class of facility water ({coldest})",
            f"supply at least {coldest}",
        )


def cooling_air_class(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Air outside the limits of air-cooled machines: their own limit, or the class declared for them."""
    declared = _get_declared_cooling(plan)
    if declared is None or plan.facility is None:
        return
    named, wrong = _find_declared_class(declared.air_class, "air", "air_class", catalog)
    yield from wrong
    if declared.supply is None or plan.facility.cooling != "air":
        return
    for machine in _list_machines(plan, "air"):
        yield from _check_air_temperature(machine, declared.supply, named)


def _check_air_temperature(machine: Machine, supply: Temperature, named: ThermalClass | None) -> Iterator[Finding]:
    accepted = _select_range(_AcceptedRange(None, machine.heat.max_air), named)
    of = f"{machine.name} accepts"
    if machine.heat.max_air is None and named is not None:
        of = f"class {named.name.upper()} allows"
    if accepted.most is not None and supply > accepted.most:
        problem = f"air of {supply} is {supply - accepted.most} above what {of} ({accepted.most})"
        suggestion = f"supply at most {accepted.most}"
    elif accepted.least is not None and supply < accepted.least:
        problem = f"air of {supply} is {accepted.least - supply} below what {of} ({accepted.least})"
        suggestion = f"supply at least {accepted.least}"
    else:
        return
    yield Finding("cooling-air-class", "error", "facility.cooling.supply", problem, suggestion)


def cooling_flow(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """More water flow than is available, or less than a machine requires."""
    loop, declared = _get_liquid_loop(plan), _get_declared_cooling(plan)
    if loop is None or declared is None:
        return
    if declared.temperature_rise is not None and declared.temperature_rise.base <= 0:
        yield Finding(
            "cooling-flow",
            "error",
            "facility.cooling.temperature_rise",
            f"a rise of {declared.temperature_rise} removes no heat",
            "set a rise above zero, such as 10 K",
        )
        return
    if loop.flow is None:
        return
    if declared.flow is not None and loop.flow > declared.flow:
        yield from _report_flow(loop, loop.flow, declared.flow)
    if loop.temperature_rise is not None and loop.heat:
        yield from _check_machine_flows(plan, loop.heat, loop.flow, loop.temperature_rise)


def _report_flow(loop: LiquidLoop, flow: Flow, available: Flow) -> Iterator[Finding]:
    """The flow that the heat requires is not available."""
    rise = loop.temperature_rise
    step = rise.base * flow.base / available.base if rise and available.base > 0 else 0
    yield Finding(
        "cooling-flow",
        "error",
        "facility.cooling.flow",
        f"{loop.heat} at a rise of {rise} requires {flow}, {flow - available} over the available {available}",
        f"provide {flow}" + (f", or set a rise of {float(step):.3g} K" if step else ""),
    )


def _check_machine_flows(plan: Plan, heat: Power, flow: Flow, rise: TemperatureDifference) -> Iterator[Finding]:
    """Machines that require more flow per power than the temperature rise gives."""
    given = compute_flow(Power(1, "kW"), flow * (1000 / heat.base) * rise.base, rise)
    for machine in _list_machines(plan):
        asked = machine.heat.flow_per_kw
        if asked is not None and given < asked:
            yield Finding(
                "cooling-flow",
                "warning",
                "facility.cooling.temperature_rise",
                f"a rise of {rise} gives {given} per kW, {asked - given} less than {machine.name} requires ({asked})",
                f"set a rise of at most {float(rise.base * given.base / asked.base):.3g} K",
            )


def cooling_cdu_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Heat to liquid without a product that transfers it."""
    loop, declared = _get_liquid_loop(plan), _get_declared_cooling(plan)
    if loop is None or declared is None or declared.kind == "rear-door":  # doors may be on the water of the building
        return
    if loop.cdu is None and declared.cdu is None and loop.heat.base > 0:
        yield Finding(
            "cooling-cdu-unknown",
            "note",
            "facility.cooling",
            f"unknown product of the coolant distribution units for {loop.heat}: their number is not planned, and the "
            "bill of materials does not list them",
            "set facility.cooling.cdu (see: supercloud catalog cdus), or suppress this if the building has them",
        )


def cooling_cdu(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Zones with too few distribution units for heat and flow after the tolerated number of failures."""
    loop, declared = _get_liquid_loop(plan), _get_declared_cooling(plan)
    if loop is None or loop.cdu is None or declared is None:
        return
    spares = declared.cdu_spares
    short = [(needed + spares - (needed + spare), index) for index, (needed, spare) in enumerate(loop.zone_cdus)]
    missing, worst = max(short, default=(0, 0))
    if missing <= 0:
        return
    needed, spare = loop.zone_cdus[worst]
    left = max(0, needed + spare - spares)
    lacking = _list_shortages(loop, loop.cdu, loop.zone_heats[worst], left)
    which = f"zone {worst + 1}" if len(loop.zone_cdus) > 1 else "the hall"
    yield Finding(
        "cooling-cdu",
        "error",
        "facility.cooling.cdus",
        f"{needed + spare} × {loop.cdu.name} in {which}: with {spares} failed, {left} of {needed} needed units remain"
        + (f" ({'; '.join(lacking)})" if lacking else ""),
        f"set cdus: {needed + spares}",
    )


def _list_shortages(loop: LiquidLoop, cdu: Cdu, heat: Power, count: int) -> list[str]:
    """What a number of distribution units lacks of the capacity and flow for the heat of a zone."""
    found = []
    if cdu.capacity and cdu.capacity * count < heat:
        found.append(f"{cdu.capacity * count} of {heat}, {heat - cdu.capacity * count} short")
    if cdu.flow and loop.flow:
        flow = Flow.from_base(loop.flow.base * heat.base / loop.heat.base)
        if cdu.flow * count < flow:
            found.append(f"{cdu.flow * count} of {flow}, {flow - cdu.flow * count} short")
    return found
