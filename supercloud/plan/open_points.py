"""What a plan leaves open: not wrong, but not decided either."""

from __future__ import annotations

from .cabling.counts import count_cables
from .fabric.model import FabricPlan
from .facility.model import FacilityPlan
from .model import Plan, PoolPlan
from .storage.model import ServerGroup

__all__ = ["describe_open"]


def describe_open(plan: Plan) -> str:
    """What stands in no rack and which cables have no length for that, in one line; empty where nothing is open."""
    if plan.facility is None:
        return ""
    things = [*_loose_nodes(plan.pools, plan.facility), *_loose_boxes(plan.fabrics, plan.servers, plan.facility)]
    if not things:
        return ""
    links = count_cables(plan, [fabric for fabric in plan.fabrics if fabric.tiers]).links
    lengths = f"; {links} links have no cable length, so that kinds which depend on it are open" if links else ""
    return f"{_list(things)} in no rack{lengths}: set {_cure(plan)}"


def _loose_nodes(pools: tuple[PoolPlan, ...], hall: FacilityPlan) -> list[str]:
    placed = {group.pool for group in hall.racks}
    count = sum(pool.nodes for pool in pools if pool.name not in placed)
    return [f"{count} node{'s' * (count > 1)}"] if count else []


def _loose_boxes(fabrics: tuple[FabricPlan, ...], servers: tuple[ServerGroup, ...], hall: FacilityPlan) -> list[str]:
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
    return [f"{count} {what}{_plural(what) * (count > 1)}" for what, count in counts.items() if count]


def _plural(what: str) -> str:
    return "es" if what.endswith("ch") else "s"


def _list(things: list[str]) -> str:
    return f"{', '.join(things[:-1])} and {things[-1]}" if len(things) > 1 else things[0]


def _cure(plan: Plan) -> str:
    facility = plan.spec.facility
    if facility and facility.rack and not facility.management.type:
        return "facility.management.type"
    return "facility.rack"
