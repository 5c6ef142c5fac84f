"""Racks of devices of different sizes: switches with service machines, and storage servers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from ....catalog import Machine, Rack, Switch
from ....facility import EquipmentRun, Heat, RackLimits, count_racks, distribute
from ....primitives.quantity import Mass, Power
from ...model.hall import MachineGroup, find_largest_power
from ...model.plan import FabricPlan, RackGroup
from .racking import (
    RackingContext,
    compute_machine_heat,
    compute_node_power,
    compute_switch_heat,
    count_switch_boxes,
    get_switch_power,
    is_power_known,
)

__all__ = ["RackEquipment", "list_network_equipment", "list_server_equipment", "build_shared_group"]

RackEquipment = EquipmentRun[tuple[Literal["switch", "server"], str, Switch | Machine]]
"""Key of switches of a tier (``fabric/tier``) or of servers of a group, and their product."""


def list_network_equipment(fabrics: Iterable[FabricPlan], groups: Iterable[RackGroup]) -> list[RackEquipment]:
    """Switches outside of the racks of nodes: leaves first, so that racks of leaves come before those of spines."""
    top = {name for group in groups for name in group.leaf_fabrics}
    return [
        EquipmentRun(
            ("switch", f"{fabric.name}/{tier.name}", tier.switch),
            0,
            count_switch_boxes(tier.count, tier.switch),
            tier.switch.units or 1,
            get_switch_power(tier.switch),
        )
        for fabric in fabrics
        for tier in fabric.tiers
        if not (fabric.name in top and tier.name == "leaf")
    ]


def list_server_equipment(groups: Sequence[MachineGroup]) -> list[RackEquipment]:
    """Machines outside of the pools; those of unknown size count as one unit."""
    return [
        EquipmentRun(
            ("server", item.name, item.machine),
            0,
            item.count,
            item.machine.body.units or 1,
            compute_node_power(item.machine),
        )
        for item in groups
    ]


def build_shared_group(
    kind: str,
    runs: list[RackEquipment],
    rack: Rack,
    power_limit: Power | None,
    context: RackingContext,
    declared_racks: int | None = None,
) -> RackGroup | None:
    """Racks of devices of different sizes, divided evenly by number; ``declared_racks`` racks if that is sufficient."""
    tall = [run for run in runs if run.units > rack.units]
    path = "facility.management" if kind == "network" else "facility.rack"
    for run in tall:
        context.problems.add_error(
            "rack-fit",
            path,
            f"{run.key[1]} has {run.units} units, {run.units - rack.units} more than the {rack.units} of a {rack.name}",
            "use a taller rack",
        )
    most = context.facility.management.switches if kind == "network" else None
    limits = RackLimits(rack.units, power_limit, most)
    count = count_racks(runs, limits) if not tall else 0
    if not count:
        return None
    if declared_racks and declared_racks < count:
        context.problems.add_error(
            "rack-fit",
            f"{path}.racks",
            f"{declared_racks} racks have no capacity for {sum(run.count for run in runs)} switches and machines: "
            f"{count} are required, {count - declared_racks} more",
            f"set racks: {count}, or raise the power limit of a rack",
        )
    shared = distribute(runs, min(max(count, declared_racks or 0), sum(run.count for run in runs)), limits)
    fullest = max(shared, key=lambda rack: sum(run.power.base * run.count for run in rack))
    heat = Heat()
    for run in fullest:
        thing, power = run.key[2], run.power * run.count
        if isinstance(thing, Switch):
            heat += compute_switch_heat(thing, power, context.cooling)
        else:
            heat += compute_machine_heat(thing, power, context.cooling)[0]
    weights = [_compute_weight(content) for content in shared]
    return RackGroup(
        "",
        rack,
        len(shared),
        0,
        find_largest_power(Power.from_base(sum(run.power.base * run.count for run in content)) for content in shared),
        max(sum(run.units * run.count for run in content) for content in shared),
        "declared"
        if declared_racks and declared_racks > count
        else "units"
        if power_limit is None
        else "units and power",
        kind="network" if kind == "network" else "storage",
        weight=None if None in weights else max((item for item in weights if item is not None), default=None),
        power_limit=power_limit,
        heat=heat,
        cooling=context.cooling,
        is_power_lower_bound=not all(is_power_known(run.key[2]) for run in runs),
    )


def _compute_weight(content: Iterable[RackEquipment]) -> Mass | None:
    total = Mass(0, "kg")
    for run in content:
        thing = run.key[2]
        weight = thing.weight if isinstance(thing, Switch) else thing.body.weight
        if weight is None:
            return None
        total += weight * run.count
    return total
