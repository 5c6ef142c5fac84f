"""Open points of a plan: not errors, but not decided either."""

from __future__ import annotations

from ..build.cabling.counts import count_cables
from ..build.facility.unracked import find_unracked
from ..model.fabric import FabricPlan
from ..model.plan import Plan, PoolPlan
from ..model.racks import FacilityPlan
from ..model.storage import ServerGroup

__all__ = ["describe_open_points"]


def describe_open_points(plan: Plan) -> str:
    """Devices without a rack and cables without a length because of it, in one line; empty if nothing is open."""
    if plan.facility is None:
        return ""
    unracked = find_unracked(plan)
    boxes = _list_unplaced_devices(plan.fabrics, plan.servers, plan.facility)
    nodes = _list_unplaced_nodes(plan.pools, plan.facility)
    links = sum(item.links for item in unracked)
    if nodes or boxes:
        links = count_cables(plan, [fabric for fabric in plan.fabrics if fabric.tiers]).links
    if unracked:
        boxes["service machine"] = boxes.get("service machine", 0) + sum(item.count for item in unracked)
    things = [*nodes, *(f"{count} {what}{_pluralize(what) * (count > 1)}" for what, count in boxes.items())]
    if not things:
        return ""
    lengths = f"; {links} links have no cable length, so cable types that depend on it are undecided" if links else ""
    return f"{_join_texts(things)} in no rack{lengths}: set {_suggest_fields(plan, plan.facility)}"


def _list_unplaced_pools(pools: tuple[PoolPlan, ...], hall: FacilityPlan) -> list[PoolPlan]:
    placed = {group.pool for group in hall.racks}
    return [pool for pool in pools if pool.name not in placed]


def _list_unplaced_nodes(pools: tuple[PoolPlan, ...], hall: FacilityPlan) -> list[str]:
    count = sum(pool.nodes for pool in _list_unplaced_pools(pools, hall))
    return [f"{count} node{'s' * (count > 1)}"] if count else []


def _list_unplaced_devices(
    fabrics: tuple[FabricPlan, ...], servers: tuple[ServerGroup, ...], hall: FacilityPlan
) -> dict[str, int]:
    """Machines and switches of the plan without a rack, and their numbers."""
    kinds = {group.kind for group in hall.racks}
    above = {name for group in hall.racks for name in group.leaf_fabrics}
    switches = sum(
        -(-tier.count // tier.switch.chips)
        for fabric in fabrics
        for tier in fabric.tiers
        if tier.name != "leaf" or fabric.name not in above
    )
    machines = sum(group.count for group in hall.service_groups)
    stores = sum(group.count for group in servers)
    counts = {
        "switch": 0 if "network" in kinds else switches,
        "service machine": 0 if "network" in kinds else machines,
        "storage server": 0 if "storage" in kinds else stores,
    }
    return {what: count for what, count in counts.items() if count}


def _pluralize(noun: str) -> str:
    return "es" if noun.endswith("ch") else "s"


def _join_texts(texts: list[str]) -> str:
    return f"{', '.join(texts[:-1])} and {texts[-1]}" if len(texts) > 1 else texts[0]


def _suggest_fields(plan: Plan, hall: FacilityPlan) -> str:
    """The fields of the spec that place the devices without a rack."""
    facility = plan.spec.facility
    found = [_suggest_pool_field(plan, pool) for pool in _list_unplaced_pools(plan.pools, hall)]
    if _list_unplaced_devices(plan.fabrics, plan.servers, hall):
        rack = facility.rack if facility else None
        # a declared rack does not accept them; one that the nodes need anyway may
        if facility and rack and not facility.management.type:
            found.append("facility.management.type")
        elif rack or not any(item.startswith("facility.rack") for item in found):
            found.append("facility.rack")
    if find_unracked(plan):
        found.append("facility.machines")
    return _join_texts(list(dict.fromkeys(found)))


def _suggest_pool_field(plan: Plan, pool: PoolPlan) -> str:
    facility = plan.spec.facility
    index, own = next((index, item.rack) for index, item in enumerate(plan.spec.pools) if item.name == pool.name)
    choice = own or (facility.rack if facility else None)
    if choice is None:  # the number per rack follows from the height of the machine, if known
        known = pool.machine.body.units or pool.machine.rack
        return "facility.rack" if known else "facility.rack with its type and nodes"
    place = f"pools[{index}].rack" if own else "facility.rack"
    return f"{place}.nodes" if choice.nodes is None else f"{place}.type to another rack"
