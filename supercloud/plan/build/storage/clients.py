"""The pools that are clients of a store: those on the network of its servers, and those that reach it through routers.

It follows from the spec alone, as the servers of a store are counted before any network is built.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ....spec import ClusterSpec, Fabric, Pool
from ...model.plan import Plan, PoolPlan
from ..fabric.roles import find_client_fabric, get_fabric_role, is_routed
from .client_names import KINDS_WITH_NAMED_CLIENTS

__all__ = [
    "list_client_pools",
    "list_unreached_pool_names",
    "has_service_hosts",
    "is_client",
    "select_reaching_pools",
    "list_routed_pools",
    "list_unreached_pools",
    "explain_fabric_only",
]

# Products whose clients configure interfaces: over RDMA these have to be on the fabric itself.
_KINDS_WITH_NAMED_INTERFACES = ("lustre", "weka")
# The building's network, which contains the routers, among names of fabrics.
_BUILDING = ""


def list_client_pools(plan: Plan, index: int) -> tuple[PoolPlan, ...]:
    """The pools whose nodes mount the store at ``index``, in the order of the spec."""
    return select_reaching_pools(plan.spec, index, plan.pools)


def select_reaching_pools(spec: ClusterSpec, index: int, pools: Iterable[PoolPlan]) -> tuple[PoolPlan, ...]:
    """The given pools whose nodes reach the store at ``index`` of a spec."""
    return tuple(pool for pool in pools if _is_reached(spec, index, pool.fabrics))


def list_unreached_pools(plan: Plan, index: int) -> tuple[PoolPlan, ...]:
    """The pools whose nodes have no path to the store at ``index`` and do not mount it."""
    return tuple(pool for pool in plan.pools if not is_client(plan, index, pool))


def list_unreached_pool_names(spec: ClusterSpec, index: int) -> frozenset[str]:
    """The names of the pools of a spec without a path to the store at ``index``."""
    return frozenset(pool.name for pool in spec.pools if not _is_reached(spec, index, pool.fabrics))


def list_routed_pools(plan: Plan, index: int) -> tuple[PoolPlan, ...]:
    """The clients of the store at ``index`` that are on another network than its servers."""
    fabric = find_client_fabric(plan.spec, plan.storage[index].fabric)
    return tuple(pool for pool in list_client_pools(plan, index) if fabric and fabric.name not in pool.fabrics)


def is_client(plan: Plan, index: int, pool: PoolPlan) -> bool:
    """Whether nodes of a pool reach the servers of a store.

    InfiniBand is reached from the same fabric only. Ethernet is reached from networks that are cabled to it: by
    ``upstream``, or through the building's routers if both have ``external_links``. Networks that are not cabled in
    the plan are assumed to be reached.
    """
    return _is_reached(plan.spec, index, pool.fabrics)


def has_service_hosts(plan: Plan, index: int) -> bool:
    """Whether hosts of the in-band network other than nodes, such as login hosts, reach the servers of a store."""
    in_band = [item.name for item in plan.spec.fabrics if get_fabric_role(item) == "in-band"]
    return _is_reached(plan.spec, index, in_band)


def _is_reached(spec: ClusterSpec, index: int, networks: Sequence[str]) -> bool:
    """Whether the servers of a store are reached from any of these networks."""
    fabric = find_client_fabric(spec, spec.storage[index].fabric)
    if spec.site.kind != "onprem" or fabric is None or not _has_switches(spec, fabric) or fabric.name in networks:
        return True
    return _has_route(spec, fabric, networks) and not _explain_fabric_only(spec, index, fabric)


def explain_fabric_only(plan: Plan, index: int, pool: PoolPlan) -> str:
    """The reason why a pool with cables and routers to the servers of a store is not a client of it: clients must be on
    the fabric itself. Empty if they are not connected at all.
    """
    fabric = find_client_fabric(plan.spec, plan.storage[index].fabric)
    if fabric is None or not _has_switches(plan.spec, fabric) or not _has_route(plan.spec, fabric, pool.fabrics):
        return ""
    return _explain_fabric_only(plan.spec, index, fabric)


def _has_route(spec: ClusterSpec, fabric: Fabric, networks: Sequence[str]) -> bool:
    """Whether cables and routers connect any of these networks to an Ethernet fabric."""
    own = [item for item in spec.fabrics if item.name in networks and item.kind != "infiniband"]
    return fabric.kind != "infiniband" and any(
        _is_joined(spec.fabrics, fabric.name, item.name) for item in own if get_fabric_role(item) != "management"
    )


def _has_switches(spec: ClusterSpec, fabric: Fabric) -> bool:
    """Whether a network consists of switches that some pool is connected to: others are not cabled in the plan."""
    return fabric.shape != "torus" and fabric.name in _list_joined_fabrics(_Same(spec.pools))


class _Same:
    """A value as a key that is equal to itself only: a spec may have many pools, which are looked up for each pool and
    store.
    """

    __slots__ = ("value",)

    def __init__(self, value: tuple[Pool, ...]):
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.value is self.value


@lru_cache(maxsize=4)
def _list_joined_fabrics(pools: _Same) -> frozenset[str]:
    """The names of the fabrics with at least one pool."""
    return frozenset(name for pool in pools.value for name in pool.fabrics)


def _explain_fabric_only(spec: ClusterSpec, index: int, fabric: Fabric) -> str:
    """The reason why clients of an Ethernet store must be on the fabric: their files name its RDMA interfaces, or their
    names on it. Empty if they need not be.
    """
    store = spec.storage[index]
    if store.kind in KINDS_WITH_NAMED_CLIENTS:
        named = store.fabric and is_routed(fabric.kind, get_fabric_role(fabric)) and _has_servers(spec, fabric)
        return f"{store.kind} identifies its clients by their names on {store.fabric}" if named else ""
    if store.kind in _KINDS_WITH_NAMED_INTERFACES and not store.interface and fabric.kind == "roce":
        return f"clients of {store.kind} over RoCE name RDMA interfaces of {fabric.name}"
    return ""


def _has_servers(spec: ClusterSpec, fabric: Fabric) -> bool:
    """Whether a network has ports of servers, so that hosts have names on it (``NetworksPlan.list_servers``)."""
    stores = (item for item in spec.storage if item.servers)
    return bool(fabric.services) or any(find_client_fabric(spec, item.fabric) is fabric for item in stores)


def _is_joined(fabrics: Iterable[Fabric], one: str, other: str) -> bool:
    """Whether cables connect one Ethernet network to another, through further ones or the building."""
    pairs: set[tuple[str, str]] = set()
    for item in fabrics:
        if item.kind == "infiniband":
            continue
        if item.upstream:
            pairs.add((item.name, item.upstream.fabric))
        if item.external_links:
            pairs.add((item.name, _BUILDING))
    reached, new = {one}, {one}
    while new:
        new = {b for a, b in (*pairs, *((b, a) for a, b in pairs)) if a in new} - reached
        reached |= new
    return other in reached
