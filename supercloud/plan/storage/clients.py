"""Which pools are clients of a store: those that are on the network of its servers, or reach it through routers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...spec import Fabric
from ..fabric.roles import client_fabric, role_of
from ..model import FabricPlan, Plan, PoolPlan
from .client_names import client_suffix

__all__ = ["client_pools", "has_service_hosts", "is_client", "routed_pools", "unreached_pools",
           "why_on_fabric_only"]  # fmt: skip

# Products whose clients are told which interfaces to use: over RDMA these have to be on the fabric itself.
_NAMING = ("lustre", "weka")
# The building's network, which has the routers, among names of fabrics.
_BUILDING = ""


def client_pools(plan: Plan, index: int) -> tuple[PoolPlan, ...]:
    """The pools whose nodes mount the store at ``index``, in the order of the spec."""
    return tuple(pool for pool in plan.pools if is_client(plan, index, pool))


def unreached_pools(plan: Plan, index: int) -> tuple[PoolPlan, ...]:
    """The pools whose nodes have no way to the store at ``index``: nothing mounts it there."""
    return tuple(pool for pool in plan.pools if not is_client(plan, index, pool))


def routed_pools(plan: Plan, index: int) -> tuple[PoolPlan, ...]:
    """The clients of the store at ``index`` that are on another network than its servers."""
    fabric = client_fabric(plan.spec, plan.storage[index].fabric)
    return tuple(pool for pool in client_pools(plan, index) if fabric and fabric.name not in pool.fabrics)


def is_client(plan: Plan, index: int, pool: PoolPlan) -> bool:
    """Whether nodes of a pool reach the servers of a store.

    InfiniBand is reached from itself only. Ethernet is reached from networks that are cabled to it: by ``joins``, or
    through the building's routers where both have ``exits``. What is not cabled in the plan is taken to be reached.
    """
    return _is_reached(plan, index, pool.fabrics)


def has_service_hosts(plan: Plan, index: int) -> bool:
    """Whether hosts of the ordinary network that are no nodes, such as login hosts, reach the servers of a store."""
    ordinary = [item.name for item in plan.spec.fabrics if role_of(item) == "in-band"]
    return _is_reached(plan, index, ordinary)


def _is_reached(plan: Plan, index: int, networks: Sequence[str]) -> bool:
    """Whether the servers of a store are reached from some of these networks."""
    if plan.site.kind != "onprem":
        return True
    fabric = _switched(plan, client_fabric(plan.spec, plan.storage[index].fabric))
    if fabric is None or fabric.name in networks:
        return True
    return _has_way(plan, fabric, networks) and not _on_fabric_only(plan, index)


def why_on_fabric_only(plan: Plan, index: int, pool: PoolPlan) -> str:
    """Why a pool that cables and routers lead from to the servers of a store is no client of it: what clients need the
    fabric itself for. Empty where no way leads there at all."""
    fabric = _switched(plan, client_fabric(plan.spec, plan.storage[index].fabric))
    return _on_fabric_only(plan, index) if fabric and _has_way(plan, fabric, pool.fabrics) else ""


def _has_way(plan: Plan, fabric: FabricPlan, networks: Sequence[str]) -> bool:
    """Whether cables and routers lead from one of these other networks to an Ethernet fabric."""
    own = [item for item in plan.spec.fabrics if item.name in networks and item.kind != "infiniband"]
    return fabric.kind != "infiniband" and any(
        _is_joined(plan.spec.fabrics, fabric.name, item.name) for item in own if role_of(item) != "management"
    )


def _on_fabric_only(plan: Plan, index: int) -> str:
    """What clients of an Ethernet store have to be on the fabric for: their files name its RDMA interfaces, or their
    own names there. Empty where they need not."""
    store = plan.storage[index]
    fabric = client_fabric(plan.spec, store.fabric)
    if fabric and fabric.kind == "roce" and store.kind in _NAMING and not plan.spec.storage[index].interface:
        return f"clients of {store.kind} over RoCE name RDMA interfaces of {fabric.name}"
    return f"{store.kind} knows its clients by their names on {store.fabric}" if client_suffix(plan, index) else ""


def _switched(plan: Plan, declared: Fabric | None) -> FabricPlan | None:
    return next((item for item in plan.fabrics if declared and item.name == declared.name and item.tiers), None)


def _is_joined(fabrics: Iterable[Fabric], one: str, other: str) -> bool:
    """Whether cables lead from one Ethernet network to another, over further ones or the building."""
    pairs: set[tuple[str, str]] = set()
    for item in fabrics:
        if item.kind == "infiniband":
            continue
        if item.joins:
            pairs.add((item.name, item.joins.fabric))
        if item.exits:
            pairs.add((item.name, _BUILDING))
    reached, new = {one}, {one}
    while new:
        new = {b for a, b in (*pairs, *((b, a) for a, b in pairs)) if a in new} - reached
        reached |= new
    return other in reached
