"""What a plan leaves open: not wrong, but not decided either."""

from __future__ import annotations

from ..build.cabling.counts import count_cables
from ..build.facility.unracked import find_unracked
from ..model.fabric import FabricPlan
from ..model.plan import Plan, PoolPlan
from ..model.racks import FacilityPlan
from ..model.storage import ServerGroup

__all__ = ["describe_open"]


def describe_open(plan: Plan) -> str:
    """What stands in no rack and which cables have no length for that, in one line; empty where nothing is open."""
    if plan.facility is None:
        return ""
    unracked = find_unracked(plan)
    boxes = _loose_boxes(plan.fabrics, plan.servers, plan.facility)
    nodes = _loose_nodes(plan.pools, plan.facility)
    links = sum(item.links for item in unracked)
    if nodes or boxes:
        links = count_cables(plan, [fabric for fabric in plan.fabrics if fabric.tiers]).links
    if unracked:
        boxes["service machine"] = boxes.get("service machine", 0) + sum(item.count for item in unracked)
    things = [*nodes, *(f"{count} {what}{_plural(what) * (count > 1)}" for what, count in boxes.items())]
    if not things:
        return ""
    lengths = f"; {links} links have no cable length, so that kinds which depend on it are open" if links else ""
    return f"{_list(things)} in no rack{lengths}: set {_cures(plan, plan.facility)}"


def _loose_pools(pools: tuple[PoolPlan, ...], hall: FacilityPlan) -> list[PoolPlan]:
    placed = {group.pool for group in hall.racks}
    return [pool for pool in pools if pool.name not in placed]


def _loose_nodes(pools: tuple[PoolPlan, ...], hall: FacilityPlan) -> list[str]:
    count = sum(pool.nodes for pool in _loose_pools(pools, hall))
    return [f"{count} node{'s' * (count > 1)}"] if count else []


def _loose_boxes(
    fabrics: tuple[FabricPlan, ...], servers: tuple[ServerGroup, ...], hall: FacilityPlan
) -> dict[str, int]:
    """What of the plan's own machines and switches stands in no rack, and how many."""
    kinds = {group.kind for group in hall.racks}
    above = {name for group in hall.racks for name in group.top}
    switches = sum(
        -(-tier.count // tier.switch.chips)
        for fabric in fabrics for tier in fabric.tiers if tier.name != "leaf" or fabric.name not in above
    )  # fmt: skip
    machines = sum(group.count for group in hall.service)
    stores = sum(group.count for group in servers)
    counts = {"switch": 0 if "network" in kinds else switches, "service machine": 0 if "network" in kinds else machines,
              "storage server": 0 if "storage" in kinds else stores}  # fmt: skip
    return {what: count for what, count in counts.items() if count}


def _plural(what: str) -> str:
    return "es" if what.endswith("ch") else "s"


def _list(things: list[str]) -> str:
    return f"{', '.join(things[:-1])} and {things[-1]}" if len(things) > 1 else things[0]


def _cures(plan: Plan, hall: FacilityPlan) -> str:
    """The fields of the spec that place what stands in no rack."""
    facility = plan.spec.facility
    found = [_cure_of_pool(plan, pool) for pool in _loose_pools(plan.pools, hall)]
    if _loose_boxes(plan.fabrics, plan.servers, hall):
        rack = facility.rack if facility else None
        # a rack that is there does not take them; one that the nodes need anyhow may
        if facility and rack and not facility.management.type:
            found.append("facility.management.type")
        elif rack or not any(item.startswith("facility.rack") for item in found):
            found.append("facility.rack")
    if find_unracked(plan):
        found.append("facility.machines")
    return _list(list(dict.fromkeys(found)))


def _cure_of_pool(plan: Plan, pool: PoolPlan) -> str:
    facility = plan.spec.facility
    index, own = next((index, item.rack) for index, item in enumerate(plan.spec.pools) if item.name == pool.name)
    choice = own or (facility.rack if facility else None)
    if choice is None:  # how many fit follows from the height of the machine, where that is known
        known = pool.machine.body.units or pool.machine.rack
        return "facility.rack" if known else "facility.rack with its type and nodes"
    place = f"pools[{index}].rack" if own else "facility.rack"
    return f"{place}.nodes" if choice.nodes is None else f"{place}.type to another rack"
