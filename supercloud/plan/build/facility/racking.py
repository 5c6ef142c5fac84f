"""Which racks of nodes there are and what a full one holds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast

from ....catalog import Catalog, CoolingMethod, Machine, PowerShelf, Rack, Switch
from ....errors import UnknownName
from ....facility import Heat, fit, losses, split
from ....primitives.quantity import Power
from ....spec.facility import Facility, RackChoice
from ...model.hall import MachineGroup
from ...model.plan import FabricPlan, PoolPlan, RackGroup
from ..problems import Problems

__all__ = ["Known", "air_reach", "find_unknown_power", "is_power_known", "machine_heat",
           "node_group", "node_power", "switch_boxes", "switch_heat",
           "switch_power", "with_leaves"]  # fmt: skip

_NONE = Power(0, "W")


@dataclass(frozen=True)
class Known:
    """The things a group of racks is decided by."""

    facility: Facility
    catalog: Catalog
    problems: Problems
    shelf: PowerShelf | None = None
    cdu_units: int = 0
    """Rack units of a coolant distribution unit that stands within each rack."""

    @property
    def cooling(self) -> str:
        """How the hall cools."""
        return self.facility.cooling.kind

    def cooling_of(self, choice: RackChoice | None) -> str:
        """How racks of this choice are cooled."""
        return (choice.cooling if choice else None) or self.cooling

    def rack(self, name: str, path: str) -> Rack | None:
        """A rack of the catalog, or None with a problem said."""
        try:
            return self.catalog.rack(name)
        except UnknownName as error:
            self.problems.unknown(path, error)
            return None


def node_power(machine: Machine, unknown: list[str] | None = None) -> Power:
    """Highest input power of one node: its part of the rack product, its own, or the least it may be.

    A rack product has switch trays, fans and shelves beside its nodes, so its power is more than theirs.
    """
    if machine.rack and machine.rack.power:
        return Power.of_base(machine.rack.power.base / machine.rack.nodes)
    if machine.power:
        return machine.power
    if unknown is not None:
        how = f", counted as {machine.power_floor}: its accelerators alone" if machine.power_floor else ", counted as 0"
        text = f"power of {machine.name}{how}"
        if text not in unknown:
            unknown.append(text)
    return machine.power_floor or _NONE


def switch_power(switch: Switch) -> Power:
    """Highest power that is known of a switch, 0 where none is."""
    return switch.power_max or switch.power_typical or _NONE


def is_power_known(thing: Machine | Switch) -> bool:
    """Whether somebody sourced what it draws, and not only a lower bound of it."""
    if isinstance(thing, Switch):
        return bool(thing.power_max or thing.power_typical)
    return bool(thing.power or (thing.rack and thing.rack.power))


def find_unknown_power(
    pools: Iterable[PoolPlan], fabrics: Iterable[FabricPlan], groups: Iterable[MachineGroup]
) -> frozenset[str]:  # fmt: skip
    """Pools, groups of machines and tiers (``fabric/tier``) whose power nobody sourced, or only a lower bound of it."""
    things: list[tuple[str, Machine | Switch]] = [(item.name, item.machine) for item in pools]
    things += [(item.name, item.machine) for item in groups]
    things += [(f"{fabric.name}/{tier.name}", tier.switch) for fabric in fabrics for tier in fabric.tiers]
    return frozenset(name for name, thing in things if not is_power_known(thing))


def switch_boxes(count: int, switch: Switch) -> int:
    """Boxes that hold so many switches."""
    return -(-count // switch.chips)


def machine_heat(machine: Machine, power: Power, cooling: str) -> tuple[Heat, bool]:
    """Heat of a machine, and whether its split is known."""
    liquid = bool({"direct-liquid", "immersion"} & set(machine.heat.methods))
    return split(power, cooling, liquid, machine.heat.liquid_share)


def switch_heat(switch: Switch, power: Power, cooling: str) -> Heat:
    """Heat of a switch; one that is cooled by liquid gives all of it there."""
    return split(power, cooling, switch.cooling == "liquid", None)[0]


def air_reach(catalog: Catalog) -> Power | None:
    """The densest rack that air alone cools, by any of its ways; None where the catalog has none."""
    ways = [cast(CoolingMethod, item) for item in catalog.all("cooling")]
    return max((way.power_to for way in ways if way.medium == "air" and way.power_to), default=None)


# -- racks of nodes ---------------------------------------------------------------------------------------------------


def node_group(
    pool: PoolPlan, choice: RackChoice | None, path: str, known: Known, circuits: Power | None = None
) -> RackGroup | None:
    """Racks of one pool: whole rack products, the number per rack that was declared, that of the reference
    architecture, or as many as fit.

    ``circuits`` is what those of a rack carry: it ends the filling, and is no limit to a number that was declared.
    """
    machine = pool.machine
    used = power = node_power(machine)
    cooling = known.cooling_of(choice)
    if machine.rack:
        return _product_group(pool, cooling, known)
    rack = known.rack(choice.type, f"{path}.type") if choice else None
    if choice is None or rack is None:
        return None
    on_busbar = known.shelf is not None and rack.busbar != "none" and machine.body.supplies is None
    if on_busbar and known.shelf and known.shelf.efficiency:
        power += losses(used, known.shelf.efficiency)
    heat = machine_heat(machine, used, cooling)[0] + Heat(air=power - used)
    if cooling != "direct-liquid":  # there, what shelves lose stays in the air
        heat = machine_heat(machine, power, cooling)[0]
    limits = [choice.power or rack.max_power, None if choice.nodes else circuits]
    limit = min((item for item in limits if item is not None), default=None)
    room = rack.units - known.cdu_units
    most = fit(
        units=machine.body.units,
        power=power or None,
        weight=machine.body.weight,
        rack_units=max(room, 0),
        rack_power=limit,
        rack_load=rack.max_load,
    )
    if choice.nodes is None and (most is None or most.count < 1):
        reason = (
            f"not one {machine.name} fits a {rack.name} by {most.limited_by}: "
            f"{_over(machine, 1, rack, room, limit, power)}"
            if most
            else f"size and power of {machine.name} are not known, so racks cannot be filled"
        )
        known.problems.error("rack-fit", path, reason, "set facility.rack.nodes, or take another rack")
        return None
    usual = _usual(machine, most.count) if most else None
    per_rack = choice.nodes or usual or (most.count if most else 1)
    if on_busbar and choice.nodes is None and machine.body.units:
        while per_rack > 1 and per_rack * machine.body.units + _shelf_room(used * per_rack, known) > room:
            per_rack -= 1
    taken = per_rack * (machine.body.units or 0) + (_shelf_room(used * per_rack, known) if on_busbar else 0)
    if most and (per_rack > most.count or (machine.body.units and taken > room)):
        fits = min(
            most.count, max(0, (room - taken) // machine.body.units + per_rack if machine.body.units else per_rack)
        )
        cure = f"set nodes: {fits}, or take another rack" if fits else "take another rack"
        known.problems.error(
            "rack-fit",
            f"{path}.nodes",
            f"{per_rack} × {machine.name} in a {rack.name}: only {fits} fit by {most.limited_by}: "
            f"{_over(machine, per_rack, rack, room, limit, power)}",
            cure,
        )
    weight = machine.body.weight
    return RackGroup(
        pool.name,
        rack,
        -(-pool.nodes // per_rack),
        per_rack,
        power * per_rack,
        (machine.body.units or 0) * per_rack,
        "declared" if choice.nodes else "reference" if usual else most.limited_by if most else "",
        weight=weight * per_rack if weight else None,
        limit=limit,
        heat=heat * per_rack,
        cooling=cooling,
        node=power,
        busbar=used * per_rack if on_busbar else None,
        shelves=_shelves(used * per_rack, known) if on_busbar else 0,
        shelf_power=known.shelf.power if on_busbar and known.shelf else None,
        shelf_units=known.shelf.units if on_busbar and known.shelf else 0,
        nodes=pool.nodes,
        power_is_least=not is_power_known(pool.machine),
    )


def _product_group(pool: PoolPlan, cooling: str, known: Known) -> RackGroup:
    product = pool.machine.rack
    assert product is not None
    full = node_power(pool.machine) * product.nodes
    rack = known.catalog.rack(product.name) if product.name in known.catalog.names("racks") else None
    slots = sum(slot.count * slot.units for slot in product.arrangement)
    return RackGroup(
        pool.name,
        rack,
        -(-pool.nodes // product.nodes),
        product.nodes,
        full,
        slots,
        "product",
        weight=rack.weight if rack else None,
        limit=rack.max_power if rack else None,
        heat=machine_heat(pool.machine, full, cooling)[0],
        cooling=cooling,
        node=node_power(pool.machine),
        shelves=product.power_shelves,
        shelf_power=product.shelf_power,
        nodes=pool.nodes,
        power_is_least=not is_power_known(pool.machine),
    )


def _usual(machine: Machine, most: int) -> int | None:
    """The most nodes of a rack that the maker's reference architecture shows and that fit; None where none does."""
    shown = machine.scalable_unit.nodes_per_rack if machine.scalable_unit else ()
    return max((count for count in shown if count <= most), default=None)


