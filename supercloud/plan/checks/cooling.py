"""Checks of cooling."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ...catalog import Catalog, CoolingMethod, Machine
from ...errors import Finding, Level
from ...primitives.quantity import Power
from ..build.facility.racking import compute_node_power, find_air_cooling_limit
from ..model.plan import Plan, PoolPlan, RackGroup
from .cooling_supply import (
    cooling_air_class,
    cooling_cdu,
    cooling_cdu_unknown,
    cooling_class_unknown,
    cooling_flow,
    cooling_supply,
    find_cooling_methods,
)
from .rack_suggestions import suggest_node_count

__all__ = ["CHECKS"]

_MEDIA = {"air": {"air"}, "rear-door": {"air"}, "direct-liquid": {"direct-liquid"}, "immersion": {"immersion"}}


def _needs_liquid(machine: Machine) -> bool:
    """Whether part of its heat can be removed by liquid only: air removes the rest, not all of it."""
    heat = machine.heat
    both = {"air", "direct-liquid"} <= set(heat.methods)
    return "air" not in heat.methods or (both and (bool(heat.liquid_share) or machine.rack is not None))


def cooling_method(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines that the cooling method of their racks cannot cool."""
    kinds = find_cooling_methods(plan)
    for index, pool in enumerate(plan.pools if plan.facility else ()):
        kind, methods = kinds[pool.name], set(pool.machine.heat.methods)
        liquid = methods and _needs_liquid(pool.machine)
        if not methods or (methods & _MEDIA[kind] and (not liquid or kind == "direct-liquid")):
            continue
        made_for = " or ".join(sorted(methods - {"air"} if liquid else methods))
        # Any hall has air, not every hall has liquid; and if no cooling is declared, nothing contradicts liquid yet.
        is_declared = _is_cooling_declared(plan, pool.name)
        level: Level = "error" if liquid and is_declared else "warning"
        mixed = len(set(kinds.values())) > 1 or len(plan.pools) > 1
        where = f"pools[{index}].rack.cooling" if mixed else "facility.cooling.kind"
        yield Finding(
            "cooling-method",
            level,
            f"pools[{index}].machine",
            f"{pool.machine.name} requires {made_for} cooling, but its racks are cooled by {kind}"
            + (_describe_liquid_heat(pool) if is_declared else ", the default"),
            f"set {where}: {made_for}, or use another machine",
        )


def _describe_liquid_heat(pool: PoolPlan) -> str:
    """The heat of a pool that is not removed without liquid; empty if the pool needs none, or if it is unknown."""
    heat, part = compute_node_power(pool.machine), pool.machine.heat.liquid_share
    if not heat or not part or not _needs_liquid(pool.machine):
        return ""
    return f": {Power.from_base(heat.base * pool.nodes * Fraction(repr(part)))} cannot be removed"


def _is_cooling_declared(plan: Plan, pool: str) -> bool:
    """Whether the spec declares the cooling of a pool's racks."""
    facility = plan.spec.facility
    own = next((item.rack for item in plan.spec.pools if item.name == pool), None)
    choice = own or (facility.rack if facility else None)
    return bool(choice and choice.cooling) or bool(facility and "kind" in facility.cooling.model_fields_set)


def cooling_density(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks with more power than their cooling method can remove: the fullest rack of each method."""
    methods = list(catalog.iter_entries(CoolingMethod))
    for kind, group in _select_fullest_racks(plan).items():
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
            (fewer or "put fewer nodes into a rack") + (f", or use {' or '.join(stronger)}" if stronger else ""),
        )


def _select_fullest_racks(plan: Plan) -> dict[str, RackGroup]:
    """Cooling method -> the racks with the most power."""
    fullest: dict[str, RackGroup] = {}
    for group in plan.facility.racks if plan.facility else ():
        if group.cooling not in fullest or group.fullest_power > fullest[group.cooling].fullest_power:
            fullest[group.cooling] = group
    return fullest


def cooling_residual_air(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks with cold plates whose remaining heat exceeds what the air of the hall can remove."""
    reach = find_air_cooling_limit(catalog)
    for group in plan.facility.racks if plan.facility and reach else ():
        air = group.fullest_heat.air
        if group.cooling == "direct-liquid" and reach and air > reach:
            yield Finding(
                "cooling-residual-air",
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
    cooling_cdu_unknown,
    cooling_class_unknown,
    cooling_density,
    cooling_flow,
    cooling_limit_unknown,
    cooling_method,
    cooling_liquid_share_unknown,
    cooling_supply,
)
