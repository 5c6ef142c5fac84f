"""Networks between accelerators: kind, shape and switches."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import (
    MAX_CHOICES,
    Count,
    DataRate,
    DuplicateNameError,
    Flag,
    IntegerRange,
    Links,
    MachineCount,
    Model,
    Name,
    PairLinks,
    Ratio,
    StoredSize,
    Text,
    find_duplicates,
)

__all__ = [
    "Cabling",
    "Fabric",
    "FabricKind",
    "UpstreamFabric",
    "SubnetManager",
    "Oversubscription",
    "Partition",
    "Service",
    "Switches",
]

FabricKind = Literal["infiniband", "roce", "ethernet", "efa", "gpudirect-tcpx", "ici"]


Cidr = Annotated[
    str, Field(pattern=r"^[0-9a-fA-F.:]{2,45}/\d{1,3}$", json_schema_extra={"typeName": "address range (CIDR)"})
]
Dscp = Annotated[int, IntegerRange(0, 63)]
Priority = Annotated[int, IntegerRange(0, 7)]
Mtu = Annotated[int, IntegerRange(1280, 9216), Field(json_schema_extra={"unit": "bytes"})]
OversubscriptionRatio = Annotated[float, Field(strict=True, ge=0.1, le=1000, json_schema_extra={"unit": "ratio"})]

_MAX_SERVICE_LINKS = 1_000_000
"""Links of services and the manager of a fabric, including those between machines of a pair: each is a row of cabling,
and more would take seconds."""


class Switches(Model):
    """A switch for each tier, if they differ."""

    leaf: Text
    """Switch of the catalog for leaves. Example: ``nvidia-sn5600``."""
    spine: Text | None = None
    """Switch for spines; empty means that of the leaves. Example: ``nvidia-sn5600``."""
    core: Text | None = None
    """Switch for the third tier; empty means that of the spines. Example: ``nvidia-sn5600``."""


class SwitchSystems(Model):
    """The operating system of the switches of each tier, if they differ."""

    leaf: Text
    """Operating system of the leaves, in the catalog's ``network-systems``. Example: ``nvue``."""
    spine: Text | None = None
    """Operating system of the spines; empty means that of the leaves. Example: ``sonic``."""
    core: Text | None = None
    """Operating system of the core switches; empty means that of the spines. Example: ``sonic``."""


class Routing(Model):
    """The underlay of an Ethernet fabric: eBGP, one session per link."""

    asn_range: Annotated[str, Field(pattern=r"^\d{1,10}-\d{1,10}$")] | None = None
    """AS numbers for switches, such as 4200000000-4200009999; empty means a part of the private range. Example:
    ``4200000000-4200009999``."""
    bfd: Flag = False
    """Monitor every session with BFD."""


class Ecn(Model):
    """ECN thresholds of a queue."""

    min: StoredSize
    """Queue length from which packets are marked. Example: ``1 MB``."""
    max: StoredSize
    """Queue length from which they are marked with ``probability``. Example: ``3 MB``."""
    probability: Annotated[int, IntegerRange(1, 100), Field(json_schema_extra={"unit": "percent"})]
    """Percent at ``max``. Example: ``10``."""


class Qos(Model):
    """Changes to the lossless settings of the catalog; switches and hosts follow it alike."""

    dscp: Dscp | None = None
    """DSCP of RDMA data; empty means that of the catalog. Example: ``26``."""
    priority: Priority | None = None
    """Priority, traffic class and queue of RDMA data; the only one paused by PFC. Empty means that of the catalog.
    Example: ``3``."""
    cnp_dscp: Dscp | None = None
    """DSCP of congestion notifications (CNP); empty means that of the catalog. Example: ``48``."""
    cnp_priority: Priority | None = None
    """Priority of congestion notifications, with strict scheduling; empty means that of the catalog. Example: ``6``."""
    mtu: Mtu | None = None
    """MTU of links between switches, in bytes; empty means that of the catalog. Example: ``9216``."""
    host_mtu: Mtu | None = None
    """MTU of hosts' interfaces, in bytes; empty means that of the catalog. Example: ``9000``."""
    ecn: Ecn | None = None
    """Thresholds of ECN marking; empty means those of the catalog. Example: ``{min: 1 MB, max: 3 MB, probability:
    10}``."""


