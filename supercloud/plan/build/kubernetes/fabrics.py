"""How pods reach the fabrics of a pool: what they ask for, which networks they join, what NCCL is told.

Whole nodes go to one job at a time, so on InfiniBand a pod gets the ports themselves (``host-device``). Where nodes
are cut up among tenants it gets a function of each port (``sr-iov``), else a share of them (``shared``). On a routed
Ethernet fabric each port has one address, the host's: pods share the ports over the host's network. Ports of which the
catalog knows that another maker's operator is needed are left to the host (``host``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from typing import Literal

from ....catalog.machine import Adapter
from ....primitives.addresses import Block, addresses_for
from ...model.plan import FabricPlan, Plan, PoolPlan
from ..fabric.nccl import collectives_file, fabric_settings

__all__ = ["Reach", "Way", "adapter_of", "addresses_per_node", "nccl_of", "pod_blocks", "reach_of", "reaches"]

Way = Literal["host-device", "sr-iov", "shared", "host", "efa", "gke"]
# Pods that may share a port (rdmaHcaMax), and functions of a port at most.
_FUNCTIONS = 8


@dataclass(frozen=True)
class Reach:
    """A pool's way to one fabric."""

    fabric: FabricPlan
    way: Way
    rails: int
    """Ports of a node."""
    named: bool
    """Whether each port is known by name (``rail0`` …), so that rails are told apart."""
    functions: int = 1
    """Functions of each port (``sr-iov``)."""

    @property
    def resources(self) -> dict[str, int]:
        """What a pod that has a node to itself asks for."""
        name = self.fabric.name
        if self.way == "efa":
            return {"vpc.amazonaws.com/efa": self.rails}
        if self.way in ("gke", "host"):
            return {}
        if self.way == "shared":
            return {f"rdma/{name}": 1}
        if not self.named:
            return {f"nvidia.com/{self.ports}": self.rails}
        return {f"nvidia.com/{self.network(rail)}": 1 for rail in range(self.rails)}

    @property
    def networks(self) -> tuple[str, ...]:
        """Networks a pod joins besides its own, in the order of the rails."""
        if self.way in ("host-device", "sr-iov"):
            return tuple(self.network(rail) if self.named else self.ports for rail in range(self.rails))
        return tuple(self.network(rail) for rail in range(self.rails)) if self.way == "gke" else ()

    @property
    def host_network(self) -> bool:
        """Whether the pod uses the host's network."""
        return self.way in ("shared", "host") and self.fabric.kind == "roce"

    @property
    def ports(self) -> str:
        """What rails are called together where they are not told apart; a fabric may be called like a device."""
        return f"{self.fabric.name}-port"

    def network(self, rail: int) -> str:
        """What a rail is called; the functions of a port are no whole ports."""
        return f"{self.fabric.name}-{'vf' if self.way == 'sr-iov' else 'rail'}{rail}"


def adapter_of(pool: PoolPlan, fabric: FabricPlan) -> Adapter | None:
    """The machine's adapters on a fabric."""
    kinds = {"infiniband": ("infiniband", "vpi"), "roce": ("ethernet", "vpi"), "efa": ("efa",)}.get(fabric.kind)
    found = [item for item in pool.machine.adapters if item.role == fabric.role]
    return next((item for item in found if kinds is None or item.kind in kinds), found[0] if found else None)


def reaches(plan: Plan, pool: PoolPlan) -> tuple[Reach, ...]:
    """All fabrics of a pool that pods use for traffic between accelerators."""
    found = (reach_of(plan, pool, fabric) for fabric in plan.fabrics if fabric.name in pool.fabrics)
    return tuple(item for item in found if item)


def reach_of(plan: Plan, pool: PoolPlan, fabric: FabricPlan) -> Reach | None:
    """A pool's way to a fabric; None for networks that pods have no part in."""
    adapter = adapter_of(pool, fabric)
    if fabric.role != "compute" or adapter is None:
        return None
    rails = adapter.count
    if fabric.kind == "efa":
        return Reach(fabric, "efa", rails, named=False)
    if plan.site.kind == "gcp":
        return Reach(fabric, "gke", rails, named=True)
    if fabric.kind not in ("infiniband", "roce"):
        return None
    named = _is_named(plan, adapter)
    if fabric.kind == "roce" and adapter.model and not _operated(plan, adapter):
        return Reach(fabric, "host", rails, named)
    if fabric.kind == "roce" or plan.site.kind != "onprem":
        return Reach(fabric, "shared", rails, named)
    if pool.slicing is None:
        return Reach(fabric, "host-device", rails, named)
    if len(plan.tenants) > 1 and named:
        return _with_functions(plan, Reach(fabric, "sr-iov", rails, named))
    return Reach(fabric, "shared", rails, named)


