"""Checks of racks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Literal

from ...catalog import Catalog, Machine, Rack, Switch
from ...errors import Finding
from ...primitives.counts import format_indefinite
from ...primitives.quantity import Quantity
from ...spec.facility import Facility
from ..model.plan import Plan, RackGroup
from ..model.racks import FacilityPlan
from .cable_length import cable_length
from .rack_suggestions import find_rack_path, suggest_node_count
from .rebuild import explain_untried, find_working, replan, skip_in_trials

__all__ = ["CHECKS"]

_WIDTH_NAMES = {"eia-19": "19-inch equipment (EIA-310)", "open-rack-21": "21-inch equipment (Open Rack)"}
_FEED_NAMES = {"ac": "cords to its own power supplies", "busbar": "a busbar"}


def facility_value(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Quantities that must be above zero, or at least zero."""
    facility = plan.spec.facility
    if facility is None:
        return
    power, cooling, rack = facility.power, facility.cooling, facility.rack
    values: dict[str, Quantity | None] = {
        "max_cable_length": facility.max_cable_length,
        "floor_load": facility.floor_load,
        "door": facility.door,
        "rack.power": rack.power if rack else None,
        "management.power": facility.management.power,
        "power.budget": power.budget,
        "power.voltage": power.voltage,
        "power.circuit": power.circuit,
        "power.feed": power.feed,
        "power.row": power.row,
        "power.swing_limit": power.swing_limit,
        "cooling.flow": cooling.flow,
    }
    values |= {f"energy.sources[{index}].power": item.power for index, item in enumerate(facility.energy.sources)}
    for path, value in values.items():
        if value is not None and value.base <= 0:
            yield Finding(
                "facility-value", "error", f"facility.{path}", f"{value} is not above zero", "set a value above zero"
            )
    fans = cooling.fans
    if fans is not None and fans.base < 0:
        yield Finding("facility-value", "error", "facility.cooling.fans", f"{fans} is below zero", "set zero or more")


