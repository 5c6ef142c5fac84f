"""The hall in numbers: racks, power, a year of energy. The arithmetic is in ``supercloud.facility``."""

from __future__ import annotations

from math import ceil

from ..catalog import Catalog, Machine, Rack
from ..errors import UnknownName
from ..facility import fit, year_of
from ..primitives.quantity import Power
from ..spec import ClusterSpec
from ..spec.facility import RackChoice
from .model import FabricPlan, FacilityPlan, PoolPlan, RackGroup, SitePlan
from .problems import Problems

__all__ = ["facility_of"]

_NONE = Power(0, "W")


def facility_of(
    spec: ClusterSpec,
    site: SitePlan,
    pools: tuple[PoolPlan, ...],
    fabrics: tuple[FabricPlan, ...],
    catalog: Catalog,
    problems: Problems,
) -> FacilityPlan | None:
    """The hall of an on-prem site; None on a cloud."""
    if spec.site.kind != "onprem":
        return None
    unknown: list[str] = []
    groups: list[RackGroup] = []
    nodes = _NONE
    for pool in pools:
        nodes += node_power(pool.machine, unknown) * pool.nodes
        index = [item.name for item in spec.pools].index(pool.name)
        declared = spec.pools[index].rack
        choice = declared or (spec.facility.rack if spec.facility else None)
        path = f"pools[{index}].rack" if declared else "facility.rack"
        group = _racks(pool, choice, path, catalog, problems)
        if group:
            groups.append(group)
    switches = _NONE
    units = 0
    for fabric in fabrics:
        for tier in fabric.tiers:
            boxes = -(-tier.count // tier.switch.chips)
            power = tier.switch.power_max or tier.switch.power_typical
            if power is None:
                _once(unknown, f"power of {tier.switch.name}")
            switches += (power or _NONE) * boxes
            units += (tier.switch.units or 1) * boxes
    shared = spec.facility.rack if spec.facility else None
    rack = _rack(shared.type, "facility.rack.type", catalog, Problems()) if shared else None
    if rack and units:
        # switches stand no denser than nodes: the hall's power and cooling reach no further
        densest = max((group.power for group in groups), default=_NONE)
        count = max(-(-units // rack.units), ceil(switches / densest) if densest else 1)
        groups.append(RackGroup("", rack, count, 0, switches / count, -(-units // count), "units"))
    facility = spec.facility
    location = site.location
    carbon = (facility.energy.carbon if facility else None) or (location.carbon if location else None)
    year = year_of(
        nodes + switches, facility.pue if facility else None, facility.energy.price if facility else None, carbon
    )
    return FacilityPlan(
        racks=tuple(groups),
        it=nodes + switches,
        nodes=nodes,
        switches=switches,
        unknown=tuple(unknown),
        budget=facility.power.budget if facility else None,
        energy_year=year.energy,
        cost_year=year.cost,
        carbon_year=year.carbon,
        cooling=facility.cooling.kind if facility else "air",
    )


def node_power(machine: Machine, unknown: list[str] | None = None) -> Power:
    """Highest input power of one node: its own, its part of the rack product, or the least it may be."""
    if machine.power:
        return machine.power
    if machine.rack and machine.rack.power:
        return Power.of_base(machine.rack.power.base / machine.rack.nodes)
    if unknown is not None:
        how = f", counted as {machine.power_floor}: its accelerators alone" if machine.power_floor else ", counted as 0"
        _once(unknown, f"power of {machine.name}{how}")
    return machine.power_floor or _NONE


def _once(texts: list[str], text: str) -> None:
    if text not in texts:
        texts.append(text)


def _rack(name: str, path: str, catalog: Catalog, problems: Problems) -> Rack | None:
    try:
        return catalog.rack(name)
    except UnknownName as error:
        problems.unknown(path, error)
        return None


def _racks(
    pool: PoolPlan, choice: RackChoice | None, path: str, catalog: Catalog, problems: Problems
) -> RackGroup | None:
    """Racks of one pool: whole rack products, the number per rack that was declared, or as many as fit."""
    machine = pool.machine
    power = node_power(machine)
    if machine.rack:
        per_rack = machine.rack.nodes
        full = machine.rack.power or power * per_rack
        return RackGroup(pool.name, None, -(-pool.nodes // per_rack), per_rack, full, 0, "product")
    if choice is None:
        return None
    rack = _rack(choice.type, f"{path}.type", catalog, problems)
    if rack is None:
        return None
    limit = choice.power or rack.max_power
    most = fit(
        units=machine.body.units,
        power=power or None,
        weight=machine.body.weight,
        rack_units=rack.units,
        rack_power=limit,
        rack_load=rack.max_load,
    )
    if choice.nodes is None and (most is None or most.count < 1):
        reason = (
            f"not one {machine.name} fits a {rack.name} by {most.limited_by}"
            if most
            else (f"size and power of {machine.name} are not known, so racks cannot be filled")
        )
        problems.error("rack-fit", path, reason, "set facility.rack.nodes, or take another rack")
        return None
    per_rack = choice.nodes or (most.count if most else 1)
    if most and per_rack > most.count:
        problems.error(
            "rack-fit",
            f"{path}.nodes",
            f"{per_rack} × {machine.name} in a {rack.name}: only {most.count} fit by {most.limited_by}",
            f"set nodes: {most.count}, or take another rack",
        )
    return RackGroup(
        pool.name,
        rack,
        -(-pool.nodes // per_rack),
        per_rack,
        power * per_rack,
        (machine.body.units or 0) * per_rack,
        "declared" if choice.nodes else most.limited_by if most else "",
    )