def _operated(plan: Plan, adapter: Adapter) -> bool:
    """Whether the network operator of the bundle is for such adapters."""
    facts = plan.scheduler.kubernetes
    return facts is not None and adapter.model in facts.nics


def _is_named(plan: Plan, adapter: Adapter) -> bool:
    """Whether each port gets a name of its own, for its RDMA device is known."""
    return len(adapter.devices) == adapter.count and plan.site.kind == "onprem"


def _with_functions(plan: Plan, reach: Reach) -> Reach:
    """As many functions of each port as the rails' subnets have addresses for."""
    tried = (replace(reach, functions=each) for each in range(_FUNCTIONS, 1, -1))
    return next((item for item in tried if all(pod_blocks(plan, item))), reach)


def _pools_alike(plan: Plan, reach: Reach) -> list[tuple[PoolPlan, Adapter]]:
    """Pools whose pods join the same networks: on the same fabric, in the same way, with ports told apart or not."""
    found = ((pool, adapter_of(pool, reach.fabric)) for pool in plan.pools if reach.fabric.name in pool.fabrics)
    return [
        (pool, adapter)
        for pool, adapter in found
        if adapter and (pool.slicing is not None) == (reach.way == "sr-iov") and _is_named(plan, adapter) == reach.named
    ]


def addresses_per_node(plan: Plan, reach: Reach) -> int:
    """Addresses of one network that each node holds for its pods.

    One for each function of a port where each rail is a network. Where ports are not told apart, a pod joins the one
    network once for each of them: nodes hold as many addresses as the node with the most ports has.
    """
    if reach.named:
        return reach.functions
    return reach.functions * max(adapter.count for _, adapter in _pools_alike(plan, reach))


def pod_blocks(plan: Plan, reach: Reach) -> list[Block | None]:
    """For each rail the part of its subnet that pods take their addresses from; None where it is too small.

    Nodes have addresses there, too, in its lower part (``pool_places.py``), and servers have its upper half. Of what
    is below that, addresses for whole ports have the upper half, and those for functions of ports the upper half of the
    rest: no node added moves them. Where the ports of some pools are told apart and those of others are not, the latter
    have the upper half of what whole ports have.
    """
    fabric, way = reach.fabric, reach.way
    joined = plan.networks.joined(fabric.name) if plan.networks else ()
    nodes = addresses_for(max((run.start + run.count for links in joined for run in links.runs), default=1))
    used = sum(pool.nodes for pool, _ in _pools_alike(plan, reach)) * addresses_per_node(plan, reach)
    mixed = way == "host-device" and bool(_pools_alike(plan, replace(reach, named=not reach.named)))
    halves = 2 if plan.networks and plan.networks.served(fabric.name) else 1
    found: list[Block | None] = []
    for subnet in plan.networks.subnets if plan.networks else ():
        if subnet.fabric == fabric.name and subnet.role == "rail":
            part = subnet.block.num_addresses // halves // (4 if way == "sr-iov" else 2)
            size = part // (2 if mixed else 1)
            enough = part >= nodes and size - 2 >= used  # without the block's own address and broadcasts
            first = int(subnet.block.network_address) + part + (size if mixed and not reach.named else 0)
            found.append(IPv4Network((first, 33 - size.bit_length())) if enough else None)
    return found


def nccl_of(plan: Plan, pool: PoolPlan) -> dict[str, str]:
    """Variables of the collective library for a pool's machines, sorted; NCCL's only where the library reads them."""
    found: dict[str, str] = {}
    for reach in reaches(plan, pool):
        adapter = adapter_of(pool, reach.fabric)
        assert adapter is not None
        if reach.way == "efa":
            found |= {"FI_PROVIDER": "efa", "NCCL_SOCKET_IFNAME": "^docker,lo,veth"}
            continue
        if adapter.devices and reach.way not in ("gke", "sr-iov"):  # functions have devices of their own
            found["NCCL_IB_HCA"] = "=" + ",".join(adapter.devices)
        found |= fabric_settings(plan, reach.fabric, pool)
        if reach.way == "sr-iov":  # and tables of their own
            found.pop("NCCL_IB_PKEY", None)
    if collectives_file(pool) is None:
        found = {key: value for key, value in found.items() if not key.startswith("NCCL_")}
    return dict(sorted(found.items()))
