"""Totals of the hall: racks, power, cooling, annual energy. The arithmetic is in ``supercloud.facility``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from ....catalog import Catalog, Cdu, Machine
from ....errors import UnknownNameError
from ....facility import (
    EnergyShare,
    compute_annual_energy,
    compute_cue,
    compute_hourly_averages,
    compute_mix_carbon,
    compute_mix_price,
    parse_column,
)
from ....primitives.quantity import CarbonIntensity, Power, UnitPrice
from ....spec.facility import Facility
from ...model.hall import EnergyPlan, MachineGroup, ServiceGroup, SourcePlan, find_largest_power
from ...model.plan import FabricPlan, FacilityPlan, RackGroup, SitePlan
from ...model.problems import Problems
from ..inputs import BuildInputs, Equipment
from .cooling import HeatSources, build_cooling_plan
from .electricity import (
    build_circuits,
    build_power_plan,
    compute_carried_power,
    count_feeds,
    find_fact,
    find_power_shelf,
)
from .files import read_hourly_file
from .racking import (
    RackingContext,
    build_node_group,
    compute_node_power,
    count_switch_boxes,
    find_air_cooling_limit,
    get_switch_power,
    is_power_known,
    with_leaves,
)
from .shared_racks import build_shared_group, list_network_equipment, list_server_equipment

__all__ = ["build_facility_plan", "compute_node_power"]

_NO_POWER = Power(0, "W")


def build_facility_plan(inputs: BuildInputs, site: SitePlan, equipment: Equipment) -> FacilityPlan | None:
    """The hall of an on-prem site; None in a cloud."""
    spec, catalog, problems = inputs.spec, inputs.catalog, inputs.problems
    pools, fabrics, servers = equipment.pools, equipment.fabrics, equipment.servers
    if spec.site.kind != "onprem":
        return None
    facility = spec.facility or Facility()
    service = _build_service_groups(facility, catalog, problems)
    unknown: list[str] = []
    unsized: list[str] = []
    groups = _build_rack_groups(inputs, facility, equipment, service)
    drawn = {group.pool: group.node_power for group in groups if group.pool}
    nodes = _NO_POWER
    for pool in pools:
        least = compute_node_power(pool.machine, unknown)
        nodes += drawn.get(pool.name, least) * pool.nodes
        if pool.machine.body.units is None and pool.machine.rack is None and pool.name in drawn:
            _append_once(unsized, pool.machine.name)
    switches = _compute_switch_power(fabrics, unknown, unsized)
    others = _NO_POWER
    machines: tuple[MachineGroup, ...] = (*servers, *service)
    for group in machines:
        others += compute_node_power(group.machine, unknown) * group.count
        if group.machine.body.units is None:
            _append_once(unsized, group.machine.name)
    it = nodes + switches + others
    power = build_power_plan(facility, it, nodes, catalog, problems)
    energy = _build_energy_plan(facility, site, it, inputs.folder, problems)
    cooling = build_cooling_plan(inputs, facility, power, it, HeatSources(pools, fabrics, machines, groups))
    if cooling.pue and energy.carbon:
        cooling = replace(cooling, cue=compute_cue(cooling.pue, energy.carbon))
    if energy.sources and cooling.pue:
        energy = replace(
            energy, sources=tuple(replace(item, average_power=it * cooling.pue * item.share) for item in energy.sources)
        )
    year = compute_annual_energy(it, cooling.pue, energy.price, energy.carbon)
    return FacilityPlan(
        racks=groups,
        it_power=it,
        node_power=nodes,
        switch_power=switches,
        unknown_power=tuple(unknown),
        power_budget=facility.power.budget,
        annual_energy=year.energy,
        annual_cost=year.cost,
        annual_carbon=year.carbon,
        cooling=facility.cooling.kind,
        server_power=others,
        unknown_size=tuple(unsized),
        power_plan=power,
        cooling_plan=cooling,
        energy_plan=energy,
        service_groups=service,
    )


def _append_once(texts: list[str], text: str) -> None:
    if text not in texts:
        texts.append(text)


def _build_service_groups(facility: Facility, catalog: Catalog, problems: Problems) -> tuple[ServiceGroup, ...]:
    found = []
    for index, item in enumerate(facility.machines):
        try:
            found.append(ServiceGroup(item.name, catalog.get(Machine, item.machine), item.count))
        except UnknownNameError as error:
            problems.add_unknown_name(f"facility.machines[{index}].machine", error)
    return tuple(found)


def _compute_switch_power(fabrics: tuple[FabricPlan, ...], unknown: list[str], unsized: list[str]) -> Power:
    total = _NO_POWER
    for fabric in fabrics:
        for tier in fabric.tiers:
            if not is_power_known(tier.switch):
                _append_once(unknown, f"power of {tier.switch.name}")
            if tier.switch.units is None:
                _append_once(unsized, tier.switch.name)
            total += get_switch_power(tier.switch) * count_switch_boxes(tier.count, tier.switch)
    return total


def _build_rack_groups(
    inputs: BuildInputs, facility: Facility, equipment: Equipment, service: Sequence[MachineGroup]
) -> tuple[RackGroup, ...]:
    """Racks of each pool, then those of the network, then those of storage."""
    spec, catalog, problems = inputs.spec, inputs.catalog, inputs.problems
    pools, fabrics, servers = equipment.pools, equipment.fabrics, equipment.servers
    quiet = Problems()  # errors of the unit are reported by the cooling step
    cdu = find_fact(Cdu, facility.cooling.cdu, "", catalog, quiet)
    each = (facility.cooling.cdus or 1 + facility.cooling.cdu_spares) if cdu and cdu.form == "rack" else 0
    known = RackingContext(
        facility, catalog, problems, find_power_shelf(facility, catalog, problems), each * cdu.units if cdu else 0
    )
    declared = [item.name for item in spec.pools]
    groups: list[RackGroup] = []
    for pool in pools:
        index = declared.index(pool.name)
        own = spec.pools[index].rack
        choice, path = (own, f"pools[{index}].rack") if own else (facility.rack, "facility.rack")
        fed = build_circuits(choice.pdu, choice.pdus, path, facility, catalog, problems) if choice else None
        group = build_node_group(
            pool, choice, path, known, compute_carried_power(fed[0], facility.power.redundancy) if fed else None
        )
        if group is None:
            continue
        group = with_leaves(group, fabrics)
        if choice and fed and group.limited_by != "product":
            group = _with_circuits(group, choice.pdu, choice.pdus, path, facility, catalog)
        if each and cdu and group.heat.liquid:
            group = replace(group, cdus=each, cdu_units=cdu.units)
        groups.append(group)
    shared = facility.management
    kind = shared.type or (facility.rack.type if facility.rack else None)
    where = "facility.management.type" if shared.type else "facility.rack.type"
    rack = (
        RackingContext(facility, catalog, problems if shared.type else quiet).find_rack(kind, where) if kind else None
    )
    if rack is None or rack.complete:
        return tuple(groups)
    # switches and servers have no higher density than nodes: the hall's power and cooling allow no more; and with cold
    # plates, which they do not have, no higher density than air cooling allows
    densest = find_largest_power(group.power for group in groups) or None
    if facility.cooling.kind == "direct-liquid" and densest:
        densest = min(densest, find_air_cooling_limit(catalog) or densest)
    for what, runs, limit, count in (
        (
            "network",
            list_network_equipment(fabrics, groups) + list_server_equipment(service),
            shared.power or densest,
            shared.racks,
        ),
        ("storage", list_server_equipment(servers), densest, None),
    ):
        pdu, pdus = shared.pdu, shared.pdus
        if pdu and pdus is None:  # on two feeds, with at most the power of one of them in a rack
            pdus = min(2, count_feeds(facility.power))
        fed = build_circuits(pdu, pdus, "facility.management", facility, catalog, problems)
        carries = compute_carried_power(fed[0], facility.power.redundancy) if fed else None
        most = min((item for item in (limit, carries) if item), default=None)
        found = build_shared_group(what, runs, rack, most, known, count)
        if found:
            groups.append(replace(found, circuits=fed[0], pdu=fed[1]) if fed else found)
    return tuple(groups)


def _with_circuits(
    group: RackGroup, pdu: str | None, pdus: int | None, path: str, facility: Facility, catalog: Catalog
) -> RackGroup:
    """The same racks with the circuits of a full one."""
    fed = build_circuits(pdu, pdus, path, facility, catalog, Problems(), group.power)
    return replace(group, circuits=fed[0], pdu=fed[1]) if fed else group


def _build_energy_plan(
    facility: Facility, site: SitePlan, it_power: Power, folder: Path, problems: Problems
) -> EnergyPlan:
    """The energy mix of a year: the remainder of the sources comes from the grid."""
    supply = facility.energy
    hours = read_hourly_file(
        supply.carbon_hours,
        folder,
        "facility.energy.carbon_hours",
        lambda text: parse_column(text, "carbon", "gco2e_per_kwh", "carbon_intensity"),
        problems,
    )
    grid: CarbonIntensity | None = supply.carbon or (site.location.carbon if site.location else None)
    if hours and supply.carbon is None:
        grid = CarbonIntensity(sum(hours) / len(hours), "gCO2e/kWh")
    parts: list[tuple[str, str, Fraction, Power | None, UnitPrice | None, CarbonIntensity | None]] = []
    for item in supply.sources:
        own = item.kind == "grid"
        # average power: that of an intermittent source is below its rated power
        average = item.power * item.capacity_factor if item.power and item.capacity_factor else item.power
        parts.append(
            (
                item.name,
                item.kind,
                Fraction(repr(item.share)),
                average,
                item.price or (supply.price if own else None),
                item.carbon or (grid if own else None),
            )
        )
    left = 1 - sum((part[2] for part in parts), Fraction(0))
    if left > 0:
        parts.append(("grid", "grid", left, None, supply.price, grid))
    mix = [EnergyShare(share, price, carbon) for _, _, share, _, price, carbon in parts]
    return EnergyPlan(
        sources=tuple(
            SourcePlan(name, kind, float(share), it_power * share, limit, price, carbon)
            for name, kind, share, limit, price, carbon in parts
        )
        if supply.sources
        else (),
        price=compute_mix_price(mix),
        carbon=compute_mix_carbon(mix),
        carbon_by_hour=compute_hourly_averages(hours) if hours else (),
    )
