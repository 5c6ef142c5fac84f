"""A plan in a dozen aligned lines of text, for people: what was decided, one row a thing."""

from __future__ import annotations

from ...primitives.quantity import Carbon, Energy, Money, Power
from ..build.cabling.counts import count_cables
from ..build.facility.racking import switch_boxes
from ..model.plan import FabricPlan, FacilityPlan, Plan, PoolPlan, StoragePlan
from .cloud_summary import cloud_rows
from .open_points import describe_open

__all__ = ["rows"]

Row = tuple[str, str, str]


def rows(plan: Plan) -> list[Row]:
    """(what, name, text) for each thing of the plan."""
    where = {"onprem": "on-prem"}.get(plan.site.kind, plan.site.kind)
    title = {"slurm": "Slurm", "kubernetes": "Kubernetes"}[plan.scheduler.kind]
    result = [("cluster", plan.name, f"{where} at {plan.site.place}, {title} {plan.scheduler.version}")]
    result += [("pool", pool.name, _pool(pool)) for pool in plan.pools]
    result += [("fabric", fabric.name, _fabric(plan, fabric)) for fabric in plan.fabrics]
    for item in plan.storage:
        result.append(("storage", item.name, _storage(item)))
        result += [("servers", item.name, _servers(item))] if item.servers else []
    for tenant in plan.tenants:
        result.append(("tenant", tenant.name, f"share {tenant.fraction:.0%}, {tenant.priority} priority"))
    result += cloud_rows(plan)
    if plan.facility:
        result += _facility(plan, plan.facility)
    if text := describe_open(plan):
        result.append(("open", "", text))
    return result


def _pool(pool: PoolPlan) -> str:
    parts = [f"{pool.nodes} × {pool.machine.name}"]
    if pool.accelerator:
        parts.append(f"{pool.accelerators} × {pool.accelerator.name}")
    parts.append(str(pool.hosts))
    if pool.spares:
        parts.append(f"{pool.spares} spare")
    return ", ".join(parts)


def _fabric(plan: Plan, fabric: FabricPlan) -> str:
    if fabric.shape == "managed":
        return f"{fabric.kind}, {fabric.rails} links per node of {fabric.speed}, owned by the cloud"
    if not fabric.tiers:
        return f"{fabric.kind} {fabric.shape}, {fabric.cables.get('node_node', 0)} links of {fabric.speed}"
    switches = " + ".join(f"{tier.count} {tier.name}" for tier in fabric.tiers)
    chassis = _boxes(fabric)
    cables = count_cables(plan, [fabric]).text
    models = " / ".join(dict.fromkeys(tier.switch.name for tier in fabric.tiers))
    planes = f", {fabric.planes} planes" if fabric.planes > 1 else ""
    slower = "".join(f", {speed} to {pool}" for pool, speed in fabric.pool_speeds.items())
    return f"{fabric.kind} {fabric.shape}, {fabric.speed}{slower}, {switches}{chassis} ({models}), {cables}{planes}"


def _boxes(fabric: FabricPlan) -> str:
    """The boxes to buy, tier by tier, where a product holds several switches; empty elsewhere."""
    if all(tier.switch.chips == 1 for tier in fabric.tiers):
        return ""
    counts = [(switch_boxes(tier.count, tier.switch), tier.name) for tier in fabric.tiers]
    total = sum(count for count, _ in counts)
    return f" in {total} box{'es' * (total > 1)}: {' + '.join(f'{count} {name}' for count, name in counts)}"


def _storage(item: StoragePlan) -> str:
    parts = [item.kind, str(item.capacity or "")]
    if item.read or item.write:
        read, write = (rate.bytes_text if rate else "?" for rate in (item.read, item.write))
        parts.append(f"read {read}, write {write} ({item.basis})")
    if item.mount:
        parts.append(f"at {item.mount}")
    return ", ".join(part for part in parts if part)


def _servers(item: StoragePlan) -> str:
    parts = [f"{group.count} × {group.machine.name} ({group.role}), {group.hosts}" for group in item.servers]
    design = item.design
    if design:
        rates = [f"{side} {rate.bytes_text}" for side, rate in (("read", design.read), ("write", design.write)) if rate]
        given = f", give {', '.join(rates)}" if rates else ""
        parts.append(f"hold {design.usable}{given}{' by their ports' * (design.bound == 'ports')}")
    return ", ".join(parts)


