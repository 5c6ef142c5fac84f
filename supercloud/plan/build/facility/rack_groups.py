"""All racks of the hall: those of each pool, then those of the network, then those of storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from ....catalog import Catalog, Cdu, Rack
from ....primitives.quantity import Power
from ....spec.facility import Facility
from ...model.hall import MachineGroup, find_largest_power
from ...model.plan import PoolPlan, RackGroup
from ...model.problems import Problems
from ..inputs import BuildInputs, Equipment
from .electricity import build_circuits, compute_carried_power, count_feeds, find_fact, find_power_shelf
from .node_racks import build_node_group, with_leaves
from .racking import RackingContext, find_air_cooling_limit
from .shared_racks import RackEquipment, build_shared_group, list_network_equipment, list_server_equipment

__all__ = ["build_rack_groups"]

_MAX_SHARED_FEEDS = 2


def build_rack_groups(
    inputs: BuildInputs, facility: Facility, equipment: Equipment, service: Sequence[MachineGroup]
) -> tuple[RackGroup, ...]:
    """Racks of each pool, then those of the network, then those of storage."""
    # errors of the unit are reported by the cooling step
    cdu = find_fact(Cdu, facility.cooling.cdu, "", inputs.catalog, Problems())
    in_rack = cdu if cdu and cdu.form == "rack" else None
    each = (facility.cooling.cdus or 1 + facility.cooling.cdu_spares) if in_rack else 0
    shelf = find_power_shelf(facility, inputs.catalog, inputs.problems)
    context = RackingContext(facility, inputs.catalog, inputs.problems, shelf, each * in_rack.units if in_rack else 0)
    groups: list[RackGroup] = []
    for pool in equipment.pools:
        group = _build_pool_group(inputs, equipment, pool, context)
        if group and each and in_rack and group.heat.liquid:
            group = replace(group, cdus=each, cdu_units=in_rack.units)
        if group:
            groups.append(group)
    return (*groups, *_iter_shared_groups(equipment, service, groups, context))


def _build_pool_group(
    inputs: BuildInputs, equipment: Equipment, pool: PoolPlan, context: RackingContext
) -> RackGroup | None:
    """The racks of a pool with their leaves and circuits; None if their contents are unknown."""
    facility, catalog = context.facility, context.catalog
    index = [item.name for item in inputs.spec.pools].index(pool.name)
    own = inputs.spec.pools[index].rack
    choice, path = (own, f"pools[{index}].rack") if own else (facility.rack, "facility.rack")
    fed = build_circuits(choice.pdu, choice.pdus, path, facility, catalog, context.problems) if choice else None
    carried = compute_carried_power(fed[0], facility.power.redundancy) if fed else None
    group = build_node_group(pool, choice, path, context, carried)
    if group is None:
        return None
    group = with_leaves(group, equipment.fabrics)
    if choice is None or fed is None or group.limited_by == "product":
        return group
    return _with_circuits(group, choice.pdu, choice.pdus, path, facility, catalog)


def _with_circuits(
    group: RackGroup, pdu: str | None, pdus: int | None, path: str, facility: Facility, catalog: Catalog
) -> RackGroup:
    """The same racks with the circuits of a full one."""
    fed = build_circuits(pdu, pdus, path, facility, catalog, Problems(), group.power)
    return replace(group, circuits=fed[0], pdu=fed[1]) if fed else group


def _iter_shared_groups(
    equipment: Equipment, service: Sequence[MachineGroup], groups: Sequence[RackGroup], context: RackingContext
) -> Iterator[RackGroup]:
    """The racks of switches with service machines, and those of storage servers."""
    rack = _find_shared_rack(context)
    if rack is None or rack.complete:
        return
    shared, densest = context.facility.management, _find_density_limit(groups, context)
    network = list_network_equipment(equipment.fabrics, groups) + list_server_equipment(service)
    storage = list_server_equipment(equipment.servers)
    found = (
        _build_fed_group("network", network, rack, shared.power or densest, context, shared.racks),
        _build_fed_group("storage", storage, rack, densest, context),
    )
    yield from (group for group in found if group)


def _find_shared_rack(context: RackingContext) -> Rack | None:
    """The rack of switches and servers: the declared one, else that of the nodes."""
    facility = context.facility
    if facility.management.type:
        return context.find_rack(facility.management.type, "facility.management.type")
    if facility.rack is None:
        return None
    # errors of this rack are reported with the nodes
    return replace(context, problems=Problems()).find_rack(facility.rack.type, "facility.rack.type")


def _find_density_limit(groups: Sequence[RackGroup], context: RackingContext) -> Power | None:
    """Switches and servers have no higher density than nodes: the hall's power and cooling allow no more; and with cold
    plates, which they do not have, no higher density than air cooling allows.
    """
    densest = find_largest_power(group.power for group in groups) or None
    if densest and context.facility.cooling.kind == "direct-liquid":
        return min(densest, find_air_cooling_limit(context.catalog) or densest)
    return densest


def _build_fed_group(
    kind: Literal["network", "storage"],
    runs: list[RackEquipment],
    rack: Rack,
    power_limit: Power | None,
    context: RackingContext,
    declared_racks: int | None = None,
) -> RackGroup | None:
    """Shared racks with their circuits, which may have less power than the limit."""
    facility, shared = context.facility, context.facility.management
    pdus = shared.pdus
    if shared.pdu and pdus is None:  # on two feeds, with at most the power of one of them in a rack
        pdus = min(_MAX_SHARED_FEEDS, count_feeds(facility.power))
    fed = build_circuits(shared.pdu, pdus, "facility.management", facility, context.catalog, context.problems)
    carried = compute_carried_power(fed[0], facility.power.redundancy) if fed else None
    limit = min((item for item in (power_limit, carried) if item), default=None)
    group = build_shared_group(kind, runs, rack, limit, context, declared_racks)
    return replace(group, circuits=fed[0], pdu=fed[1]) if group and fed else group
