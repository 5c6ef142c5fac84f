"""The racks of nodes, and the contents of a full rack."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ....catalog import Catalog, CoolingMethod, Machine, PowerShelf, Rack, Switch
from ....errors import UnknownNameError
from ....facility import Heat, compute_losses, compute_rack_fit, split_heat
from ....primitives.quantity import Power
from ....spec.facility import Facility, RackChoice
from ...model.hall import MachineGroup
from ...model.plan import FabricPlan, PoolPlan, RackGroup
from ...model.problems import Problems

__all__ = [
    "RackingContext",
    "find_air_cooling_limit",
    "find_unknown_power",
    "is_power_known",
    "compute_machine_heat",
    "build_node_group",
    "compute_node_power",
    "count_switch_boxes",
    "compute_switch_heat",
    "get_switch_power",
    "with_leaves",
]

_NO_POWER = Power(0, "W")


@dataclass(frozen=True)
class RackingContext:
    """The inputs for the racks of a group."""

    facility: Facility
    catalog: Catalog
    problems: Problems
    shelf: PowerShelf | None = None
    cdu_units: int = 0
    """Rack units of a coolant distribution unit in each rack."""

    @property
    def cooling(self) -> str:
        """Cooling method of the hall."""
        return self.facility.cooling.kind

    def select_cooling(self, choice: RackChoice | None) -> str:
        """Cooling method of racks of this choice."""
        return (choice.cooling if choice else None) or self.cooling

    def find_rack(self, name: str, path: str) -> Rack | None:
        """Look up a rack of the catalog; None with a problem if it is unknown."""
        try:
            return self.catalog.get(Rack, name)
        except UnknownNameError as error:
            self.problems.add_unknown_name(path, error)
            return None


def compute_node_power(machine: Machine, unknown: list[str] | None = None) -> Power:
    """Maximum input power of one node: its part of the rack product, its own value, or its lower bound.

    A rack product has switch trays, fans and shelves in addition to its nodes, so its power is more than theirs.
    """
    if machine.rack and machine.rack.power:
        return Power.from_base(machine.rack.power.base / machine.rack.nodes)
    if machine.power:
        return machine.power
    if unknown is not None:
        how = f", counted as {machine.power_floor}: its accelerators alone" if machine.power_floor else ", counted as 0"
        text = f"power of {machine.name}{how}"
        if text not in unknown:
            unknown.append(text)
    return machine.power_floor or _NO_POWER


def get_switch_power(switch: Switch) -> Power:
    """Highest known power of a switch, 0 if unknown."""
    return switch.power_max or switch.power_typical or _NO_POWER


def is_power_known(equipment: Machine | Switch) -> bool:
    """Whether the power has a source, and is not only a lower bound."""
    if isinstance(equipment, Switch):
        return bool(equipment.power_max or equipment.power_typical)
    return bool(equipment.power or (equipment.rack and equipment.rack.power))


def find_unknown_power(
    pools: Iterable[PoolPlan], fabrics: Iterable[FabricPlan], groups: Iterable[MachineGroup]
) -> frozenset[str]:
    """Pools, groups of machines and tiers (``fabric/tier``) whose power has no source, or is only a lower bound."""
    things: list[tuple[str, Machine | Switch]] = [(item.name, item.machine) for item in pools]
    things += [(item.name, item.machine) for item in groups]
    things += [(f"{fabric.name}/{tier.name}", tier.switch) for fabric in fabrics for tier in fabric.tiers]
    return frozenset(name for name, thing in things if not is_power_known(thing))


def count_switch_boxes(count: int, switch: Switch) -> int:
    """Number of chassis for a number of switches."""
    return -(-count // switch.chips)


def compute_machine_heat(machine: Machine, power: Power, cooling: str) -> tuple[Heat, bool]:
    """Heat of a machine, and whether its split is known."""
    liquid = bool({"direct-liquid", "immersion"} & set(machine.heat.methods))
    return split_heat(power, cooling, liquid, machine.heat.liquid_share)


def compute_switch_heat(switch: Switch, power: Power, cooling: str) -> Heat:
    """Heat of a switch; for a liquid-cooled switch all of it in the liquid."""
    return split_heat(power, cooling, switch.cooling == "liquid", None)[0]


def find_air_cooling_limit(catalog: Catalog) -> Power | None:
    """Maximum power of a rack with air cooling, over all of its methods; None if the catalog has none."""
    ways = list(catalog.iter_entries(CoolingMethod))
    return max((way.power_to for way in ways if way.medium == "air" and way.power_to), default=None)


# -- racks of nodes ---------------------------------------------------------------------------------------------------


def build_node_group(
    pool: PoolPlan, choice: RackChoice | None, path: str, context: RackingContext, circuit_power: Power | None = None
) -> RackGroup | None:
    """Racks of one pool: whole rack products, the declared number of nodes per rack, that of the reference design, or
    as many as fit.

    ``circuit_power`` is that of the circuits of a rack: it limits the filling, but not a declared number.
    """
    machine = pool.machine
    used = power = compute_node_power(machine)
    cooling = context.select_cooling(choice)
    if machine.rack:
        return _build_product_group(pool, cooling, context)
    rack = context.find_rack(choice.type, f"{path}.type") if choice else None
    if choice is None or rack is None:
        return None
    on_busbar = context.shelf is not None and rack.busbar != "none" and machine.body.supplies is None
    if on_busbar and context.shelf and context.shelf.efficiency:
        power += compute_losses(used, context.shelf.efficiency)
    heat = compute_machine_heat(machine, used, cooling)[0] + Heat(air=power - used)
    if cooling != "direct-liquid":  # with cold plates, the losses of shelves remain in the air
        heat = compute_machine_heat(machine, power, cooling)[0]
    limits = [choice.power or rack.max_power, None if choice.nodes else circuit_power]
    limit = min((item for item in limits if item is not None), default=None)
    room = rack.units - context.cdu_units
    most = compute_rack_fit(
        units=machine.body.units,
        power=power or None,
        weight=machine.body.weight,
        rack_units=max(room, 0),
        rack_power=limit,
        rack_max_weight=rack.max_load,
    )
    if choice.nodes is None and (most is None or most.count < 1):
        reason = (
            f"{rack.name} has no capacity for one {machine.name}, limited by {most.limited_by}: "
            f"{_describe_excess(machine, 1, rack, room, limit, power)}"
            if most
            else f"size and power of {machine.name} are unknown, so the nodes per rack cannot be computed"
        )
        context.problems.add_error("rack-fit", path, reason, "set facility.rack.nodes, or use another rack")
        return None
    usual = _find_reference_count(machine, most.count) if most else None
    per_rack = choice.nodes or usual or (most.count if most else 1)
    if on_busbar and choice.nodes is None and machine.body.units:
        while per_rack > 1 and per_rack * machine.body.units + _count_shelf_units(used * per_rack, context) > room:
            per_rack -= 1
    taken = per_rack * (machine.body.units or 0) + (_count_shelf_units(used * per_rack, context) if on_busbar else 0)
    if most and (per_rack > most.count or (machine.body.units and taken > room)):
        fits = min(
            most.count, max(0, (room - taken) // machine.body.units + per_rack if machine.body.units else per_rack)
        )
        suggestion = f"set nodes: {fits}, or use another rack" if fits else "use another rack"
        context.problems.add_error(
            "rack-fit",
            f"{path}.nodes",
            f"{per_rack} × {machine.name} in a {rack.name}: only {fits} fit, limited by {most.limited_by}: "
            f"{_describe_excess(machine, per_rack, rack, room, limit, power)}",
            suggestion,
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
        power_limit=limit,
        heat=heat * per_rack,
        cooling=cooling,
        node_power=power,
        busbar_power=used * per_rack if on_busbar else None,
        shelves=_count_shelves(used * per_rack, context) if on_busbar else 0,
        shelf_power=context.shelf.power if on_busbar and context.shelf else None,
        shelf_units=context.shelf.units if on_busbar and context.shelf else 0,
        nodes=pool.nodes,
        is_power_lower_bound=not is_power_known(pool.machine),
    )


def _build_product_group(pool: PoolPlan, cooling: str, context: RackingContext) -> RackGroup:
    product = pool.machine.rack
    assert product is not None
    full = compute_node_power(pool.machine) * product.nodes
    rack = context.catalog.get(Rack, product.name) if product.name in context.catalog.list_names("racks") else None
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
        power_limit=rack.max_power if rack else None,
        heat=compute_machine_heat(pool.machine, full, cooling)[0],
        cooling=cooling,
        node_power=compute_node_power(pool.machine),
        shelves=product.power_shelves,
        shelf_power=product.shelf_power,
        nodes=pool.nodes,
        is_power_lower_bound=not is_power_known(pool.machine),
    )


def _find_reference_count(machine: Machine, max_nodes: int) -> int | None:
    """Maximum number of nodes per rack in the vendor's reference architecture that fits; None if none does."""
    shown = machine.scalable_unit.nodes_per_rack if machine.scalable_unit else ()
    return max((count for count in shown if count <= max_nodes), default=None)


