"""Racks of devices of different sizes: switches with service machines, and storage servers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from ....catalog import Machine, Rack, Switch
from ....facility import EquipmentRun, Heat, RackLimits, count_racks, distribute
from ....primitives.counts import format_indefinite
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
    kind: Literal["network", "storage"],
    runs: list[RackEquipment],
    rack: Rack,
    power_limit: Power | None,
    context: RackingContext,
    declared_racks: int | None = None,
) -> RackGroup | None:
    """Racks of devices of different sizes, divided evenly by number; ``declared_racks`` racks if that is sufficient."""
    path = "facility.management" if kind == "network" else "facility.rack"
    most = context.facility.management.switches if kind == "network" else None
    limits = RackLimits(rack.units, power_limit, most)
    count = _count_shared_racks(runs, rack, limits, path, context)
    if not count:
        return None
    declared = declared_racks or 0
    devices = sum(run.count for run in runs)
    if 0 < declared < count:
        context.problems.add_error(
            "rack-fit",
            f"{path}.racks",
            f"{declared} racks have no capacity for {devices} switches and machines: "
            f"{count} are required, {count - declared} more",
            f"set racks: {count}, or raise the power limit of a rack",
        )
    racks = distribute(runs, min(max(count, declared), devices), limits)
    kinds = _list_kinds(racks)
    powers = [_compute_power(content) for content in kinds]
    by_limits = "units" if power_limit is None else "units and power"
    return RackGroup(
        "",
        rack,
        len(racks),
        0,
        find_largest_power(powers),
        max(sum(run.units * run.count for run in content) for content in kinds),
        "declared" if declared > count else by_limits,
        kind=kind,
        weight=_find_largest_weight(kinds),
        power_limit=power_limit,
        heat=_compute_heat(kinds[powers.index(max(powers))], context.cooling),
        cooling=context.cooling,
        is_power_lower_bound=not all(is_power_known(run.key[2]) for run in runs),
    )


def _count_shared_racks(
    runs: list[RackEquipment], rack: Rack, limits: RackLimits, path: str, context: RackingContext
) -> int:
    """The minimum number of racks; 0 if there are no devices, or if one is too tall, which is a problem."""
    tall = [run for run in runs if run.units > rack.units]
    for run in tall:
        context.problems.add_error(
            "rack-fit",
            path,
            f"{run.key[1]} has {run.units} units, {run.units - rack.units} more than the {rack.units} of "
            f"{format_indefinite(rack.name)}",
            "use a taller rack",
        )
    return 0 if tall else count_racks(runs, limits)


def _list_kinds(racks: Iterable[list[RackEquipment]]) -> list[list[RackEquipment]]:
    """One rack of each content: thousands of racks have the same devices in the same numbers."""
    return list({tuple((id(run.key), run.count) for run in content): content for content in racks}.values())


def _compute_power(content: Iterable[RackEquipment]) -> Power:
    return Power.from_base(sum(run.power.base * run.count for run in content))


def _compute_heat(content: Iterable[RackEquipment], cooling: str) -> Heat:
    heat = Heat()
    for run in content:
        thing, power = run.key[2], run.power * run.count
        if isinstance(thing, Switch):
            heat += compute_switch_heat(thing, power, cooling)
        else:
            heat += compute_machine_heat(thing, power, cooling)[0]
    return heat


def _find_largest_weight(racks: Iterable[Iterable[RackEquipment]]) -> Mass | None:
    """Weight of the heaviest rack; None if the weight of any device is unknown."""
    weights = [_compute_weight(content) for content in racks]
    known = [weight for weight in weights if weight is not None]
    return max(known, default=None) if len(known) == len(weights) else None


def _compute_weight(content: Iterable[RackEquipment]) -> Mass | None:
    total = Mass(0, "kg")
    for run in content:
        thing = run.key[2]
        weight = thing.weight if isinstance(thing, Switch) else thing.body.weight
        if weight is None:
            return None
        total += weight * run.count
    return total