def rack_power(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks that draw more than their distribution supports."""
    for group in plan.facility.racks if plan.facility else ():
        limit = group.rack.max_power if group.rack else None
        if limit and group.fullest_power > limit:
            what = f"{group.fullest_nodes} nodes of {group.pool}" if group.pool else "its switches"
            yield Finding(
                "rack-power",
                "error",
                "facility.rack",
                f"a rack with {what} draws {group.fullest_power}, "
                f"{group.fullest_power - limit} over the {limit} of "
                f"{format_indefinite(group.rack.name) if group.rack else ''}",
                f"{suggest_node_count(plan, group, group.power, limit) or 'put less equipment into a rack'}, or use "
                "another rack",
            )


def rack_weight(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks of switches or servers that are heavier than their frame supports; racks of nodes are never filled that
    far.
    """
    for group in plan.facility.racks if plan.facility else ():
        load = group.rack.max_load if group.rack and not group.pool else None
        if load and group.weight and group.weight > load:
            yield Finding(
                "rack-weight",
                "error",
                "facility.management",
                f"a rack of {group.kind} holds {group.weight}, {group.weight - load} over the {load} of a "
                f"{group.rack.name if group.rack else ''}",
                f"set management.racks above {group.count}, or use another rack",
            )


def rack_floor_load(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks that, with their equipment, exceed the floor load; the rack's own weight is included if known."""
    floor = plan.spec.facility.floor_load if plan.spec.facility else None
    for group in plan.facility.racks if plan.facility and floor else ():
        own = group.rack.weight if group.rack else None
        # the weight of a rack product includes its equipment
        weight = (
            group.weight
            if group.limited_by == "product" or own is None or group.weight is None
            else (group.weight + own)
        )
        what = group.pool or group.kind
        if weight is None:
            yield Finding(
                "rack-floor-load",
                "note",
                "facility.floor_load",
                f"unknown weight of a rack of {what}: its floor load is not checked",
                "add the weight of the rack and its machines to a catalog overlay",
            )
        elif floor is not None and weight > floor:
            fewer = suggest_node_count(plan, group, weight, floor, own.base if own else Fraction(0))
            suggestion = f"{fewer or 'spread its load'}, or reinforce the floor"
            yield Finding(
                "rack-floor-load",
                "error",
                "facility.floor_load",
                f"a rack of {what} weighs {weight}, {weight - floor} over the floor load of {floor}",
                suggestion,
            )


def rack_door(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks that are taller than the lowest door on their way into the hall."""
    door = plan.spec.facility.door if plan.spec.facility else None
    racks = {group.rack.name: group.rack for group in (plan.facility.racks if plan.facility else ()) if group.rack}
    for rack in racks.values() if door else ():
        if rack.height is not None and door is not None and rack.height > door:
            yield Finding(
                "rack-door",
                "error",
                "facility.door",
                f"{format_indefinite(rack.name)} is {rack.height} tall, {rack.height - door} over the door height "
                f"of {door}",
                "use a lower rack, or another entrance",
            )


@skip_in_trials
def rack_compatibility(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines and switches in racks that are not made for them: complete products, other widths, another feed."""
    for group in plan.facility.racks if plan.facility else ():
        rack = group.rack
        if rack is None or not group.pool or group.limited_by == "product":
            continue
        yield from _check_leaf_racks(plan, catalog, group)
        machine = plan.get_pool(group.pool).machine
        reason = _explain_refusal(rack, machine)
        if not reason:
            continue
        index = [pool.name for pool in plan.spec.pools].index(group.pool)
        path = f"pools[{index}].rack.type" if plan.spec.pools[index].rack else "facility.rack.type"
        level: Literal["error", "warning"] = "error" if rack.complete else "warning"
        yield Finding("rack-compatibility", level, path, reason, _suggest_racks(catalog, [machine]))
    yield from _check_unused_types(plan, catalog)
    yield from _check_shared_racks(plan, catalog)


def _check_unused_types(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Declared racks of machines that are delivered in a rack of their own: another type has no effect on them."""
    facility = plan.spec.facility
    complete = {rack.name for rack in catalog.iter_entries(Rack) if isinstance(rack, Rack) and rack.complete}
    specs = {pool.name: (index, pool) for index, pool in enumerate(plan.spec.pools)}
    for group in plan.pools:
        product, (index, pool) = group.machine.rack, specs[group.name]
        if product is None:
            continue
        declared = pool.rack.type if pool.rack else None
        path = f"pools[{index}].rack.type"
        if declared is None and facility and facility.rack and facility.rack.type in complete:
            declared, path = facility.rack.type, "facility.rack.type"
        if declared and declared != product.name:
            yield Finding(
                "rack-compatibility",
                "warning",
                path,
                f"{group.machine.name} is delivered in {product.name} racks: {declared} has no effect on {pool.name}",
                f"set {path}: {product.name}, or use another machine",
            )


def _check_leaf_racks(plan: Plan, catalog: Catalog, group: RackGroup) -> Iterator[Finding]:
    """Leaves installed with the nodes of a pool, in a rack that does not support them."""
    for fabric in plan.fabrics:
        reason = (
            _explain_refusal(group.rack, fabric.tiers[0].switch)
            if group.rack and fabric.name in group.leaf_fabrics
            else ""
        )
        if reason:
            yield Finding(
                "rack-compatibility",
                "warning",
                f"{find_rack_path(plan, group)}.type",
                f"{fabric.name}: {reason}",
                _suggest_racks(catalog, [fabric.tiers[0].switch, plan.get_pool(group.pool).machine]),
            )


def _check_shared_racks(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Switches, service machines and storage servers in racks that do not support them."""
    facility, hall = plan.spec.facility, plan.facility
    rack = next((group.rack for group in hall.racks if not group.pool), None) if hall else None
    if facility is None or hall is None or rack is None:
        return
    things = _list_shared(plan, hall)
    refused = {thing.name: reason for thing in things if (reason := _explain_refusal(rack, thing))}
    suggestion = _suggest_shared_racks(plan, catalog, things) if refused else ""
    for reason in refused.values():
        yield Finding("rack-compatibility", "warning", _get_shared_path(facility), reason, suggestion)


def _get_shared_path(facility: Facility) -> str:
    """Path that selects the racks of all equipment without nodes."""
    return "facility.management.type" if facility.management.type else "facility.rack.type"


def _list_shared(plan: Plan, hall: FacilityPlan) -> list[Machine | Switch]:
    """The equipment in racks without nodes."""
    with_nodes = {name for group in hall.racks for name in group.leaf_fabrics}
    switches = [
        tier.switch
        for fabric in plan.fabrics
        for tier in fabric.tiers
        if tier.name != "leaf" or fabric.name not in with_nodes
    ]
    return [*switches, *(item.machine for item in hall.service_groups), *(item.machine for item in plan.servers)]


def _suggest_shared_racks(plan: Plan, catalog: Catalog, things: list[Machine | Switch]) -> str:
    """Racks that support all equipment outside the racks of nodes, each tried on a plan."""
    facility = plan.spec.facility
    assert facility is not None

    def is_planned_with(name: str) -> bool:
        management = facility.management.model_copy(update={"type": name})
        changed = facility.model_copy(update={"management": management})
        return not replan(plan, catalog, plan.spec.model_copy(update={"facility": changed}))[1]

    fitting = [
        rack.name for rack in catalog.iter_entries(Rack) if not any(_explain_refusal(rack, thing) for thing in things)
    ]
    working = find_working(plan, fitting, is_planned_with, len(fitting))
    if working:
        return f"set facility.management.type: {' or '.join(working)}"
    untried = explain_untried(plan, fitting)
    return "set facility.management.type: a rack for all of them, defined in a catalog overlay" + (
        f"; {untried}" if untried else ""
    )


def _suggest_racks(catalog: Catalog, things: list[Machine | Switch]) -> str:
    fitting = [
        rack.name for rack in catalog.iter_entries(Rack) if not any(_explain_refusal(rack, thing) for thing in things)
    ]
    return f"use {' or '.join(fitting)}" if fitting else "use another rack"


def rack_compatibility_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Equipment of unknown width or feed in racks that do not support the usual one, 19-inch equipment with cords."""
    facility, hall = plan.spec.facility, plan.facility
    if facility is None or hall is None:
        return
    placed: dict[tuple[str, str], tuple[Rack, list[Machine | Switch]]] = {}
    for group in hall.racks:
        if group.rack is None or group.limited_by == "product":
            continue
        things = _list_shared(plan, hall)
        if group.pool:
            leaves = [fabric.tiers[0].switch for fabric in plan.fabrics if fabric.name in group.leaf_fabrics]
            things = [plan.get_pool(group.pool).machine, *leaves]
        path = f"{find_rack_path(plan, group)}.type" if group.pool else _get_shared_path(facility)
        placed.setdefault((path, group.rack.name), (group.rack, []))[1].extend(things)
    for (path, name), (rack, things) in placed.items():
        unknown = sorted(
            {thing.name for thing in things if not _explain_refusal(rack, thing) and _is_unknown(rack, thing)}
        )
        if unknown:
            yield Finding(
                "rack-compatibility-unknown",
                "note",
                path,
                f"unknown mounting or feed of {', '.join(unknown)}: {format_indefinite(name)} "
                f"supports {_format_words(rack.mounts, _WIDTH_NAMES)} and feeds it by "
                f"{_format_words(rack.feeds, _FEED_NAMES)}",
                "add it to a catalog overlay (mount, feed)",
            )


def _is_unknown(rack: Rack, thing: Machine | Switch) -> bool:
    """Whether it is unknown if equipment fits a rack that does not support the usual one."""
    mount, feed = _get_mount_and_feed(thing)
    return (not mount and bool(rack.mounts) and "eia-19" not in rack.mounts) or (
        not feed and bool(rack.feeds) and "ac" not in rack.feeds
    )


def _get_mount_and_feed(thing: Machine | Switch) -> tuple[str | None, str | None]:
    """Width and feed of equipment."""
    return (thing.mount, thing.feed) if isinstance(thing, Switch) else (thing.body.mount, thing.body.known_feed)


def rack_unassigned(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Switches and servers without a rack, because the rack of the nodes is sold with its equipment."""
    facility = plan.spec.facility
    if facility is None or plan.facility is None:
        return
    name = facility.management.type or (facility.rack.type if facility.rack else None)
    if name is None or name not in catalog.list_names("racks") or not catalog.get(Rack, name).complete:
        return
    if any(fabric.tiers for fabric in plan.fabrics) or plan.servers or plan.facility.service_groups:
        fitting = [item.name for item in catalog.iter_entries(Rack) if "ac" in item.feeds]
        yield Finding(
            "rack-unassigned",
            "warning",
            "facility.management.type",
            f"{format_indefinite(name)} is sold with its equipment: switches, servers and service machines have no "
            "rack",
            f"set facility.management.type: {' or '.join(fitting)}",
        )


def _explain_refusal(rack: Rack, thing: Machine | Switch) -> str:
    """Why a rack does not support a machine or switch; empty if it does, or if this is unknown."""
    mount, feed = _get_mount_and_feed(thing)
    if rack.complete:
        return f"{format_indefinite(rack.name)} is sold with its equipment: {thing.name} cannot be added"
    if rack.mounts and mount and mount not in rack.mounts:
        mounts = _format_words(rack.mounts, _WIDTH_NAMES)
        return f"{thing.name} is {_WIDTH_NAMES[mount]}, {format_indefinite(rack.name)} supports {mounts}"
    if rack.feeds and feed and feed not in rack.feeds:
        feeds = _format_words(rack.feeds, _FEED_NAMES)
        return f"{thing.name} is fed by {_FEED_NAMES[feed]}, {format_indefinite(rack.name)} supports {feeds}"
    return ""


def _format_words(values: Iterable[str], names: Mapping[str, str]) -> str:
    return " and ".join(names[value] for value in values)


def rack_size_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Equipment of unknown height in racks."""
    for name in plan.facility.unknown_size if plan.facility and plan.facility.racks else ():
        yield Finding(
            "rack-size-unknown",
            "note",
            "facility",
            f"unknown rack units of {name}: counted as 1",
            "add it to a catalog overlay",
        )


CHECKS = (
    facility_value,
    rack_compatibility,
    rack_compatibility_unknown,
    rack_unassigned,
    rack_door,
    rack_floor_load,
    rack_power,
    cable_length,
    rack_size_unknown,
    rack_weight,
)