def _describe_excess(
    machine: Machine, count: int, rack: Rack, free_units: int, power_limit: Power | None, power_per_node: Power
) -> str:
    """The limits that a rack with this number of nodes exceeds, with the values and the excess."""
    texts = []
    units, power, weight = machine.body.units, power_per_node * count, machine.body.weight
    if units and units * count > free_units:
        texts.append(f"{units * count} units of {free_units}, {units * count - free_units} over")
    if power_limit and power > power_limit:
        texts.append(f"{power} of {power_limit}, {power - power_limit} over")
    if weight and rack.max_load and weight * count > rack.max_load:
        texts.append(f"{weight * count} of {rack.max_load}, {weight * count - rack.max_load} over")
    return "; ".join(texts) or "with its power shelves"


def _count_shelves(power: Power, context: RackingContext) -> int:
    """Shelves of one rack: those for its power; for redundancy twice as many (2N) or one more (others except N)."""
    assert context.shelf is not None
    needed = max(1, int(-(-power.base // context.shelf.power.base)) if context.shelf.power.base > 0 else 1)
    scheme = context.facility.power.redundancy
    return needed * 2 if scheme == "2N" else needed + (scheme != "N")


def _count_shelf_units(power: Power, context: RackingContext) -> int:
    return _count_shelves(power, context) * (context.shelf.units if context.shelf else 0)


def with_leaves(group: RackGroup, fabrics: Iterable[FabricPlan]) -> RackGroup:
    """The same racks with their leaves: a Clos has one in each rack, if it fits by units, power and weight."""
    for fabric in fabrics:
        leaf = fabric.tiers[0] if fabric.tiers else None
        if leaf is None or fabric.shape != "clos" or fabric.pools != (group.pool,) or group.rack is None:
            continue
        boxes, units = count_switch_boxes(leaf.count, leaf.switch), leaf.switch.units or 1
        if boxes != group.count or fabric.unit_nodes != group.nodes_per_rack or group.units + units > group.rack.units:
            continue
        power, weight = get_switch_power(leaf.switch), leaf.switch.weight
        load = group.weight + weight if group.weight and weight else None
        if (group.power_limit and group.power + power > group.power_limit) or (
            load and group.rack.max_load and load > group.rack.max_load
        ):
            continue
        group = replace(
            group,
            power=group.power + power,
            units=group.units + units,
            weight=load,
            heat=group.heat + compute_switch_heat(leaf.switch, power, group.cooling),
            leaf_fabrics=(*group.leaf_fabrics, fabric.name),
            is_power_lower_bound=group.is_power_lower_bound or not is_power_known(leaf.switch),
        )
    return group
