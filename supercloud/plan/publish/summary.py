"""A plan in a dozen aligned lines of text, for people: what was decided, one row per item."""

from __future__ import annotations

from ...primitives.quantity import Carbon, Energy, Money, Power
from ..build.cabling.counts import count_cables
from ..build.fabric.used_ports import format_ratio, list_used_ports
from ..build.facility.racking import count_switch_boxes
from ..model.plan import FabricPlan, FacilityPlan, Plan, PoolPlan, StoragePlan
from .cloud_summary import build_cloud_rows
from .open_points import describe_open_points

__all__ = ["build_rows"]

Row = tuple[str, str, str]


def build_rows(plan: Plan) -> list[Row]:
    """Rows (kind, name, text) of the plan."""
    where = {"onprem": "on-prem"}.get(plan.site.kind, plan.site.kind)
    result = [
        ("cluster", plan.name, f"{where} at {plan.site.location_name}, {plan.scheduler.title} {plan.scheduler.version}")
    ]
    result += [("pool", pool.name, _describe_pool(pool)) for pool in plan.pools]
    result += [("fabric", fabric.name, _describe_fabric(plan, fabric)) for fabric in plan.fabrics]
    for item in plan.storage:
        result.append(("storage", item.name, _describe_storage(item)))
        result += [("servers", item.name, _describe_servers(item))] if item.servers else []
    for tenant in plan.tenants:
        result.append(("tenant", tenant.name, f"share {tenant.fraction:.0%}, {tenant.priority} priority"))
    result += build_cloud_rows(plan)
    if plan.facility:
        result += _build_facility_rows(plan, plan.facility)
    if text := describe_open_points(plan):
        result.append(("open", "", text))
    return result


def _describe_pool(pool: PoolPlan) -> str:
    parts = [f"{pool.nodes} × {pool.machine.name}"]
    if pool.accelerator:
        parts.append(f"{pool.accelerators} × {pool.accelerator.name}")
    parts.append(str(pool.hosts))
    if pool.spares:
        parts.append(f"{pool.spares} spare")
    return ", ".join(parts)


def _describe_fabric(plan: Plan, fabric: FabricPlan) -> str:
    if fabric.shape == "managed":
        return f"{fabric.kind}, {_describe_node_links(fabric)}, owned by the cloud"
    if not fabric.tiers:
        return f"{fabric.kind} {fabric.shape}, {fabric.link_counts.get('node_node', 0)} links of {fabric.speed}"
    switches = " + ".join(f"{tier.count} {tier.name}" for tier in fabric.tiers)
    chassis = _describe_boxes(fabric)
    cables = count_cables(plan, [fabric]).description
    models = " / ".join(dict.fromkeys(tier.switch.name for tier in fabric.tiers))
    planes = f", {fabric.planes} planes" if fabric.planes > 1 else ""
    slower = "".join(f", {speed} to {pool}" for pool, speed in fabric.pool_speeds.items())
    built = f"{switches}{chassis} ({models}), {cables}{planes}{_describe_ratios(fabric)}"
    return f"{fabric.kind} {fabric.shape}, {fabric.speed}{slower}, {built}"


def _describe_node_links(fabric: FabricPlan) -> str:
    """The links of a node, of each pool where they differ."""
    if not fabric.pool_links and not fabric.pool_speeds:
        return f"{fabric.rails} links per node of {fabric.speed}"
    each = [f"{fabric.count_node_links(pool)} of {fabric.get_link_speed(pool)} in {pool}" for pool in fabric.pools]
    return f"links per node: {', '.join(each)}"


def _describe_ratios(fabric: FabricPlan) -> str:
    """The ports down per port up of each tier with uplinks, as built; else empty."""
    ratios = [f"{item.tier} {format_ratio(item.ratio)}" for item in list_used_ports(fabric)]
    return f", ports down:up {', '.join(ratios)}" if ratios else ""


def _describe_boxes(fabric: FabricPlan) -> str:
    """The chassis to buy, tier by tier, if a product contains several switches; else empty."""
    if all(tier.switch.chips == 1 for tier in fabric.tiers):
        return ""
    counts = [(count_switch_boxes(tier.count, tier.switch), tier.name) for tier in fabric.tiers]
    total = sum(count for count, _ in counts)
    return f" in {total} box{'es' * (total > 1)}: {' + '.join(f'{count} {name}' for count, name in counts)}"


def _describe_storage(storage: StoragePlan) -> str:
    parts = [storage.kind, str(storage.capacity or "")]
    if storage.read or storage.write:
        read, write = (rate.bytes_text if rate else "?" for rate in (storage.read, storage.write))
        parts.append(f"read {read}, write {write} ({storage.basis})")
    if storage.mount:
        parts.append(f"at {storage.mount}")
    return ", ".join(part for part in parts if part)


def _describe_servers(storage: StoragePlan) -> str:
    parts = [f"{group.count} × {group.machine.name} ({group.role}), {group.hosts}" for group in storage.servers]
    design = storage.design
    if design:
        rates = [f"{side} {rate.bytes_text}" for side, rate in (("read", design.read), ("write", design.write)) if rate]
        given = f", give {', '.join(rates)}" if rates else ""
        parts.append(f"hold {design.usable_capacity}{given}{' by their ports' * (design.throughput_basis == 'ports')}")
    return ", ".join(parts)


