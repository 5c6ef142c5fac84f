"""The networks of the published plan: subnets, names, addresses and AS numbers, all as runs.

A changed number here renumbers running hosts or switches; ``diff`` reports it.
"""

from __future__ import annotations

from ..build.kubernetes.networks import build_cluster_networks
from ..model.addressed_links import PoolLinks, ServerLinks
from ..model.network import SwitchRun, Underlay
from ..model.plan import Plan
from ..model.subnet import Subnet
from .document_part import DocumentPart

__all__ = ["NetworksDocument", "build_networks_document"]


class SubnetDocument(DocumentPart):
    """A subnet of the on-prem networks."""

    name: str
    """Name of the subnet."""
    role: str
    """Use of its addresses: ``service``, ``in-band``, ``storage``, ``bmc``, ``switch``, ``loopback`` or ``rail``."""
    cidr: str
    """Address range."""
    gateway: str | None
    """Null if the subnet has no gateway, or one per link."""
    used_addresses: int
    """Number of addresses in use."""


class RunDocument(DocumentPart):
    """Hosts with consecutive addresses."""

    name: str
    """Pool of the nodes, or group of the servers or machines; ``pdu`` for power distribution units."""
    hosts: str
    """Folded list of host names."""
    addresses: str
    """Addresses in the order of the hosts, folded."""


class LoopbackDocument(DocumentPart):
    """Loopback addresses of switches."""

    addresses: str
    """Addresses in the order of the switches, folded."""


class SwitchRunDocument(DocumentPart):
    """Switches of one tier of a fabric."""

    name: str
    """``<fabric>/<tier>``."""
    hosts: str
    """Host names of the switches in the order of the wiring."""
    network_os: str | None
    """Operating system; null on InfiniBand, and if it is unknown."""
    addresses: str
    """Addresses of the management ports. With n planes, those of plane p are every n-th address from the p-th."""
    loopbacks: LoopbackDocument | None
    """Loopback addresses; null if the fabric is not routed."""
    asn_first: int | None
    """AS number of the first switch; null if the fabric is not routed."""
    asn_step: int | None
    """Step from the AS number of one switch to that of the next, as planes alternate; null if the fabric is not routed.
    """


class RailRunDocument(DocumentPart):
    """Ports of nodes in one subnet."""

    name: str
    """Name of the subnet."""
    addresses: str | None
    """Addresses of the nodes, in their order; null for routed links."""
    first_address: str | None
    """Routed links: address of the first node's first port in the subnet. The other addresses follow from the leaf and
    the port of each cable."""


class PoolLinksDocument(DocumentPart):
    """Ports of the nodes of a pool on one fabric."""

    name: str
    """``<fabric>/<pool>``."""
    rails: list[RailRunDocument]
    """Ports by subnet."""


class ServerLinksDocument(DocumentPart):
    """Ports of storage servers or service machines on one fabric."""

    name: str
    """``<fabric>/<group of storage servers, or service>``."""
    hosts: str
    """Folded list of host names."""
    ports: int
    """Ports of one machine."""
    cidrs: list[str]
    """Addresses of their ports: one block per plane for routed links, else one per rail."""
    first_address: str
    """Address of the first machine's first port, in the first of those blocks."""
    step: int
    """Address step from one machine to the next: 2 for routed links."""
    port_step: int
    """Address step from one port of a machine to the next in a block."""


class MachinesDocument(DocumentPart):
    """Service machines of one purpose."""

    name: str
    """Name of the group."""
    hosts: str
    """Folded list of host names."""
    addresses: str | None
    """On the in-band network, in the order of the hosts; null if they are not connected to it."""


class UnderlayDocument(DocumentPart):
    """Addresses and AS numbers of a routed fabric."""

    name: str
    """Name of the fabric."""
    cidr: str
    """Addresses of all links of nodes and servers."""
    addresses_per_leaf: int
    """Number of addresses of the prefix of one leaf: two for each port."""
    asn_range: str
    """First and last AS number of the fabric."""


class KubernetesRangesDocument(DocumentPart):
    """Address ranges of an on-prem Kubernetes cluster."""

    pods: str | None
    """Pod address block; null if no block of the size is free."""
    services: str | None
    """Service address block; null if no block of the size is free."""
    endpoint: str
    """Address of the control plane."""