class Oversubscription(Model):
    """Ratio of downlink to uplink bandwidth of a tier: 7 means 7 to 1."""

    leaf: OversubscriptionRatio = 1
    """Ratio of leaves. Example: ``2``."""
    spine: OversubscriptionRatio = 1
    """Ratio of spines below core switches. Example: ``1.5``."""


class SubnetManager(Model):
    """Subnet-manager appliances on ports of the leaves."""

    links: Links
    """Number of their links in the whole fabric. Example: ``4``."""
    appliances: MachineCount | None = None
    """Number of appliances; empty means one per link. Example: ``2``."""
    speed: DataRate | None = None
    """Speed of a link; empty means the fabric's. With half of it two links share a leaf port through a splitter.
    Example: ``200 Gb/s``."""
    cage: Text | None = None
    """Form of the cages of its links: osfp (modules of two links), osfp-single, qsfp112, rj45 …; empty means that no
    cable can be selected. Example: ``osfp``."""
    cable: Text | None = None
    """Cable of the catalog for its links; empty means the simplest that is long enough. Example: ``nvidia-mfp7e10``."""
    pack: Flag = False
    """Splitters share modules with each other, on as few leaves as possible: fewer modules, less redundancy."""
    peer_links: PairLinks = 0
    """Links between the two appliances of a pair, in addition to the management network: back to back. Example:
    ``1``."""
    product: Text | None = None
    """Name in the bill of materials; empty means the name of the group. Example: ``NVIDIA UFM 3.0 appliance``."""
    part_number: Text | None = None
    """Part number for the bill of materials; empty means none. Example: ``MUA8502H``."""

    @model_validator(mode="after")
    def _check_appliances(self) -> SubnetManager:
        if self.appliances is not None and self.appliances > self.links:
            raise ValueError(
                f"links: {self.links} in the whole fabric for {self.appliances} appliances: "
                f"{self.appliances - self.links} of them would have no link. Use links: {self.appliances} or more, or "
                "fewer appliances"
            )
        return self


class Service(Model):
    """Machines on a fabric that are not nodes of a pool: storage, management. The same name in several fabrics means
    the same machines.
    """

    name: Name
    """Name of the group; host names are this name and a number (mgmt-01). Example: ``mgmt``."""
    count: MachineCount
    """Number of machines. Example: ``4``."""
    links: Annotated[int, IntegerRange(1, 1024)] = 1
    """Links of each machine. Example: ``2``."""
    speed: DataRate | None = None
    """Speed of a link; empty means the fabric's. With half of it two links share a leaf port through a splitter.
    Example: ``200 Gb/s``."""
    cage: Text | None = None
    """Form of the cages of its links: osfp (modules of two links), osfp-single, qsfp112, rj45 …; empty means that no
    cable can be selected. Example: ``osfp``."""
    cable: Text | None = None
    """Cable of the catalog for its links; empty means the simplest that is long enough. Example: ``nvidia-mfp7e10``."""
    pack: Flag = False
    """Splitters share modules with each other, on as few leaves as possible: fewer modules, less redundancy."""
    peer_links: PairLinks = 0
    """Links between the two machines of a pair, in addition to the management network: back to back. Example: ``1``."""
    non_blocking: Flag = False
    """Leaves get uplinks for its full bandwidth, as on a storage network for storage."""
    product: Text | None = None
    """Name in the bill of materials; empty means the name of the group. Example: ``storage appliance``."""
    part_number: Text | None = None
    """Part number for the bill of materials; empty means none. Example: ``SA-100``."""
    vendor_managed: Flag = False
    """The vendor of the machines also delivers their optics and manages them."""


class UpstreamFabric(Model):
    """Links from every leaf to the topmost switches of another fabric, over the leaves' uplink ports."""

    fabric: Name
    """Fabric to connect to. Example: ``storage``."""
    links: Annotated[int, IntegerRange(1, 1024)]
    """Number of links of each leaf. Example: ``4``."""


class Partition(Model):
    """A partition of an InfiniBand fabric: hosts that can communicate."""

    tenant: Name
    """Tenant whose hosts are members. Example: ``research``."""
    pkey: Annotated[int, IntegerRange(1, 0x7FFE)] | None = None
    """Partition key (15 bits, without the membership bit); empty means a key derived from the tenant's name. Example:
    ``4660``."""
    hosts: Text | None = None
    """Hosts whose adapters are members, such as train-[0001-0064]; empty means all hosts of the fabric. Example:
    ``train-[0001-0064]``."""