def _total(value: Power | Energy | Money | Carbon, hall: FacilityPlan) -> str:
    """A sum over all consumers: a lower bound where the power of one is not known, and unknown where that of all is."""
    if not value:
        return "unknown"
    return f"{'at least ' if hall.unknown else ''}{value}"


def _consumers(plan: Plan, hall: FacilityPlan) -> list[tuple[str, Power]]:
    """The kinds of machines that are in the hall and what they draw; 0 where that is not known."""
    found = [("nodes", hall.nodes)]
    found += [("switches", hall.switches)] if any(fabric.tiers for fabric in plan.fabrics) else []
    found += [("servers", hall.servers)] if plan.servers or hall.service else []
    return found


def _facility(plan: Plan, hall: FacilityPlan) -> list[Row]:
    result = []
    for group in hall.racks:
        what = (
            f"{group.fullest_nodes} node{'s' * (group.fullest_nodes > 1)}"
            if group.pool
            else {"network": "switches", "storage": "servers"}[group.kind]
        )
        racks = f"{group.count} rack{'s' * (group.count > 1)} of {what}"
        rack = f" in {group.rack.name}" if group.rack else ""
        least = "at least " if group.power_is_least else ""
        power = f"{least}{group.fullest_power}{' each' * (group.count > 1)}" if group.power else "power unknown"
        result.append(("racks", group.pool or group.kind, f"{racks}{rack}, {power}"))
    over = f" of {hall.budget}" if hall.budget else ""
    parts = ", ".join(f"{what} {power or 'unknown'}" for what, power in _consumers(plan, hall))
    result.append(("power", "", f"{_total(hall.it, hall)}{over} ({parts}), {hall.cooling} cooling"))
    result += _power(hall) + _cooling(hall)
    year = [f"{_total(hall.energy_year, hall)} of IT energy" if hall.energy_year else "IT energy unknown"]
    reason = "" if hall.energy and hall.energy.price else " (no energy price)"
    year.append(_total(hall.cost_year, hall) if hall.cost_year else f"cost unknown{reason}")
    year.append(_total(hall.carbon_year, hall) if hall.carbon_year else "carbon unknown")
    result.append(("year", "", ", ".join(year) + ", at full power"))
    return result


def _power(hall: FacilityPlan) -> list[Row]:
    feeds = hall.power.feeds if hall.power else None
    if feeds is None or hall.power is None:
        return []
    result: list[Row] = []
    if feeds.after_loss:
        capacity = f" of {feeds.capacity}" if feeds.capacity else ""
        result.append(("feeds", "", f"{feeds.count}, {feeds.scheme}: {feeds.share} each, {feeds.after_loss}{capacity} "
                                    "after the loss of one"))  # fmt: skip
    if hall.power.losses:
        result.append(("meter", "", f"{hall.power.meter}: {hall.power.losses} lost on the way"))
    return result


def _cooling(hall: FacilityPlan) -> list[Row]:
    heat = hall.heat
    if heat is None:
        return []
    result: list[Row] = []
    if heat.loop:
        wet = heat.heat.liquid + heat.heat.door
        parts = [f"{'up to ' if heat.assumed else ''}{wet} in the liquid, {heat.heat.air} in the air"]
        if heat.loop.flow is not None:
            parts.append(f"{heat.loop.flow} at a rise of {heat.loop.step}")
        if heat.loop.cdu and heat.loop.units:
            zones = f" in {len(heat.loop.zones)} zones" if len(heat.loop.zones) > 1 else ""
            parts.append(f"{heat.loop.units} × {heat.loop.cdu.name}{zones}")
        result.append(("cooling", "", ", ".join(parts)))
    if heat.free_hours is not None and heat.outdoor_limit is not None:
        result.append(("outdoors", "", f"{heat.free_hours} of {heat.hours} hours cool without a chiller "
                                       f"(up to {heat.outdoor_limit})"))  # fmt: skip
    if heat.pue is not None and not heat.declared_pue:
        least = "at least " if heat.pue_is == "at least" else ""
        missing = f" (not known: {', '.join(heat.overhead.missing)})" if least else ""
        result.append(("pue", "", f"{least}{heat.pue:.3f}{missing}"))
    return result
