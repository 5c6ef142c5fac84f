"""A plan in a dozen aligned lines of text, for people: what was decided, one row a thing."""

from __future__ import annotations

from .model import FabricPlan, FacilityPlan, Plan, PoolPlan, StoragePlan

__all__ = ["rows"]

Row = tuple[str, str, str]


def rows(plan: Plan) -> list[Row]:
    """(what, name, text) for each thing of the plan."""
    where = {"onprem": "on-prem"}.get(plan.site.kind, plan.site.kind)
    title = {"slurm": "Slurm", "kubernetes": "Kubernetes"}[plan.scheduler.kind]
    result = [("cluster", plan.name, f"{where} at {plan.site.place}, {title} {plan.scheduler.version}")]
    result += [("pool", pool.name, _pool(pool)) for pool in plan.pools]
    result += [("fabric", fabric.name, _fabric(fabric)) for fabric in plan.fabrics]
    result += [("storage", item.name, _storage(item)) for item in plan.storage]
    for tenant in plan.tenants:
        result.append(("tenant", tenant.name, f"share {tenant.fraction:.0%}, {tenant.priority} priority"))
    if plan.facility:
        result += _facility(plan.facility)
    return result


def _pool(pool: PoolPlan) -> str:
    parts = [f"{pool.nodes} × {pool.machine.name}"]
    if pool.accelerator:
        parts.append(f"{pool.accelerators} × {pool.accelerator.name}")
    parts.append(str(pool.hosts))
    if pool.spares:
        parts.append(f"{pool.spares} spare")
    return ", ".join(parts)


def _fabric(fabric: FabricPlan) -> str:
    if fabric.shape == "managed":
        return f"{fabric.kind}, {fabric.rails} links per node of {fabric.speed}, owned by the cloud"
    if not fabric.tiers:
        return f"{fabric.kind} {fabric.shape}, {fabric.cables.get('node_node', 0)} links of {fabric.speed}"
    switches = " + ".join(f"{tier.count} {tier.name}" for tier in fabric.tiers)
    cables = sum(fabric.cables.values())
    models = " / ".join(dict.fromkeys(tier.switch.name for tier in fabric.tiers))
    planes = f", {fabric.planes} planes" if fabric.planes > 1 else ""
    return f"{fabric.kind} {fabric.shape}, {fabric.speed}, {switches} ({models}), {cables} cables{planes}"


def _storage(item: StoragePlan) -> str:
    parts = [item.kind, str(item.capacity or "")]
    if item.read or item.write:
        read, write = (rate.bytes_text if rate else "?" for rate in (item.read, item.write))
        parts.append(f"read {read}, write {write} ({item.basis})")
    if item.mount:
        parts.append(f"at {item.mount}")
    return ", ".join(part for part in parts if part)


def _facility(hall: FacilityPlan) -> list[Row]:
    result = []
    for group in hall.racks:
        what = f"{group.nodes_per_rack} nodes" if group.pool else "switches"
        racks = f"{group.count} rack{'s' * (group.count > 1)} of {what}"
        rack = f" in {group.rack.name}" if group.rack else ""
        power = f"{group.power} each" if group.power else "power unknown"
        result.append(("racks", group.pool or "network", f"{racks}{rack}, {power}"))
    over = f" of {hall.budget}" if hall.budget else ""
    result.append(
        (
            "power",
            "",
            f"{hall.it}{over} (nodes {hall.nodes}, switches {hall.switches or 'unknown'}), {hall.cooling} cooling",
        )
    )
    year = [f"{hall.energy_year} of IT energy"]
    year.append(str(hall.cost_year) if hall.cost_year else "cost unknown (no energy price)")
    year.append(str(hall.carbon_year) if hall.carbon_year else "carbon unknown")
    result.append(("year", "", ", ".join(year) + ", at full power"))
    return result