class NetworksDocument(DocumentPart):
    """All names and addresses, except those of the nodes themselves."""

    subnets: list[SubnetDocument]
    """Subnets in use."""
    bmcs: list[RunDocument]
    """Management controllers (BMCs) and power distribution units with their addresses."""
    switches: list[SwitchRunDocument]
    """Switches with their addresses and AS numbers."""
    underlays: list[UnderlayDocument]
    """Routed fabrics."""
    nodes: list[PoolLinksDocument] = []
    """Ports of the pools' nodes on fabrics whose ports have addresses."""
    servers: list[ServerLinksDocument]
    """Ports of storage servers and service machines on fabrics whose ports have addresses."""
    machines: list[MachinesDocument] = []
    """Service machines: management servers, subnet managers."""
    kubernetes: KubernetesRangesDocument | None = None
    """Null under another scheduler."""


def build_networks_document(plan: Plan) -> NetworksDocument | None:
    """Build the published form; None in a cloud."""
    networks = plan.networks
    if networks is None:
        return None
    return NetworksDocument(
        subnets=[_build_subnet(item) for item in networks.subnets],
        bmcs=[
            RunDocument(name=item.group, hosts=str(item.names), addresses=str(item.addresses)) for item in networks.bmcs
        ],
        switches=[_build_switch_run(run) for run in networks.switches],
        underlays=[_build_underlay(item) for item in networks.underlays],
        nodes=[_build_pool_links(item) for item in networks.nodes],
        servers=[_build_server_links(item) for item in networks.servers],
        machines=[
            MachinesDocument(
                name=item.name, hosts=str(item.hosts), addresses=str(item.addresses) if item.addresses else None
            )
            for item in networks.machines
        ],
        kubernetes=_build_kubernetes_ranges(plan) if plan.scheduler.kind == "kubernetes" else None,
    )


def _build_kubernetes_ranges(plan: Plan) -> KubernetesRangesDocument:
    ranges = build_cluster_networks(plan)
    return KubernetesRangesDocument(
        pods=str(ranges.pods) if ranges.pods else None,
        services=str(ranges.services) if ranges.services else None,
        endpoint=ranges.endpoint,
    )


def _build_subnet(subnet: Subnet) -> SubnetDocument:
    return SubnetDocument(
        name=subnet.name, role=subnet.role, cidr=str(subnet.block), gateway=subnet.gateway, used_addresses=subnet.hosts
    )


def _build_switch_run(run: SwitchRun) -> SwitchRunDocument:
    routed = run.as_numbers != (0, 0)
    return SwitchRunDocument(
        name=f"{run.fabric}/{run.tier.name}",
        hosts=str(run.hosts),
        network_os=run.network_os.name if run.network_os else None,
        addresses=str(run.management),
        loopbacks=LoopbackDocument(addresses=str(run.loopbacks)) if run.loopbacks else None,
        asn_first=run.as_numbers[0] if routed else None,
        asn_step=run.as_numbers[1] if routed else None,
    )


def _build_pool_links(item: PoolLinks) -> PoolLinksDocument:
    runs = [str(run) for run in item.runs]
    return PoolLinksDocument(
        name=f"{item.fabric}/{item.pool}",
        rails=[
            RailRunDocument(
                name=subnet.name,
                addresses=runs[number] if runs else None,
                first_address=None if runs else item.get_first_address(number),
            )
            for number, subnet in enumerate(item.subnets)
        ],
    )


def _build_server_links(links: ServerLinks) -> ServerLinksDocument:
    step = 2 if links.is_routed else 1
    return ServerLinksDocument(
        name=f"{links.fabric}/{links.name}",
        hosts=str(links.hosts),
        ports=links.ports,
        cidrs=[str(block) for block in links.blocks],
        first_address=links.get_address(0, 0),
        step=step,
        port_step=step * links.capacity,
    )


def _build_underlay(underlay: Underlay) -> UnderlayDocument:
    first, last = underlay.as_numbers
    return UnderlayDocument(
        name=underlay.fabric,
        cidr=str(underlay.block),
        addresses_per_leaf=underlay.rails.leaf_addresses,
        asn_range=f"{first}-{last}",
    )
