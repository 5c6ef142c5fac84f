"""Checks of power, energy and carbon."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor, log10

from ...catalog import Catalog
from ...errors import Finding, suggest_nearest
from ...facility import SCHEMES, compute_breaker_rating, count_remaining_supplies
from ...primitives.counts import format_count
from ...primitives.quantity import Power
from ..model.plan import FacilityPlan, Plan, RackGroup
from .rack_suggestions import count_needed_circuits, find_rack_path

__all__ = ["CHECKS"]

# A budget that is used to the last tenth leaves no margin for a warm day or a replaced part: a note, not an error.
_MIN_HEADROOM = 0.1


def power_budget(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """IT power over the hall's budget."""
    hall = plan.facility
    if hall and hall.power_budget and hall.it_power > hall.power_budget:
        yield Finding(
            "power-budget",
            "error",
            "facility.power.budget",
            f"{hall.it_power} of IT power is {hall.it_power - hall.power_budget} over the budget of "
            f"{hall.power_budget}",
            f"raise it (set budget: {_compute_suitable_budget(hall.it_power)} or more, which leaves "
            f"{_MIN_HEADROOM:.0%}), or use fewer nodes",
        )


def _compute_suitable_budget(power: Power) -> Power:
    """The smallest budget of three digits with which no finding on the budget remains."""
    needed = power.base / (1 - Fraction(str(_MIN_HEADROOM)))
    step = Fraction(10) ** (len(str(int(needed))) - 3)
    return Power.from_base(ceil(needed / step) * step)


