"""The racks of nodes, and the contents of a full rack."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ....catalog import Machine, PowerShelf, Rack, Switch
from ....facility import Heat, RackFit, compute_losses, compute_rack_fit
from ....primitives.counts import format_indefinite
from ....primitives.quantity import Mass, Power
from ....spec.facility import RackChoice
from ...model.plan import FabricPlan, PoolPlan, RackGroup
from .racking import (
    RackingContext,
    compute_machine_heat,
    compute_node_power,
    compute_switch_heat,
    count_switch_boxes,
    get_switch_power,
    is_power_known,
)

__all__ = ["build_node_group", "with_leaves"]


@dataclass(frozen=True)
class _NodeLoad:
    """What one node takes of a rack."""

    machine: Machine
    used: Power
    """Power of the node."""
    drawn: Power
    """The same with the losses of power shelves."""
    heat: Heat
    shelf: PowerShelf | None
    """Power shelf of the rack, if its nodes are on a busbar."""
    redundancy: str
    """Redundancy scheme of the shelves."""

    @classmethod
    def from_machine(cls, machine: Machine, rack: Rack, cooling: str, context: RackingContext) -> _NodeLoad:
        """The load of a node of a machine in a rack of this cooling method."""
        used = drawn = compute_node_power(machine)
        shelf = context.shelf if rack.busbar != "none" and machine.body.supplies is None else None
        if shelf and shelf.efficiency:
            drawn += compute_losses(used, shelf.efficiency)
        if cooling == "direct-liquid":  # with cold plates, the losses of shelves remain in the air
            heat = compute_machine_heat(machine, used, cooling)[0] + Heat(air=drawn - used)
        else:
            heat = compute_machine_heat(machine, drawn, cooling)[0]
        return cls(machine, used, drawn, heat, shelf, context.facility.power.redundancy)

    def count_shelves(self, nodes: int) -> int:
        """Shelves of one rack: those for its power; for redundancy twice as many (2N) or one more (others except N)."""
        if self.shelf is None:
            return 0
        power, each = (self.used * nodes).base, self.shelf.power.base
        needed = max(1, int(-(-power // each)) if each > 0 else 1)
        return needed * 2 if self.redundancy == "2N" else needed + (self.redundancy != "N")

    def count_units(self, nodes: int) -> int:
        """Rack units of a number of nodes and of their power shelves."""
        shelves = self.count_shelves(nodes) * self.shelf.units if self.shelf else 0
        return nodes * (self.machine.body.units or 0) + shelves


@dataclass(frozen=True)
class _RackSpace:
    """What one rack has for nodes and power shelves."""

    rack: Rack
    units: int
    power: Power | None
    """None: not limited."""

    def compute_fit(self, load: _NodeLoad) -> RackFit | None:
        """Number of nodes that fit, without the units of power shelves; None if no limit is known."""
        return compute_rack_fit(
            units=load.machine.body.units,
            power=load.drawn or None,
            weight=load.machine.body.weight,
            rack_units=max(self.units, 0),
            rack_power=self.power,
            rack_max_weight=self.rack.max_load,
        )

    def describe_excess(self, load: _NodeLoad, nodes: int) -> str:
        """The limits that this number of nodes exceeds, with the values and the excess."""
        texts = []
        units, power, weight = load.machine.body.units, load.drawn * nodes, load.machine.body.weight
        if units and units * nodes > self.units:
            texts.append(f"{units * nodes} units of {self.units}, {units * nodes - self.units} over")
        if self.power and power > self.power:
            texts.append(f"{power} of {self.power}, {power - self.power} over")
        if weight and self.rack.max_load and weight * nodes > self.rack.max_load:
            texts.append(f"{weight * nodes} of {self.rack.max_load}, {weight * nodes - self.rack.max_load} over")
        return "; ".join(texts) or "with its power shelves"


def build_node_group(
    pool: PoolPlan, choice: RackChoice | None, path: str, context: RackingContext, circuit_power: Power | None = None
) -> RackGroup | None:
    """Racks of one pool: whole rack products, the declared number of nodes per rack, that of the reference design, or
    as many as fit.

    ``circuit_power`` is that of the circuits of a rack: it limits the filling, but not a declared number.
    """
    cooling = context.select_cooling(choice)
    if pool.machine.rack:
        return _build_product_group(pool, cooling, context)
    rack = context.find_rack(choice.type, f"{path}.type") if choice else None
    if choice is None or rack is None:
        return None
    load = _NodeLoad.from_machine(pool.machine, rack, cooling, context)
    limits = (choice.power or rack.max_power, None if choice.nodes else circuit_power)
    power_limit = min((item for item in limits if item is not None), default=None)
    space = _RackSpace(rack, rack.units - context.cdu_units, power_limit)
    fit = space.compute_fit(load)
    if choice.nodes is None and (fit is None or fit.count < 1):
        _report_unfit_machine(load, space, fit, path, context)
        return None
    nodes, limited_by = _select_node_count(choice, load, space, fit)
    if fit:
        _check_node_count(nodes, load, space, fit, f"{path}.nodes", context)
    return _build_filled_group(pool, nodes, limited_by, load, space, cooling)


def _select_node_count(choice: RackChoice, load: _NodeLoad, space: _RackSpace, fit: RackFit | None) -> tuple[int, str]:
    """Nodes per rack, and what limits them."""
    if choice.nodes or fit is None:
        return choice.nodes or 1, "declared" if choice.nodes else ""
    usual = _find_reference_count(load.machine, fit.count)
    nodes = usual or fit.count
    if load.machine.body.units:
        while nodes > 1 and load.count_units(nodes) > space.units:  # there are power shelves, too
            nodes -= 1
    return nodes, "reference" if usual else fit.limited_by


def _report_unfit_machine(
    load: _NodeLoad, space: _RackSpace, fit: RackFit | None, path: str, context: RackingContext
) -> None:
    """Report that no node fits a rack, or that the number cannot be computed."""
    name = load.machine.name
    reason = (
        f"{space.rack.name} has no capacity for one {name}, limited by {fit.limited_by}: "
        f"{space.describe_excess(load, 1)}"
        if fit
        else f"size and power of {name} are unknown, so the nodes per rack cannot be computed"
    )
    context.problems.add_error("rack-fit", path, reason, "set facility.rack.nodes, or use another rack")


def _check_node_count(
    nodes: int, load: _NodeLoad, space: _RackSpace, fit: RackFit, path: str, context: RackingContext
) -> None:
    """Check that this number of nodes fits a rack together with its power shelves."""
    units, excess = load.machine.body.units, load.count_units(nodes) - space.units
    if nodes <= fit.count and not (units and excess > 0):
        return
    fits = min(fit.count, max(0, nodes + -excess // units if units else nodes))
    context.problems.add_error(
        "rack-fit",
        path,
        f"{nodes} × {load.machine.name} in {format_indefinite(space.rack.name)}: only {fits} fit, limited by "
        f"{fit.limited_by}: {space.describe_excess(load, nodes)}",
        f"set nodes: {fits}, or use another rack" if fits else "use another rack",
    )


def _build_filled_group(
    pool: PoolPlan, nodes: int, limited_by: str, load: _NodeLoad, space: _RackSpace, cooling: str
) -> RackGroup:
    """Racks with this number of nodes in each."""
    weight, shelf = pool.machine.body.weight, load.shelf
    return RackGroup(
        pool.name,
        space.rack,
        -(-pool.nodes // nodes),
        nodes,
        load.drawn * nodes,
        (pool.machine.body.units or 0) * nodes,
        limited_by,
        weight=weight * nodes if weight else None,
        power_limit=space.power,
        heat=load.heat * nodes,
        cooling=cooling,
        node_power=load.drawn,
        busbar_power=load.used * nodes if shelf else None,
        shelves=load.count_shelves(nodes),
        shelf_power=shelf.power if shelf else None,
        shelf_units=shelf.units if shelf else 0,
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


def with_leaves(group: RackGroup, fabrics: Iterable[FabricPlan]) -> RackGroup:
    """The same racks with their leaves: a Clos has one in each rack, if it fits by units, power and weight."""
    for fabric in fabrics:
        if _has_leaf_per_rack(fabric, group) and _has_space(group, fabric.tiers[0].switch):
            group = _add_leaf(group, fabric.name, fabric.tiers[0].switch)
    return group


def _has_leaf_per_rack(fabric: FabricPlan, group: RackGroup) -> bool:
    """Whether the racks are those of a Clos, with as many leaves."""
    if fabric.shape != "clos" or fabric.pools != (group.pool,) or not fabric.tiers:
        return False
    leaf = fabric.tiers[0]
    return count_switch_boxes(leaf.count, leaf.switch) == group.count and fabric.unit_nodes == group.nodes_per_rack


def _has_space(group: RackGroup, switch: Switch) -> bool:
    """Whether each rack has space for one more switch, by units, power and weight."""
    if group.rack is None or group.units + (switch.units or 1) > group.rack.units:
        return False
    if group.power_limit and group.power + get_switch_power(switch) > group.power_limit:
        return False
    weight = _add_weight(group, switch)
    return not (weight and group.rack.max_load and weight > group.rack.max_load)


def _add_weight(group: RackGroup, switch: Switch) -> Mass | None:
    return group.weight + switch.weight if group.weight and switch.weight else None


def _add_leaf(group: RackGroup, fabric: str, switch: Switch) -> RackGroup:
    power = get_switch_power(switch)
    return replace(
        group,
        power=group.power + power,
        units=group.units + (switch.units or 1),
        weight=_add_weight(group, switch),
        heat=group.heat + compute_switch_heat(switch, power, group.cooling),
        leaf_fabrics=(*group.leaf_fabrics, fabric),
        is_power_lower_bound=group.is_power_lower_bound or not is_power_known(switch),
    )
