"""Cooling of the hall: heat by cooling path, the loop and its zones, free-cooling hours, PUE, WUE, CUE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from ....catalog import Cdu, Coolant, HeatRejection
from ....facility import (
    Heat,
    LiquidLoop,
    SiteOverhead,
    Weather,
    compute_chiller_power,
    compute_flow,
    compute_outdoor_limit,
    compute_wue,
    count_cdus,
    count_free_hours,
    parse_weather,
)
from ....primitives.quantity import Flow, Power, Temperature, TemperatureDifference
from ....spec.facility import Facility
from ...model.hall import CoolingPlan, MachineGroup, PowerPlan
from ...model.plan import FabricPlan, PoolPlan, RackGroup
from ...model.problems import Problems
from ..inputs import BuildInputs
from .electricity import find_fact
from .files import read_hourly_file
from .racking import compute_machine_heat, compute_node_power, compute_switch_heat, count_switch_boxes, get_switch_power

__all__ = ["HeatSources", "build_cooling_plan", "compute_heat"]

_NO_POWER = Power(0, "W")


@dataclass(frozen=True)
class HeatSources:
    """All devices of the hall that produce heat, and their racks."""

    pools: Sequence[PoolPlan]
    fabrics: Sequence[FabricPlan]
    servers: Sequence[MachineGroup]
    """Storage servers and service machines."""
    racks: Sequence[RackGroup]


@dataclass(frozen=True)
class _HeatRemoval:
    """The heat, and the devices and conditions by which it leaves the site."""

    heat: Heat
    loop: LiquidLoop | None
    rejection: HeatRejection | None
    chiller: HeatRejection | None
    weather: Weather | None
    free_hours: int | None
    """Hours of the weather in which no chiller is needed; None: unknown."""


def compute_heat(sources: HeatSources, cooling: str) -> tuple[Heat, tuple[str, ...]]:
    """Heat of all devices, and the machines whose split is assumed. Its total is the power of all devices.

    ``cooling`` is the method of the hall, for devices outside of racks with their own method. The losses of power
    shelves are heat in the air, except with rear doors or immersion, which take all heat.
    """
    heat, assumed = Heat(), []
    racks = {group.pool: group for group in sources.racks if group.pool}
    tops = {name: group.cooling for group in racks.values() for name in group.leaf_fabrics}
    nodes = [(item.machine, item.nodes, racks.get(item.name)) for item in sources.pools]
    for machine, count, rack in [*nodes, *((item.machine, item.count, None) for item in sources.servers)]:
        used = compute_node_power(machine)
        drawn, kind = (rack.node_power, rack.cooling) if rack else (used, cooling)
        one, known = compute_machine_heat(machine, used if kind == "direct-liquid" else drawn, kind)
        heat += (one + Heat(air=drawn - one.total)) * count
        if not known and machine.name not in assumed:
            assumed.append(machine.name)
    for fabric in sources.fabrics:
        for tier in fabric.tiers:
            boxes = count_switch_boxes(tier.count, tier.switch)
            kind = tops.get(fabric.name, cooling) if tier.name == "leaf" else cooling
            heat += compute_switch_heat(tier.switch, get_switch_power(tier.switch), kind) * boxes
    return heat, tuple(assumed)


def build_cooling_plan(
    inputs: BuildInputs, facility: Facility, power_plan: PowerPlan, it_power: Power, sources: HeatSources
) -> CoolingPlan:
    """Heat removal, with the known values; CUE is not among them, as it depends on the energy sources."""
    catalog, folder, problems, pools = inputs.catalog, inputs.folder, inputs.problems, sources.pools
    declared = facility.cooling
    heat, assumed = compute_heat(sources, declared.kind)
    coolant = find_fact(Coolant, declared.coolant, "facility.cooling.coolant", catalog, problems)
    cdu = find_fact(Cdu, declared.cdu, "facility.cooling.cdu", catalog, problems)
    path = "facility.cooling.rejection"
    rejection = find_fact(HeatRejection, declared.rejection, path, catalog, problems)
    path = "facility.cooling.chiller"
    chiller = find_fact(HeatRejection, declared.chiller, path, catalog, problems)
    weather = read_hourly_file(declared.weather, folder, "facility.cooling.weather", parse_weather, problems)
    loop = _build_loop(facility, heat, coolant, cdu, sources)
    limit = None
    if declared.supply is not None and rejection:
        limit = compute_outdoor_limit(declared.supply, rejection, cdu if loop else None)
    hours = _count_free_cooling_hours(limit, rejection, weather, problems)
    removal = _HeatRemoval(heat, loop, rejection, chiller, weather, hours)
    overhead = _build_overhead(facility, it_power, power_plan, removal)
    known = overhead.conversion_loss or overhead.cooling_power
    pue = facility.pue if facility.pue is not None else overhead.pue if known else None
    wet = rejection if rejection and rejection.reference == "wet-bulb" else None
    wue = compute_wue(heat.total, it_power, wet) if wet else 0.0 if rejection and rejection.reference else None
    return CoolingPlan(
        heat=heat,
        assumed_machines=assumed,
        loop=loop,
        airflow=_compute_airflow(pools),
        rejection=rejection,
        outdoor_limit=limit,
        weather_hours=weather.hours if weather else None,
        free_hours=hours,
        overhead=overhead,
        pue=pue,
        is_pue_declared=facility.pue is not None,
        wue=wue,
        cue=None,
    )


def _compute_airflow(pools: Sequence[PoolPlan]) -> Flow | None:
    """Airflow through all nodes, None if that of any machine is unknown."""
    total = Flow(0, "L/min")
    for pool in pools:
        if pool.machine.heat.airflow is None:
            return None
        total += pool.machine.heat.airflow * pool.nodes
    return total if pools else None


# -- the loop ---------------------------------------------------------------------------------------------------------


def _build_loop(
    facility: Facility, heat: Heat, coolant: Coolant | None, cdu: Cdu | None, sources: HeatSources
) -> LiquidLoop | None:
    wet = heat.liquid + heat.door
    if not wet or coolant is None:
        return None
    rise = _compute_temperature_rise(facility, coolant, sources.pools)
    declared = facility.cooling
    flow = compute_flow(wet, coolant.flow, rise) if rise else None
    size = declared.zone if cdu is None or cdu.form == "row" else 1
    zones, heats = [], []
    if cdu and rise:
        for liquid in compute_zone_heats(sources.racks, sources.pools, size):
            needed = count_cdus(liquid, compute_flow(liquid, coolant.flow, rise), cdu)
            if needed:
                held = declared.cdus if declared.cdus else needed + declared.cdu_spares
                zones.append((needed, held - needed))
                heats.append(liquid)
    return LiquidLoop(wet, flow, declared.supply, rise, cdu, tuple(zones), tuple(heats), size)


def _compute_temperature_rise(
    facility: Facility, coolant: Coolant, pools: Sequence[PoolPlan]
) -> TemperatureDifference | None:
    """Temperature rise of the loop: declared; else at the flow that the machines require; else the coolant's design
    value.
    """
    declared = facility.cooling.temperature_rise
    if declared is not None:
        return declared if declared.base > 0 else None
    asked = [pool.machine.heat.flow_per_kw for pool in pools if pool.machine.heat.flow_per_kw]
    if asked:
        return TemperatureDifference.from_base(coolant.flow.base / max(flow.base for flow in asked))
    return coolant.usual_rise


def compute_zone_heats(groups: Sequence[RackGroup], pools: Sequence[PoolPlan], zone: int | None) -> list[Power]:
    """Heat in the liquid of each zone: a number of racks in order, all racks in one zone if ``zone`` is None.

    The last rack of a pool counts with its actual content.
    """
    nodes = {pool.name: pool.nodes for pool in pools}
    runs = [
        (
            group.count,
            (group.heat.liquid + group.heat.door).base,
            _compute_last_rack_fill(group, nodes.get(group.pool, 0)),
        )
        for group in groups
        if group.heat.liquid or group.heat.door
    ]
    total = sum(count for count, _, _ in runs)
    size = zone or max(total, 1)
    sums = [Fraction(0)] * -(-total // size)
    at = 0
    for count, full, last in runs:
        end = at + count
        for index in range(at // size, -(-end // size)):
            racks = min(end, (index + 1) * size) - max(at, index * size)
            sums[index] += full * racks
        sums[(end - 1) // size] -= full * (1 - last)
        at = end
    return [Power.from_base(value) for value in sums]


def _compute_last_rack_fill(group: RackGroup, nodes: int) -> Fraction:
    """Fill level of the last rack of a group."""
    if not group.nodes_per_rack or not nodes:
        return Fraction(1)
    return Fraction(nodes - (group.count - 1) * group.nodes_per_rack, group.nodes_per_rack)


# -- weather and efficiency -------------------------------------------------------------------------------------------


def _count_free_cooling_hours(
    outdoor_limit: Temperature | None, rejection: HeatRejection | None, weather: Weather | None, problems: Problems
) -> int | None:
    if outdoor_limit is None or weather is None or rejection is None:
        return None
    if rejection.reference == "wet-bulb" and weather.wet_bulb is None:
        problems.add_error(
            "facility-file",
            "facility.cooling.weather",
            f"a {rejection.name} cools by wet bulb, but the file has neither wet_bulb nor relative_humidity",
            "add one of the two columns, or an EPW file",
        )
        return None
    hours = weather.wet_bulb if rejection.reference == "wet-bulb" and weather.wet_bulb is not None else weather.dry_bulb
    return count_free_hours(hours, float(outdoor_limit.base))


def _build_overhead(facility: Facility, it_power: Power, power_plan: PowerPlan, removal: _HeatRemoval) -> SiteOverhead:
    parts = {
        "UPS": None if power_plan.ups is None else _NO_POWER,
        "distribution": None if facility.power.distribution is None else _NO_POWER,
        "fans and pumps of the building": facility.cooling.fans,
        "pumps of the loop": _compute_pump_power(removal.loop),
        "chiller": _compute_average_chiller_power(removal),
    }
    cooling = sum((power for power in parts.values() if power is not None), _NO_POWER)
    missing = tuple(name for name, power in parts.items() if power is None)
    return SiteOverhead(it_power, power_plan.total_loss, cooling, missing)


def _compute_pump_power(loop: LiquidLoop | None) -> Power | None:
    """Power of the distribution units' pumps; None if unknown."""
    if loop is None:
        return _NO_POWER
    return loop.cdu.power * loop.cdu_count if loop.cdu and loop.cdu.power else None


def _compute_average_chiller_power(removal: _HeatRemoval) -> Power | None:
    """Power of chillers, as an average over the weather; None if unknown. Without free cooling they always run."""
    rejection, weather, free_hours = removal.rejection, removal.weather, removal.free_hours
    cop = next((device.cop for device in (removal.chiller, rejection) if device and device.cop), None)
    if cop and (rejection is None or rejection.approach_to is None):
        return compute_chiller_power(removal.heat.total, cop, 1.0, 1.0)
    if weather is None or free_hours is None:
        return None
    if cop:
        return compute_chiller_power(removal.heat.total, cop, float(weather.hours - free_hours), weather.hours)
    return None if free_hours < weather.hours else _NO_POWER