def power_headroom(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """IT power within the budget, but with little margin."""
    hall = plan.facility
    if (
        hall
        and hall.power_budget
        and hall.it_power <= hall.power_budget
        and hall.power_budget - hall.it_power < hall.power_budget * _MIN_HEADROOM
    ):
        yield Finding(
            "power-headroom",
            "warning",
            "facility.power.budget",
            f"{hall.it_power} leaves {hall.power_budget - hall.it_power} of the budget of {hall.power_budget}: less "
            f"than {_MIN_HEADROOM:.0%}",
            f"raise the budget (set budget: {_compute_suitable_budget(hall.it_power)} or more), or suppress this "
            "with a reason",
        )


def power_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines or switches without a sourced power."""
    for text in plan.facility.unknown_power if plan.facility else ():
        yield Finding(
            "power-unknown", "note", "facility", f"unknown: {text}", "measure it and add it to a catalog overlay"
        )


def feed_count(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A number of feeds that the redundancy scheme does not allow."""
    feeds = plan.facility.power_plan.feeds if plan.facility and plan.facility.power_plan else None
    if feeds is None:
        return
    scheme = SCHEMES[feeds.scheme]
    if feeds.count < scheme.min_feeds or (scheme.is_exact and feeds.count % scheme.min_feeds):
        wanted = -(-feeds.count // scheme.min_feeds) * scheme.min_feeds if scheme.is_exact else scheme.min_feeds
        yield Finding(
            "feed-count",
            "error",
            "facility.power.feeds",
            f"{feeds.scheme} over {feeds.count} feed{'s' * (feeds.count > 1)}: it requires "
            f"{'a multiple of ' if scheme.is_exact else 'at least '}{scheme.min_feeds}, {wanted - feeds.count} more",
            f"set feeds: {wanted}, or another redundancy",
        )


def feed_loss(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A feed that carries more than its capacity, in normal operation or after the loss of one feed."""
    feeds = plan.facility.power_plan.feeds if plan.facility and plan.facility.power_plan else None
    over = feeds.overload if feeds else None
    if feeds is None or over is None or feeds.capacity is None:
        return
    after = feeds.load_after_loss
    paths = f"{feeds.count} feeds" if feeds.paths == feeds.count else f"the {feeds.paths} paths of {feeds.count} feeds"
    when = f"after the loss of one of {paths}" if after else f"of {feeds.count} feeds, none redundant,"
    yield Finding(
        "feed-loss",
        "error",
        "facility.power.feed",
        f"{when} each carries {after or feeds.feed_load}, {over} over its {feeds.capacity} ({feeds.scheme})",
        f"set a capacity of {after or feeds.feed_load} per feed, add feeds, or use fewer nodes",
    )


def power_supplies(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Power supplies or shelves distributed over feeds so that too few remain after a loss."""
    hall = plan.facility
    if hall is None or hall.power_plan is None or not SCHEMES[hall.power_plan.feeds.scheme].can_survive_loss:
        return
    feeds, scheme, paths = hall.power_plan.feeds.count, hall.power_plan.feeds.scheme, hall.power_plan.feeds.paths
    for index, pool in enumerate(plan.pools):
        supplies = pool.machine.body.supplies
        if supplies is None or feeds < 2:
            continue
        left = count_remaining_supplies(supplies.count, paths)
        if left >= supplies.needed:
            continue
        short = ""
        power = pool.machine.power
        if supplies.rating and power and supplies.rating * left < power:
            short = f": {supplies.rating * left} of {power}, {power - supplies.rating * left} short"
        places = range(min(paths, supplies.count))
        split = "+".join(str(supplies.count // paths + (place < supplies.count % paths)) for place in places)
        over = f"{feeds} feeds" if paths == feeds else f"the {paths} paths of {feeds} feeds"
        yield Finding(
            "power-supplies",
            "warning",
            f"pools[{index}].machine",
            f"{pool.machine.name} needs {supplies.needed} of {supplies.count} supplies; distributed {split} over "
            f"{over}, {left} remain after the loss of one, {supplies.needed - left} too few{short}: not {scheme} at "
            "full load",
            _suggest_feeds(supplies.count, supplies.needed, paths, scheme)
            + "cap the machines' power, or suppress this with a reason",
        )
    for group in hall.racks:
        yield from _check_shelves(plan, group, feeds, paths, scheme)


def _suggest_feeds(count: int, needed: int, paths: int, scheme: str) -> str:
    """The scheme and feeds with which these supplies tolerate the loss of one path; empty if there are none."""
    enough = next(
        (more for more in range(paths + 1, count + 1) if count_remaining_supplies(count, more) >= needed), None
    )
    if enough is None:
        return ""
    if scheme == "N+1":
        return f"set facility.power.feeds: {enough}, "
    other = "3N/2" if enough == SCHEMES["3N/2"].min_feeds else "N+1"
    return f"set facility.power: {{redundancy: {other}, feeds: {enough}}}, "


def _check_shelves(plan: Plan, group: RackGroup, feeds: int, paths: int, scheme: str) -> Iterator[Finding]:
    if not group.shelves or group.shelf_power is None or feeds < 2:
        return
    left = count_remaining_supplies(group.shelves, paths)
    carried, load = group.shelf_power * left, group.busbar_power or group.power
    if carried < load:
        more = -(-(load - carried).base // group.shelf_power.base)
        yield Finding(
            "power-supplies",
            "warning",
            f"pools[{[pool.name for pool in plan.pools].index(group.pool)}].machine",
            f"a rack of {group.pool} draws {load}; after the loss of one of {feeds} feeds, {left} of "
            f"{group.shelves} shelves remain with {carried}, {load - carried} short: not {scheme} at full load",
            f"{more} more shel{'ves' if more > 1 else 'f'} must remain after a loss; or cap the rack at {carried}",
        )


def power_shelf_unused(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Power shelves that were declared but that no rack uses: its machines have supplies, or it has no busbar."""
    shelf = plan.spec.facility.power.shelf if plan.spec.facility else None
    groups = [group for group in (plan.facility.racks if plan.facility else ()) if group.kind == "compute"]
    if shelf is None or not groups or any(group.shelves and group.shelf_units for group in groups):
        return
    machines = [pool.machine for pool in plan.pools if pool.machine.body.supplies or pool.machine.rack]
    why = (
        f"{machines[0].name} has its own power supplies"
        if machines
        else (f"{groups[0].rack.name if groups[0].rack else 'the rack'} has no busbar")
    )
    yield Finding(
        "power-shelf-unused",
        "warning",
        "facility.power.shelf",
        f"no rack uses a {shelf}: {why}",
        "omit it, or use machines without power supplies in racks with a busbar",
    )


def power_circuit(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Circuits of a rack that do not carry its load, all of them or those that remain after the loss of a feed."""
    hall = plan.facility
    for group in hall.racks if hall else ():
        circuits = group.circuits
        if hall is None or hall.power_plan is None or circuits is None or circuits.circuit_power is None:
            continue
        survives = SCHEMES[hall.power_plan.feeds.scheme].can_survive_loss
        left = circuits.count - circuits.circuits_lost if survives and circuits.feeds > 1 else circuits.count
        carried = circuits.circuit_power * left
        if group.fullest_power <= carried:
            continue
        when = "its circuit" if circuits.count == 1 else f"its {circuits.count} circuits"
        if left < circuits.count:
            remain = "remains" if left == 1 else "remain"
            when = f"the {format_count(left, 'circuit')} of {circuits.count} that {remain} after the loss of a feed"
        yield Finding(
            "power-circuit",
            "error",
            "facility.power.circuit",
            f"a rack of {_describe_group(group)} draws {group.fullest_power}, {group.fullest_power - carried} over the "
            f"{carried} of {when}",
            _suggest_circuits(
                plan, group, left, count_needed_circuits(group.fullest_power, circuits, left < circuits.count)
            ),
        )


def power_circuit_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Racks with circuits of unknown capacity, which are not checked."""
    hall = plan.facility
    for group in hall.racks if hall and hall.power_plan else ():
        if group.circuits is not None and group.circuits.circuit_power is None:
            yield Finding(
                "power-circuit-unknown",
                "note",
                find_rack_path(plan, group),
                f"unknown capacity of the {format_count(group.circuits.count, 'circuit')} of a rack of "
                f"{_describe_group(group)}, not checked",
                "set facility.power: {voltage: …, circuit: …}",
            )


def power_pdu_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Distribution units without a product."""
    places: dict[str, list[RackGroup]] = {}
    port = ", and each has one management port" * any(item.role == "management" for item in plan.fabrics)
    for group in plan.facility.racks if plan.facility else ():
        if group.pdus and not group.pdu:
            places.setdefault(find_rack_path(plan, group), []).append(group)
    for place, groups in places.items():
        yield Finding(
            "power-pdu-unknown",
            "note",
            place,
            f"unknown product of the {sum(group.pdus for group in groups)} power distribution units in racks of "
            f"{', '.join(map(_describe_group, groups))}: the bill of materials does not list them{port}",
            f"set {place}.pdu (see: supercloud catalog pdus)",
        )


def _describe_group(group: RackGroup) -> str:
    return group.pool or {"network": "switches", "storage": "storage servers"}[group.kind]


def _suggest_circuits(plan: Plan, group: RackGroup, remaining: int, required: int | None) -> str:
    supply = plan.spec.facility.power if plan.spec.facility else None
    more = f"set {find_rack_path(plan, group)}.pdus: {required}" if required else ""
    if not remaining:
        return more or "connect the rack to more feeds"
    if supply is None or supply.voltage is None or supply.voltage.base <= 0:
        return f"use larger units, or {more or 'more of them'}"
    load = Power.from_base(group.fullest_power.base / remaining)
    each = compute_breaker_rating(load, supply.voltage, supply.power_factor, supply.continuous)
    derated = (
        f"; breakers are derated to {supply.continuous:.4g} of their rating for continuous load "
        "(facility.power.continuous)"
        if supply.continuous < 1
        else ""
    )
    return f"breakers of at least {each.ceil('A')} A, {more or 'more circuits'}, or less equipment in a rack{derated}"


def row_limit(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Rows that exceed the limit of their distribution."""
    limit = plan.spec.facility.power.row if plan.spec.facility else None
    if limit is None or plan.layout is None:
        return
    rows = plan.layout.compute_row_power()
    over = [index for index, power in enumerate(rows) if power > limit]
    if over:
        worst = max(over, key=lambda index: rows[index])
        fits = int(limit.base // max(rack.power.base for rack in plan.layout.racks))
        yield Finding(
            "row-limit",
            "error",
            "facility.power.row",
            f"row {worst + 1} draws {rows[worst]}, {rows[worst] - limit} over its limit of {limit}"
            + (f", and {len(over) - 1} more rows exceed it" if len(over) > 1 else ""),
            (f"set facility.racks_per_row: {fits}, or " if fits else "") + f"raise the limit of a row to {max(rows)}",
        )


def power_swing(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Simultaneous load changes that exceed the maximum step of the supply."""
    supply = plan.spec.facility.power if plan.spec.facility else None
    swing = plan.facility.power_plan.load_swing if plan.facility and plan.facility.power_plan else None
    if supply and supply.swing_limit and swing and swing > supply.swing_limit:
        yield Finding(
            "power-swing",
            "error",
            "facility.power.swing_limit",
            f"{swing} change simultaneously, {swing - supply.swing_limit} over the maximum step of "
            f"{supply.swing_limit}",
            "smooth the load in the machines or with storage at the racks, or use a supply that supports steps of "
            f"{swing}",
        )


def energy_source(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Sources with a share above their capacity, on average over the year."""
    energy = plan.facility.energy_plan if plan.facility else None
    names = [item.name for item in plan.spec.facility.energy.sources] if plan.spec.facility else []
    for source in energy.sources if energy else ():
        if source.power_limit is None or source.average_power <= source.power_limit or source.name not in names:
            continue
        index = names.index(source.name)
        declared = plan.spec.facility.energy.sources[index] if plan.spec.facility else None
        part = declared.capacity_factor if declared else None
        of = f"the {source.power_limit} of {source.name}"
        if part and declared:
            of = f"the {source.power_limit} that {declared.power} of {source.name} provide on average"
        yield Finding(
            "energy-source",
            "error",
            f"facility.energy.sources[{index}].share",
            f"{source.share:.0%} of the site is {source.average_power} on average, "
            f"{source.average_power - source.power_limit} over {of}",
            f"set share: {_round_down(_compute_ratio(source.power_limit, source.average_power) * source.share):g} at "
            "most",
        )


def _round_down(number: float) -> float:
    """A number rounded down to two digits."""
    digits = 1 - floor(log10(number)) if number > 0 else 0
    return round(floor(number * 10.0**digits) / 10.0**digits, digits)


def _compute_ratio(limit: Power, total: Power) -> float:
    return max(0.0, float(limit.base / total.base)) if total else 0.0


def carbon_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A location without a known carbon intensity."""
    if plan.facility and plan.facility.annual_carbon is None:
        nearest = _suggest_location(plan.site.location_name, catalog)
        yield Finding(
            "carbon-unknown",
            "note",
            "site.location",
            f"unknown carbon intensity of {_describe_unknown_power(plan.facility) or repr(plan.site.location_name)}",
            f"{nearest}set facility.energy.carbon, or see: supercloud catalog locations",
        )


def _suggest_location(place: str, catalog: Catalog) -> str:
    """A question if the name is similar to a known one: most locations of users are not in the catalog."""
    known = catalog.list_names("locations")
    hint = "" if place in known else suggest_nearest(place, known)
    return f"{hint} Otherwise " if hint.startswith("did you mean") else ""


def _describe_unknown_power(hall: FacilityPlan) -> str:
    unknown = [item.name for item in hall.energy_plan.sources if item.carbon is None] if hall.energy_plan else []
    return ", ".join(unknown)


CHECKS = (
    carbon_unknown,
    energy_source,
    power_budget,
    power_circuit,
    power_circuit_unknown,
    feed_loss,
    feed_count,
    power_headroom,
    power_pdu_unknown,
    row_limit,
    power_shelf_unused,
    power_supplies,
    power_swing,
    power_unknown,
)
