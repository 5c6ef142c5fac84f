"""How pods use the fabrics of a pool: requested resources, networks to join, NCCL settings.

A node runs one job at a time, so on InfiniBand a pod gets whole ports (``host-device``). If nodes are partitioned among
tenants, it gets a function of each port (``sr-iov``), else shared access (``shared``). On a routed Ethernet fabric each
port has one address, that of the host: pods share the ports by host networking. Ports that, by the catalog, need the
operator of another vendor are left to the host (``host``). A provider may count ports by its own device plugin
(``provider-plugin``), or make a network of each (``provider-networks``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from ipaddress import IPv4Network
from typing import Literal

from ....catalog.kubernetes_service import PortPlugin
from ....catalog.machine import Adapter
from ....primitives.addresses import Block, compute_block_size
from ...model.network import NetworksPlan
from ...model.plan import FabricPlan, Plan, PoolPlan
from ..fabric.roles import can_join_fabric
from ..network.nccl import build_fabric_settings, find_collectives_file

__all__ = [
    "FabricAttachment",
    "AttachmentMode",
    "find_pool_adapter",
    "count_addresses_per_node",
    "build_nccl_environment",
    "compute_pod_blocks",
    "find_attachment",
    "list_attachments",
]

AttachmentMode = Literal["host-device", "sr-iov", "shared", "host", "provider-plugin", "provider-networks"]
_RDMA_FABRICS = ("infiniband", "roce")
# Maximum number of pods that share a port (rdmaHcaMax), and maximum number of functions of a port.
_MAX_PORT_FUNCTIONS = 8


@dataclass(frozen=True)
class FabricAttachment:
    """Access of a pool's pods to one fabric."""

    fabric: FabricPlan
    mode: AttachmentMode
    rails: int
    """Ports per node."""
    has_named_ports: bool
    """Whether each port has a separate name (``rail0`` …), so that rails can be distinguished."""
    port_functions: int = 1
    """Functions per port (``sr-iov``)."""
    plugin: PortPlugin | None = None
    """The device plugin for the ports (``provider-plugin``)."""

    @property
    def resources(self) -> dict[str, int]:
        """Resources requested by a pod that uses a whole node."""
        name = self.fabric.name
        if self.plugin is not None:
            return {self.plugin.resource: self.rails}
        if self.mode in ("provider-networks", "host"):
            return {}
        if self.mode == "shared":
            return {f"rdma/{name}": 1}
        if not self.has_named_ports:
            return {f"nvidia.com/{self.shared_port_name}": self.rails}
        return {f"nvidia.com/{self.format_network_name(rail)}": 1 for rail in range(self.rails)}

    @property
    def networks(self) -> tuple[str, ...]:
        """Networks that a pod joins in addition to the default one, in the order of the rails."""
        if self.mode in ("host-device", "sr-iov"):
            return tuple(
                self.format_network_name(rail) if self.has_named_ports else self.shared_port_name
                for rail in range(self.rails)
            )
        if self.mode == "provider-networks":
            return tuple(self.format_network_name(rail) for rail in range(self.rails))
        return ()

    @property
    def needs_host_network(self) -> bool:
        """Whether the pod uses host networking."""
        return self.mode in ("shared", "host") and self.fabric.kind == "roce"

    @property
    def needs_locked_memory(self) -> bool:
        """Whether the pod must lock memory, as RDMA does."""
        return self.fabric.kind in _RDMA_FABRICS or (self.plugin is not None and self.plugin.locks_memory)

    @property
    def shared_port_name(self) -> str:
        """Common name of rails that are not distinguished; a fabric may have the name of a device."""
        return f"{self.fabric.name}-port"

    def format_network_name(self, rail: int) -> str:
        """Name of a rail; the functions of a port have other names than whole ports."""
        return f"{self.fabric.name}-{'vf' if self.mode == 'sr-iov' else 'rail'}{rail}"


def find_pool_adapter(pool: PoolPlan, fabric: FabricPlan) -> Adapter | None:
    """The machine's adapters on a fabric."""
    found = [item for item in pool.machine.adapters if item.role == fabric.role]
    return next((item for item in found if can_join_fabric(item, fabric.kind)), found[0] if found else None)


def list_attachments(plan: Plan, pool: PoolPlan) -> tuple[FabricAttachment, ...]:
    """All fabrics of a pool that pods use for traffic between accelerators."""
    found = (find_attachment(plan, pool, fabric) for fabric in plan.fabrics if fabric.name in pool.fabrics)
    return tuple(item for item in found if item)


def find_attachment(plan: Plan, pool: PoolPlan, fabric: FabricPlan) -> FabricAttachment | None:
    """Access of a pool to a fabric; None for networks that pods do not use."""
    adapter = find_pool_adapter(pool, fabric)
    if fabric.role != "compute" or adapter is None:
        return None
    rails, facts = adapter.count, plan.scheduler.kubernetes
    if facts and (plugin := facts.find_port_plugin(fabric.kind)):
        return FabricAttachment(fabric, "provider-plugin", rails, has_named_ports=False, plugin=plugin)
    if facts and facts.service and facts.service.pod_networks:
        return FabricAttachment(fabric, "provider-networks", rails, has_named_ports=True)
    if fabric.kind not in _RDMA_FABRICS:
        return None
    attachment = FabricAttachment(fabric, "shared", rails, _has_named_ports(plan, adapter))
    if fabric.kind == "roce":
        has_support = not adapter.model or _has_operator_support(plan, adapter)
        return attachment if has_support else replace(attachment, mode="host")
    if plan.site.kind != "onprem":
        return attachment
    return _select_port_mode(plan, pool, attachment)


