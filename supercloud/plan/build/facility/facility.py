"""The hall in numbers: racks, power, cooling, a year of energy. The arithmetic is in ``supercloud.facility``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

from ....catalog import Catalog, Cdu
from ....errors import UnknownName
from ....facility import Part, by_hour_of_day, column_of, mixed_carbon, mixed_price, year_of
from ....primitives.quantity import CarbonIntensity, Power, UnitPrice
from ....spec import ClusterSpec
from ....spec.facility import Facility
from ...model.hall import EnergyPlan, MachineGroup, ServiceGroup, SourcePlan, largest
from ...model.plan import FabricPlan, FacilityPlan, PoolPlan, RackGroup, SitePlan
from ..problems import Problems
from .cooling import cooling_of
from .electricity import carried, circuits_of, feeds_of, named, power_of, shelf_of
from .files import read
from .racking import Known, air_reach, is_power_known, node_group, node_power, switch_boxes, switch_power, with_leaves
from .shared_racks import network_runs, server_runs, shared_group

__all__ = ["facility_of", "node_power"]

_NONE = Power(0, "W")


def facility_of(
    spec: ClusterSpec,
    site: SitePlan,
    pools: tuple[PoolPlan, ...],
    fabrics: tuple[FabricPlan, ...],
    catalog: Catalog,
    problems: Problems,
    servers: Sequence[MachineGroup] = (),
    folder: Path = Path(),
) -> FacilityPlan | None:
    """The hall of an on-prem site; None on a cloud. ``folder`` is where hourly files are looked for."""
    if spec.site.kind != "onprem":
        return None
    facility = spec.facility or Facility()
    service = _service(facility, catalog, problems)
    unknown: list[str] = []
    unsized: list[str] = []
    groups = _groups(spec, facility, pools, fabrics, servers, service, catalog, problems)
    drawn = {group.pool: group.node for group in groups if group.pool}
    nodes = _NONE
    for pool in pools:
        least = node_power(pool.machine, unknown)
        nodes += drawn.get(pool.name, least) * pool.nodes
        if pool.machine.body.units is None and pool.machine.rack is None and pool.name in drawn:
            _once(unsized, pool.machine.name)
    switches = _switches(fabrics, unknown, unsized)
    others = _NONE
    for group in (*servers, *service):
        others += node_power(group.machine, unknown) * group.count
        if group.machine.body.units is None:
            _once(unsized, group.machine.name)
    it = nodes + switches + others
    power = power_of(facility, it, nodes, catalog, problems)
    energy = _energy(facility, site, it, folder, problems)
    cooling = cooling_of(facility, it, power, pools, fabrics, (*servers, *service), groups, energy.carbon, folder,
                         catalog, problems)  # fmt: skip
    if energy.sources and cooling.pue:
        energy = replace(energy, sources=tuple(replace(item, average=it * cooling.pue * item.share)
                                               for item in energy.sources))  # fmt: skip
    year = year_of(it, cooling.pue, energy.price, energy.carbon)
    return FacilityPlan(
        racks=groups,
        it=it,
        nodes=nodes,
        switches=switches,
        unknown=tuple(unknown),
        budget=facility.power.budget,
        energy_year=year.energy,
        cost_year=year.cost,
        carbon_year=year.carbon,
        cooling=facility.cooling.kind,
        servers=others,
        unsized=tuple(unsized),
        power=power,
        heat=cooling,
        energy=energy,
        service=service,
    )


def _once(texts: list[str], text: str) -> None:
    if text not in texts:
        texts.append(text)


def _service(facility: Facility, catalog: Catalog, problems: Problems) -> tuple[ServiceGroup, ...]:
    found = []
    for index, item in enumerate(facility.machines):
        try:
            found.append(ServiceGroup(item.name, catalog.machine(item.machine), item.count))
        except UnknownName as error:
            problems.unknown(f"facility.machines[{index}].machine", error)
    return tuple(found)


def _switches(fabrics: tuple[FabricPlan, ...], unknown: list[str], unsized: list[str]) -> Power:
    total = _NONE
    for fabric in fabrics:
        for tier in fabric.tiers:
            if not is_power_known(tier.switch):
                _once(unknown, f"power of {tier.switch.name}")
            if tier.switch.units is None:
                _once(unsized, tier.switch.name)
            total += switch_power(tier.switch) * switch_boxes(tier.count, tier.switch)
    return total


def _groups(
    spec: ClusterSpec,
    facility: Facility,
    pools: tuple[PoolPlan, ...],
    fabrics: tuple[FabricPlan, ...],
    servers: Sequence[MachineGroup],
    service: Sequence[MachineGroup],
    catalog: Catalog,
    problems: Problems,
) -> tuple[RackGroup, ...]:
    """Racks of each pool, then those of the network, then those of storage."""
    quiet = Problems()  # what is wrong with the unit is said where cooling is decided
    cdu = cast("Cdu | None", named("cdus", facility.cooling.cdu, "", catalog, quiet))
    each = (facility.cooling.cdus or 1 + facility.cooling.cdu_spares) if cdu and cdu.form == "rack" else 0
    known = Known(facility, catalog, problems, shelf_of(facility, catalog, problems), each * cdu.units if cdu else 0)
    declared = [item.name for item in spec.pools]
    groups: list[RackGroup] = []
    for pool in pools:
        index = declared.index(pool.name)
        own = spec.pools[index].rack
        choice, path = (own, f"pools[{index}].rack") if own else (facility.rack, "facility.rack")
        fed = circuits_of(choice.pdu, choice.pdus, path, facility, catalog, problems) if choice else None
        group = node_group(pool, choice, path, known, carried(fed[0], facility.power.redundancy) if fed else None)
        if group is None:
            continue
        group = with_leaves(group, fabrics)
        if choice and fed and group.limited_by != "product":
            group = _on_circuits(group, choice.pdu, choice.pdus, path, facility, catalog)
        if each and cdu and group.heat.liquid:
            group = replace(group, cdus=each, cdu_units=cdu.units)
        groups.append(group)
    shared = facility.management
    kind = shared.type or (facility.rack.type if facility.rack else None)
    where = "facility.management.type" if shared.type else "facility.rack.type"
    rack = Known(facility, catalog, problems if shared.type else quiet).rack(kind, where) if kind else None
    if rack is None or rack.complete:
        return tuple(groups)
    # switches and servers stand no denser than nodes: the hall's power and cooling reach no further; and among cold
    # plates, which they do not have, no denser than air takes
    densest = largest(group.power for group in groups) or None
    if facility.cooling.kind == "direct-liquid" and densest:
        densest = min(densest, air_reach(catalog) or densest)
    for what, runs, limit, count in (
        ("network", network_runs(fabrics, groups) + server_runs(service), shared.power or densest, shared.racks),
        ("storage", server_runs(servers), densest, None),
    ):
        pdu, pdus = shared.pdu, shared.pdus
        if pdu and pdus is None:  # on two feeds, and no more in a rack than one of them carries
            pdus = min(2, feeds_of(facility.power))
        fed = circuits_of(pdu, pdus, "facility.management", facility, catalog, problems)
        carries = carried(fed[0], facility.power.redundancy) if fed else None
        most = min((item for item in (limit, carries) if item), default=None)
        found = shared_group(what, runs, rack, most, known, count)
        if found:
            groups.append(replace(found, circuits=fed[0], pdu=fed[1]) if fed else found)
    return tuple(groups)


def _on_circuits(
    group: RackGroup, pdu: str | None, pdus: int | None, path: str, facility: Facility, catalog: Catalog
) -> RackGroup:
    """The same racks on the circuits that a full one takes."""
    fed = circuits_of(pdu, pdus, path, facility, catalog, Problems(), group.power)
    return replace(group, circuits=fed[0], pdu=fed[1]) if fed else group


def _energy(facility: Facility, site: SitePlan, it: Power, folder: Path, problems: Problems) -> EnergyPlan:
    """The mix of a year: what the sources leave comes from the grid."""
    supply = facility.energy
    hours = read(supply.carbon_hours, folder, "facility.energy.carbon_hours",
                 lambda text: column_of(text, "carbon", "gco2e_per_kwh", "carbon_intensity"), problems)  # fmt: skip
    grid: CarbonIntensity | None = supply.carbon or (site.location.carbon if site.location else None)
    if hours and supply.carbon is None:
        grid = CarbonIntensity(sum(hours) / len(hours), "gCO2e/kWh")
    parts: list[tuple[str, str, Fraction, Power | None, UnitPrice | None, CarbonIntensity | None]] = []
    for item in supply.sources:
        own = item.kind == "grid"
        # what it gives on average: a source that does not always give is less than its power
        average = item.power * item.capacity_factor if item.power and item.capacity_factor else item.power
        parts.append((item.name, item.kind, Fraction(repr(item.share)), average,
                      item.price or (supply.price if own else None),
                      item.carbon or (grid if own else None)))  # fmt: skip
    left = 1 - sum((part[2] for part in parts), Fraction(0))
    if left > 0:
        parts.append(("grid", "grid", left, None, supply.price, grid))
    mix = [Part(share, price, carbon) for _, _, share, _, price, carbon in parts]
    return EnergyPlan(
        sources=tuple(
            SourcePlan(name, kind, float(share), it * share, limit, price, carbon)
            for name, kind, share, limit, price, carbon in parts
        )
        if supply.sources
        else (),
        price=mixed_price(mix),
        carbon=mixed_carbon(mix),
        carbon_by_hour=by_hour_of_day(hours) if hours else (),
    )