def _format_total(value: Power | Energy | Money | Carbon, hall: FacilityPlan) -> str:
    """Format a sum over all consumers: a lower bound if the power of one is unknown, unknown if all are."""
    if not value:
        return "unknown"
    return f"{'at least ' if hall.unknown_power else ''}{value}"


def _list_consumers(plan: Plan, hall: FacilityPlan) -> list[tuple[str, Power]]:
    """The kinds of machines in the hall and their power; 0 if unknown."""
    found = [("nodes", hall.node_power)]
    found += [("switches", hall.switch_power)] if any(fabric.tiers for fabric in plan.fabrics) else []
    found += [("servers", hall.server_power)] if plan.servers or hall.service_groups else []
    return found


def _describe_year(hall: FacilityPlan) -> str:
    """Energy, cost and carbon of a year; what depends on unknown power is unknown."""
    year = [f"{_format_total(hall.annual_energy, hall)} of IT energy" if hall.annual_energy else "IT energy unknown"]
    reason = "" if hall.energy_plan and hall.energy_plan.price else " (no energy price)"
    cost, carbon = (hall.annual_cost, hall.annual_carbon) if hall.annual_energy else (None, None)
    year.append(_format_total(cost, hall) if cost is not None else f"cost unknown{reason}")
    year.append(_format_total(carbon, hall) if carbon is not None else "carbon unknown")
    return ", ".join(year) + ", at full power"


def _build_facility_rows(plan: Plan, hall: FacilityPlan) -> list[Row]:
    result = []
    for group in hall.racks:
        what = (
            f"{group.fullest_nodes} node{'s' * (group.fullest_nodes > 1)}"
            if group.pool
            else {"network": "switches", "storage": "servers"}[group.kind]
        )
        racks = f"{group.count} rack{'s' * (group.count > 1)} of {what}"
        rack = f" in {group.rack.name}" if group.rack else ""
        is_partial = bool(group.pool and plan.get_pool(group.pool).nodes % group.fullest_nodes)
        bound = "at least " if group.is_power_lower_bound else "at most " if is_partial and group.count > 1 else ""
        power = f"{bound}{group.fullest_power}{' each' * (group.count > 1)}" if group.power else "power unknown"
        result.append(("racks", group.pool or group.kind, f"{racks}{rack}, {power}"))
    over = f" of {hall.power_budget}" if hall.power_budget else ""
    parts = ", ".join(f"{what} {power or 'unknown'}" for what, power in _list_consumers(plan, hall))
    result.append(("power", "", f"{_format_total(hall.it_power, hall)}{over} ({parts}), {hall.cooling} cooling"))
    result += _build_power_rows(hall) + _build_cooling_rows(hall)
    result.append(("year", "", _describe_year(hall)))
    return result


def _build_power_rows(hall: FacilityPlan) -> list[Row]:
    feeds = hall.power_plan.feeds if hall.power_plan else None
    if feeds is None or hall.power_plan is None:
        return []
    result: list[Row] = []
    if feeds.load_after_loss:
        capacity = f" of {feeds.capacity}" if feeds.capacity else ""
        result.append(
            (
                "feeds",
                "",
                f"{feeds.count}, {feeds.scheme}: {feeds.feed_load} each, {feeds.load_after_loss}{capacity} "
                "after the loss of one",
            )
        )
    if hall.power_plan.total_loss:
        result.append(("meter", "", f"{hall.power_plan.meter_power}: {hall.power_plan.total_loss} distribution losses"))
    return result


def _build_cooling_rows(hall: FacilityPlan) -> list[Row]:
    heat = hall.cooling_plan
    if heat is None:
        return []
    result: list[Row] = []
    if heat.loop:
        wet = heat.heat.liquid + heat.heat.door
        most, least = ("up to ", "at least ") if heat.assumed_machines else ("", "")
        parts = [f"{most}{wet} to liquid, {least}{heat.heat.air} to air"]
        if heat.loop.flow is not None:
            parts.append(f"{heat.loop.flow} at a rise of {heat.loop.temperature_rise}")
        if heat.loop.cdu and heat.loop.cdu_count:
            zones = f" in {len(heat.loop.zone_cdus)} zones" if len(heat.loop.zone_cdus) > 1 else ""
            parts.append(f"{heat.loop.cdu_count} × {heat.loop.cdu.name}{zones}")
        result.append(("cooling", "", ", ".join(parts)))
    if heat.free_hours is not None and heat.outdoor_limit is not None:
        result.append(
            (
                "outdoors",
                "",
                f"{heat.free_hours} of {heat.weather_hours} hours cool without a chiller (up to {heat.outdoor_limit})",
            )
        )
    if heat.pue is not None and not heat.is_pue_declared:
        least = "at least " if heat.pue_basis == "at least" else ""
        missing = f" (unknown: {', '.join(heat.overhead.missing)})" if least else ""
        result.append(("pue", "", f"{least}{heat.pue:.3f}{missing}"))
    return result