def _select_port_mode(plan: Plan, pool: PoolPlan, attachment: FabricAttachment) -> FabricAttachment:
    """On InfiniBand on-prem: whole ports, or functions of ports if tenants share nodes, or shared ports."""
    if pool.slicing is None:
        return replace(attachment, mode="host-device")
    if len(plan.tenants) > 1 and attachment.has_named_ports:
        return _with_functions(plan, replace(attachment, mode="sr-iov"))
    return attachment


def _has_operator_support(plan: Plan, adapter: Adapter) -> bool:
    """Whether the network operator of the bundle supports such adapters."""
    facts = plan.scheduler.kubernetes
    return facts is not None and adapter.model in facts.nics


def _has_named_ports(plan: Plan, adapter: Adapter) -> bool:
    """Whether each port gets a separate name, because its RDMA device is known."""
    return len(adapter.devices) == adapter.count and plan.site.kind == "onprem"


def _with_functions(plan: Plan, attachment: FabricAttachment) -> FabricAttachment:
    """Number of functions per port: as many as the rails' subnets have addresses for."""
    tried = (replace(attachment, port_functions=each) for each in range(_MAX_PORT_FUNCTIONS, 1, -1))
    return next((item for item in tried if all(compute_pod_blocks(plan, item))), attachment)


def _list_matching_pools(plan: Plan, attachment: FabricAttachment) -> list[tuple[PoolPlan, Adapter]]:
    """Pools whose pods join the same networks: the same fabric, access mode and distinction of ports."""
    found = (
        (pool, find_pool_adapter(pool, attachment.fabric))
        for pool in plan.pools
        if attachment.fabric.name in pool.fabrics
    )
    return [
        (pool, adapter)
        for pool, adapter in found
        if adapter
        and (pool.slicing is not None) == (attachment.mode == "sr-iov")
        and _has_named_ports(plan, adapter) == attachment.has_named_ports
    ]


def count_addresses_per_node(plan: Plan, attachment: FabricAttachment) -> int:
    """Addresses of one network that each node reserves for its pods.

    One for each function of a port if each rail is a network. If ports are not distinguished, a pod joins the single
    network once per port: nodes reserve as many addresses as the node with the most ports needs.
    """
    if attachment.has_named_ports:
        return attachment.port_functions
    return attachment.port_functions * max(adapter.count for _, adapter in _list_matching_pools(plan, attachment))


def compute_pod_blocks(plan: Plan, attachment: FabricAttachment) -> list[Block | None]:
    """For each rail the part of its subnet for pod addresses; None if it is too small.

    The lower part of the subnet contains the addresses of nodes (``pool_starts.py``), its upper half those of servers.
    Of the part below, the upper half is for whole ports, and the upper half of the rest for functions of ports, so that
    adding nodes moves neither. If the ports of only some pools are distinguished, the other pools use the upper half of
    the part for whole ports.
    """
    if plan.networks is None:
        return []
    name = attachment.fabric.name
    nodes = _count_node_addresses(plan.networks, name)
    used = sum(pool.nodes for pool, _ in _list_matching_pools(plan, attachment)) * count_addresses_per_node(
        plan, attachment
    )
    halves = 2 if plan.networks.list_servers(name) else 1
    mixed = _has_mixed_ports(plan, attachment)
    found: list[Block | None] = []
    for subnet in plan.networks.subnets:
        if subnet.fabric == name and subnet.role == "rail":
            part = subnet.block.num_addresses // halves // (4 if attachment.mode == "sr-iov" else 2)
            size = part // (2 if mixed else 1)
            enough = part >= nodes and size - 2 >= used  # without network and broadcast addresses
            first = int(subnet.block.network_address) + part + (size if mixed and not attachment.has_named_ports else 0)
            found.append(IPv4Network((first, 33 - size.bit_length())) if enough else None)
    return found


def _count_node_addresses(networks: NetworksPlan, fabric_name: str) -> int:
    """Size of the block with the addresses of the nodes on each rail of a fabric."""
    joined = networks.list_pool_links(fabric_name)
    return compute_block_size(max((run.start + run.count for links in joined for run in links.runs), default=1))


def _has_mixed_ports(plan: Plan, attachment: FabricAttachment) -> bool:
    """Whether other pools on the fabric get whole ports that are distinguished if these are not, or the reverse."""
    return attachment.mode == "host-device" and bool(
        _list_matching_pools(plan, replace(attachment, has_named_ports=not attachment.has_named_ports))
    )


def build_nccl_environment(plan: Plan, pool: PoolPlan) -> dict[str, str]:
    """Environment variables of the collective library for a pool's machines, sorted; NCCL's only if the library reads
    them.
    """
    found: dict[str, str] = {}
    for reach in list_attachments(plan, pool):
        adapter = find_pool_adapter(pool, reach.fabric)
        assert adapter is not None
        if reach.plugin is not None:
            found |= reach.plugin.environment
            continue
        if adapter.devices and reach.mode not in ("provider-networks", "sr-iov"):  # functions have separate devices
            found["NCCL_IB_HCA"] = "=" + ",".join(adapter.devices)
        found |= build_fabric_settings(plan, reach.fabric, pool)
        if reach.mode == "sr-iov":  # and separate GID tables
            found.pop("NCCL_IB_PKEY", None)
    if find_collectives_file(pool) is None:
        found = {key: value for key, value in found.items() if not key.startswith("NCCL_")}
    return dict(sorted(found.items()))
