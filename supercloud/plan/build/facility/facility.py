"""Totals of the hall: racks, power, cooling, annual energy. The arithmetic is in ``supercloud.facility``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....catalog import Catalog
from ....facility import compute_annual_energy, compute_cue
from ....primitives.quantity import Power
from ....spec.facility import Facility
from ...model.hall import MachineGroup, ServiceGroup
from ...model.plan import FabricPlan, FacilityPlan, RackGroup, SitePlan
from ...model.problems import Problems
from ..inputs import BuildInputs, Equipment
from ..site_machines import find_site_machine
from .cooling import HeatSources, build_cooling_plan
from .electricity import build_power_plan
from .energy import build_energy_plan, with_site_power
from .rack_groups import build_rack_groups
from .racking import compute_node_power, count_switch_boxes, get_switch_power, is_power_known

__all__ = ["build_facility_plan", "compute_node_power"]

_NO_POWER = Power(0, "W")


@dataclass(frozen=True)
class _PowerDemand:
    """Power of all devices, and what is not known of it."""

    nodes: Power
    switches: Power
    others: Power
    """Storage servers and service machines."""
    unknown: tuple[str, ...]
    """Devices whose power is unknown, or only a lower bound."""
    unsized: tuple[str, ...]
    """Products of unknown size."""

    @property
    def total(self) -> Power:
        """IT power of the hall."""
        return self.nodes + self.switches + self.others


def build_facility_plan(inputs: BuildInputs, site: SitePlan, equipment: Equipment) -> FacilityPlan | None:
    """The hall of an on-prem site; None in a cloud."""
    spec, catalog, problems = inputs.spec, inputs.catalog, inputs.problems
    if spec.site.kind != "onprem":
        return None
    facility = spec.facility or Facility()
    service = _build_service_groups(facility, catalog, problems)
    machines: tuple[MachineGroup, ...] = (*equipment.servers, *service)
    groups = build_rack_groups(inputs, facility, equipment, service)
    demand = _compute_power_demand(equipment, machines, groups)
    power = build_power_plan(facility, demand.total, demand.nodes, catalog, problems)
    energy = build_energy_plan(inputs, facility, site, demand.total)
    sources = HeatSources(equipment.pools, equipment.fabrics, machines, groups)
    cooling = build_cooling_plan(inputs, facility, power, demand.total, sources)
    if cooling.pue is not None and energy.carbon is not None:
        cooling = replace(cooling, cue=compute_cue(cooling.pue, energy.carbon))
    if cooling.pue:
        energy = with_site_power(energy, demand.total * cooling.pue)
    year = compute_annual_energy(demand.total, cooling.pue, energy.price, energy.carbon)
    return FacilityPlan(
        racks=groups,
        it_power=demand.total,
        node_power=demand.nodes,
        switch_power=demand.switches,
        unknown_power=demand.unknown,
        power_budget=facility.power.budget,
        annual_energy=year.energy,
        annual_cost=year.cost,
        annual_carbon=year.carbon,
        cooling=facility.cooling.kind,
        server_power=demand.others,
        unknown_size=demand.unsized,
        power_plan=power,
        cooling_plan=cooling,
        energy_plan=energy,
        service_groups=service,
        supply=facility.cooling.supply,
    )


def _compute_power_demand(
    equipment: Equipment, machines: Sequence[MachineGroup], groups: Sequence[RackGroup]
) -> _PowerDemand:
    """Nodes count with the losses of the power shelves of their racks."""
    unknown: list[str] = []
    unsized: list[str] = []
    drawn = {group.pool: group.node_power for group in groups if group.pool}
    nodes = others = _NO_POWER
    for pool in equipment.pools:
        least = compute_node_power(pool.machine, unknown)
        nodes += drawn.get(pool.name, least) * pool.nodes
        if pool.machine.body.units is None and pool.machine.rack is None and pool.name in drawn:
            _append_once(unsized, pool.machine.name)
    switches = _compute_switch_power(equipment.fabrics, unknown, unsized)
    for group in machines:
        others += compute_node_power(group.machine, unknown) * group.count
        if group.machine.body.units is None:
            _append_once(unsized, group.machine.name)
    return _PowerDemand(nodes, switches, others, tuple(unknown), tuple(unsized))


def _append_once(texts: list[str], text: str) -> None:
    if text not in texts:
        texts.append(text)


def _build_service_groups(facility: Facility, catalog: Catalog, problems: Problems) -> tuple[ServiceGroup, ...]:
    found = []
    for index, item in enumerate(facility.machines):
        path = f"facility.machines[{index}].machine"
        if machine := find_site_machine(item.machine, path, "onprem", catalog, problems):
            found.append(ServiceGroup(item.name, machine, item.count))
    return tuple(found)


def _compute_switch_power(fabrics: tuple[FabricPlan, ...], unknown: list[str], unsized: list[str]) -> Power:
    total = _NO_POWER
    for fabric in fabrics:
        for tier in fabric.tiers:
            if not is_power_known(tier.switch):
                typical = tier.switch.power_typical
                counted = f"{typical}, its typical power" if typical else "0"
                _append_once(unknown, f"maximum power of {tier.switch.name}, counted as {counted}")
            if tier.switch.units is None:
                _append_once(unsized, tier.switch.name)
            total += get_switch_power(tier.switch) * count_switch_boxes(tier.count, tier.switch)
    return total