class Cabling(Model):
    """Allowed cables."""

    media: Annotated[tuple[Literal["dac", "acc", "copper", "aoc", "fiber"], ...], Field(max_length=MAX_CHOICES)] = ()
    """Allowed kinds of cable; empty means any that is long enough, the simplest first. Example: ``[dac, fiber]``."""
    nodes: Text | None = None
    """Cable of the catalog for links of nodes, independent of ``media``; empty means those of `media`. Example:
    ``nvidia-mfp7e10``."""
    uplinks: Text | None = None
    """Cable of the catalog for links from one tier to the next; empty means those of `media`. Example:
    ``nvidia-mfp7e30``."""
    peers: Text | None = None
    """Cable of the catalog for links between the two leaves of a pair; empty means those of `media`. Example:
    ``nvidia-mcp4y10``."""
    spares: Ratio = 0
    """Spare cables and transceivers, as a fraction of those in use, rounded up for each item. Example: ``0.05``."""


class Fabric(Model):
    """A network. On a cloud, ``kind`` is enough; on-prem, shape and switch determine how it is built."""

    name: Name
    """Name of the fabric: switches (compute-leaf-001), subnets and, without a ``role``, its role are derived from it.
    Example: ``compute``."""
    kind: FabricKind
    """Technology of the network; efa, gpudirect-tcpx and ici exist on clouds only. Example: ``infiniband``."""
    role: Literal["compute", "storage", "in-band", "management"] | None = None
    """Adapters of the machines that it connects; empty means the fabric's name if that is a role, otherwise compute.
    Example: ``storage``."""
    shape: Literal["rail-optimized", "fat-tree", "clos", "torus"] | None = None
    """How switches are connected; empty means rail-optimized. Example: ``fat-tree``."""
    switch: Text | None = None
    """Name of a switch in the catalog, for all tiers; empty means that `switches` has them; a torus and a cloud need
    none. Example: ``nvidia-qm9700``."""
    switches: Switches | None = None
    """Instead of ``switch``: one for each tier; empty means `switch` for all tiers. Example: ``{leaf: nvidia-sn5600,
    spine: nvidia-sn5600}``."""
    os: Text | None = None
    """Operating system of the switches, in the catalog's ``network-systems``; empty means the vendor's. Example:
    ``sonic``."""
    systems: SwitchSystems | None = None
    """Instead of ``os``: one for each tier; empty means `os` for all tiers. Example: ``{leaf: nvue, spine: sonic}``."""
    routing: Routing = Routing()
    """Underlay of a routed (RoCE) fabric. Example: ``{bfd: true}``."""
    qos: Qos = Qos()
    """Changes to the lossless settings of a RoCE fabric. Example: ``{dscp: 26, priority: 3}``."""
    subnet: Cidr | None = None
    """Addresses of the nodes' links; empty means a part of ``network.fabrics``. Example: ``172.20.0.0/16``."""
    speed: DataRate | None = None
    """Speed of a node's link; empty means the highest common speed of the machine's adapters and the switch. Example:
    ``400 Gb/s``."""
    rails: Count | None = None
    """Links per node and plane; empty means those of the machine's adapters. Example: ``8``."""
    leaf_rails: Annotated[int, IntegerRange(1, 64)] | None = None
    """Rail-optimized only: rails of a node that share a leaf; empty means one, or, if compute nodes are fewer than a
    scalable unit and no other field of leaves and spines is set, the number with the fewest switches. Example:
    ``2``."""
    planes: Annotated[int, IntegerRange(1, 64)] | None = None
    """Independent copies of the network; empty means those of the machine's adapters. Example: ``2``."""
    su: Count | None = None
    """Nodes of one scalable unit (SU), the building block of a reference architecture: its nodes are connected to the
    same leaves. Empty means the unit of the machine's reference architecture, or the nodes that the switch's ports
    allow. Example: ``32``."""
    leaf_down: Count | None = None
    """Node-facing ports per leaf; empty means half of them, or whole scale-up domains. Example: ``32``."""
    leaf_up: Count | None = None
    """Uplinks per leaf; empty means as many as ``oversubscription`` requires. Example: ``32``."""
    tiers: Annotated[int, IntegerRange(1, 3)] | None = None
    """Switch tiers; empty means as few as possible. Example: ``2``."""
    pod: Literal["su", "rail"] | None = None
    """Leaves that share spines in three tiers: all rails of scalable units, or one rail of one unit; empty means that
    of the machine's reference design, otherwise `su`. Example: ``rail``."""
    racks_per_pod: Count | None = None
    """Clos only: racks under one set of cluster switches; empty means as many as the ports of the switches allow.
    Example: ``16``."""
    oversubscription: Oversubscription = Oversubscription()
    """Ratio of downlink to uplink bandwidth of a tier; empty means 1, or on a storage network the uplinks of the
    machine's reference design. Example: ``{leaf: 2}``."""
    dims: Annotated[tuple[Count, ...], Field(min_length=2, max_length=3)] | None = None
    """Torus only: nodes along each dimension. Empty means that it is missing: a torus requires it. Example: ``[4, 4,
    8]``."""
    manager: SubnetManager | None = None
    """InfiniBand: appliances of the subnet manager (UFM) on leaf ports; empty means none. Example: ``{links: 4,
    appliances: 2}``."""
    services: Annotated[tuple[Service, ...], Field(max_length=256)] = ()
    """Additional machines on leaf ports; empty means none. Example: ``[{name: mgmt, count: 4}]``."""
    spines: Count | None = None
    """Spines (of a pod); empty means as few as have ports for all uplinks. Example: ``8``."""
    peer_links: PairLinks = 0
    """Links between the two leaves of a pair, if a node has one port on each (multi-chassis link aggregation). Example:
    ``2``."""
    external_links: Links = 0
    """Links from the topmost switches to the building's network, distributed over the planes. Example: ``8``."""
    upstream: UpstreamFabric | None = None
    """Another fabric whose topmost switches the leaves of this one have links to, instead of separate spines; empty
    means spines of its own. Example: ``{fabric: compute, links: 4}``."""
    cabling: Cabling | None = None
    """Allowed cables; empty means the simplest that is long enough. Example: ``{media: [dac, fiber], spares:
    0.05}``."""
    sharp: Flag = False
    """InfiniBand: in-network reductions (SHARP), if licensed."""
    adaptive_routing: Flag = False
    """InfiniBand: adaptive routing, if the subnet manager is licensed for it."""
    guids: Text | None = None
    """InfiniBand: file with GUIDs, relative to the spec's file: output of ibnetdiscover, or lines of name and GUID;
    empty means that they are unknown. Example: ``guids.txt``."""
    partitions: Annotated[tuple[Partition, ...], Field(max_length=4096)] = ()
    """InfiniBand: partitions; empty means that all hosts are full members of the default partition. ``hosts`` isolates
    tenants. Example: ``[{tenant: research, hosts: "train-[0001-0064]"}]``."""
    subnet_manager: Literal["opensm", "nvidia", "switch"] = "opensm"
    """InfiniBand: the open subnet manager, NVIDIA's in UFM with its own engines, or the one that the topmost switches
    bring. No other runs on the fabric, neither on hosts nor in switches."""
    m_key: Annotated[str, Field(pattern=r"^(/[A-Za-z0-9._-]+)+$", max_length=255)] | None = None
    """InfiniBand, opensm: file with the M_Key, on the hosts of the subnet manager only; the key is never in the spec.
    Empty means that the fabric has no M_Key. Example: ``/etc/opensm/m_key``."""

    @model_validator(mode="after")
    def _check_unique_services(self) -> Fabric:
        for twice in find_duplicates(self.services):
            raise DuplicateNameError(f"services: duplicate name {twice!r}; names must be unique")
        return self

    @model_validator(mode="after")
    def _check_link_count(self) -> Fabric:
        links = {f"services: {item.name}": item.count * (item.links + item.peer_links) for item in self.services}
        if self.manager:
            appliances = self.manager.links if self.manager.appliances is None else self.manager.appliances
            links["manager"] = self.manager.links + appliances * self.manager.peer_links
        if sum(links.values()) > _MAX_SERVICE_LINKS:
            largest = max(links, key=links.__getitem__)
            counted = "appliances" if largest == "manager" else "machines (count)"
            raise ValueError(
                f"{largest}: {sum(links.values())} links of services and manager in total, {links[largest]} of them of "
                f"this; a fabric supports at most {_MAX_SERVICE_LINKS}. Use fewer {counted} or fewer links of each "
                "(links, peer_links)"
            )
        return self
