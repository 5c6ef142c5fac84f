"""Racks of things of different size: switches with service machines, and storage servers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from ....catalog import Machine, Rack, Switch
from ....facility import Heat, Limits, Run, racks_for, share_out
from ....primitives.quantity import Mass, Power
from ...model.hall import MachineGroup, largest
from ...model.plan import FabricPlan, RackGroup
from .racking import Known, is_power_known, machine_heat, node_power, switch_boxes, switch_heat, switch_power

__all__ = ["Things", "network_runs", "server_runs", "shared_group"]

Things = Run[tuple[Literal["switch", "server"], str, Switch | Machine]]
"""Switches of a tier (``fabric/tier``) or servers of a group, with what they are."""


def network_runs(fabrics: Iterable[FabricPlan], groups: Iterable[RackGroup]) -> list[Things]:
    """Switches that do not stand with the nodes: leaves first, so that racks of leaves come before those of spines."""
    top = {name for group in groups for name in group.top}
    return [
        Run(
            ("switch", f"{fabric.name}/{tier.name}", tier.switch),
            0,
            switch_boxes(tier.count, tier.switch),
            tier.switch.units or 1,
            switch_power(tier.switch),
        )
        for fabric in fabrics
        for tier in fabric.tiers
        if not (fabric.name in top and tier.name == "leaf")
    ]


def server_runs(groups: Sequence[MachineGroup]) -> list[Things]:
    """Machines that are in no pool; of unknown size they count as one unit."""
    return [
        Run(("server", item.name, item.machine), 0, item.count, item.machine.body.units or 1, node_power(item.machine))
        for item in groups
    ]


def shared_group(
    kind: str, runs: list[Things], rack: Rack, limit: Power | None, known: Known, declared: int | None = None
) -> RackGroup | None:
    """Racks of things of different size, shared out evenly by number; ``declared`` racks where that is enough."""
    tall = [run for run in runs if run.units > rack.units]
    path = "facility.management" if kind == "network" else "facility.rack"
    for run in tall:
        known.problems.error(
            "rack-fit",
            path,
            f"{run.key[1]} has {run.units} units, {run.units - rack.units} over the {rack.units} of a {rack.name}",
            "take a taller rack",
        )
    most = known.facility.management.switches if kind == "network" else None
    limits = Limits(rack.units, limit, most)
    count = racks_for(runs, limits) if not tall else 0
    if not count:
        return None
    if declared and declared < count:
        known.problems.error(
            "rack-fit",
            f"{path}.racks",
            f"{declared} racks do not hold {sum(run.count for run in runs)} switches and machines: "
            f"{count} are needed, {count - declared} more",
            f"set racks: {count}, or let one draw more",
        )
    shared = share_out(runs, min(max(count, declared or 0), sum(run.count for run in runs)), limits)
    fullest = max(shared, key=lambda rack: sum(run.power.base * run.count for run in rack))
    heat = Heat()
    for run in fullest:
        thing, power = run.key[2], run.power * run.count
        if isinstance(thing, Switch):
            heat += switch_heat(thing, power, known.cooling)
        else:
            heat += machine_heat(thing, power, known.cooling)[0]
    weights = [_weights(content) for content in shared]
    return RackGroup(
        "",
        rack,
        len(shared),
        0,
        largest(Power.of_base(sum(run.power.base * run.count for run in content)) for content in shared),
        max(sum(run.units * run.count for run in content) for content in shared),
        "declared" if declared and declared > count else "units" if limit is None else "units and power",
        kind="network" if kind == "network" else "storage",
        weight=None if None in weights else max((item for item in weights if item is not None), default=None),
        limit=limit,
        heat=heat,
        cooling=known.cooling,
        power_is_least=not all(is_power_known(run.key[2]) for run in runs),
    )


def _weights(content: Iterable[Things]) -> Mass | None:
    total = Mass(0, "kg")
    for run in content:
        thing = run.key[2]
        weight = thing.weight if isinstance(thing, Switch) else thing.body.weight
        if weight is None:
            return None
        total += weight * run.count
    return total