def _over(machine: Machine, count: int, rack: Rack, room: int, limit: Power | None, each: Power) -> str:
    """What a rack with so many would be over, with the number and by how much."""
    texts = []
    units, power, weight = machine.body.units, each * count, machine.body.weight
    if units and units * count > room:
        texts.append(f"{units * count} units of {room}, {units * count - room} over")
    if limit and power > limit:
        texts.append(f"{power} of {limit}, {power - limit} over")
    if weight and rack.max_load and weight * count > rack.max_load:
        texts.append(f"{weight * count} of {rack.max_load}, {weight * count - rack.max_load} over")
    return "; ".join(texts) or "with its power shelves"


def _shelves(power: Power, known: Known) -> int:
    """Shelves of one rack: as many as carry it, and again as many (2N) or one more (the rest but N) for a loss."""
    assert known.shelf is not None
    needed = max(1, int(-(-power.base // known.shelf.power.base)) if known.shelf.power.base > 0 else 1)
    scheme = known.facility.power.redundancy
    return needed * 2 if scheme == "2N" else needed + (scheme != "N")


def _shelf_room(power: Power, known: Known) -> int:
    return _shelves(power, known) * (known.shelf.units if known.shelf else 0)


def with_leaves(group: RackGroup, fabrics: Iterable[FabricPlan]) -> RackGroup:
    """The same racks with the leaves that stand in them: a Clos has one in each rack, where it fits by units, power
    and weight."""
    for fabric in fabrics:
        leaf = fabric.tiers[0] if fabric.tiers else None
        if leaf is None or fabric.shape != "clos" or fabric.pools != (group.pool,) or group.rack is None:
            continue
        boxes, units = switch_boxes(leaf.count, leaf.switch), leaf.switch.units or 1
        if boxes != group.count or fabric.su_nodes != group.nodes_per_rack or group.units + units > group.rack.units:
            continue
        power, weight = switch_power(leaf.switch), leaf.switch.weight
        load = group.weight + weight if group.weight and weight else None
        if (group.limit and group.power + power > group.limit) or (
            load and group.rack.max_load and load > group.rack.max_load
        ):
            continue
        group = replace(
            group,
            power=group.power + power,
            units=group.units + units,
            weight=load,
            heat=group.heat + switch_heat(leaf.switch, power, group.cooling),
            top=(*group.top, fabric.name),
            power_is_least=group.power_is_least or not is_power_known(leaf.switch),
        )
    return group
