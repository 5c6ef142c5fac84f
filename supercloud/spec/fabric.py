"""Networks between accelerators: kind, shape and switches."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import (
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
    StoredSize,
    Text,
    find_duplicates,
)

__all__ = [
    "Cabling",
    "Fabric",
    "FabricKind",
    "FabricInterconnect",
    "SubnetManager",
    "Oversubscription",
    "Partition",
    "Service",
    "Switches",
]

FabricKind = Literal["infiniband", "roce", "ethernet", "efa", "gpudirect-tcpx", "ici"]


Cidr = Annotated[str, Field(pattern=r"^[0-9a-fA-F.:]{2,45}/\d{1,3}$")]
Dscp = Annotated[int, IntegerRange(0, 63)]
Priority = Annotated[int, IntegerRange(0, 7)]
Mtu = Annotated[int, IntegerRange(1280, 9216)]

_MAX_SERVICE_LINKS = 1_000_000
"""Links of services and the manager of a fabric, including those between machines of a pair: each is a row of cabling,
and more would take seconds."""


class Switches(Model):
    """A switch for each tier, if they differ."""

    leaf: Text
    """Switch of the catalog for leaves."""
    spine: Text | None = None
    """Switch for spines; empty means that of the leaves."""
    core: Text | None = None
    """Switch for the third tier; empty means that of the spines."""


class SwitchSystems(Model):
    """The operating system of the switches of each tier, if they differ."""

    leaf: Text
    """Operating system of the leaves, in the catalog's ``network-systems``."""
    spine: Text | None = None
    """That of spines; empty means that of the leaves."""
    core: Text | None = None
    """That of core switches; empty means that of the spines."""


class Routing(Model):
    """The underlay of an Ethernet fabric: eBGP, one session per link."""

    asn_range: Annotated[str, Field(pattern=r"^\d{1,10}-\d{1,10}$")] | None = None
    """AS numbers for switches, such as 4200000000-4200009999; empty means a part of the private range."""
    bfd: Flag = False
    """Monitor every session with BFD."""


class Ecn(Model):
    """ECN thresholds of a queue."""

    min: StoredSize
    """Queue length from which packets are marked."""
    max: StoredSize
    """Queue length from which they are marked with ``probability``."""
    probability: Annotated[int, IntegerRange(1, 100)]
    """Percent at ``max``."""


class Qos(Model):
    """Changes to the lossless settings of the catalog; switches and hosts follow it alike."""

    dscp: Dscp | None = None
    """DSCP of RDMA data."""
    priority: Priority | None = None
    """Priority, traffic class and queue of RDMA data; the only one paused by PFC."""
    cnp_dscp: Dscp | None = None
    """DSCP of congestion notifications (CNP)."""
    cnp_priority: Priority | None = None
    """Priority of congestion notifications, with strict scheduling."""
    mtu: Mtu | None = None
    """MTU of links between switches, in bytes."""
    host_mtu: Mtu | None = None
    """MTU of hosts' interfaces, in bytes."""
    ecn: Ecn | None = None
    """Thresholds of ECN marking."""


class Oversubscription(Model):
    """Ratio of downlink to uplink bandwidth of a tier: 7 means 7 to 1."""

    leaf: Annotated[float, Field(strict=True, ge=0.1, le=1000)] = 1
    """Ratio of leaves."""
    spine: Annotated[float, Field(strict=True, ge=0.1, le=1000)] = 1
    """Ratio of spines below core switches."""


class SubnetManager(Model):
    """Subnet-manager appliances on ports of the leaves."""

    links: Links
    """Number of their links in the whole fabric."""
    appliances: MachineCount | None = None
    """Number of appliances; empty means one per link."""
    speed: DataRate | None = None
    """Speed of a link; empty means the fabric's. With half of it two links share a leaf port through a splitter."""
    cage: Text | None = None
    """Form of the cages of its links: osfp (modules of two links), osfp-single, qsfp112, rj45 …; empty means
    that no cable can be selected."""
    cable: Text | None = None
    """Cable of the catalog for its links; empty means the simplest that is long enough."""
    pack: Flag = False
    """Splitters share modules with each other, on as few leaves as possible: fewer modules, less redundancy."""
    peer_links: PairLinks = 0
    """Links between the two appliances of a pair, in addition to the management network: back to back."""
    product: Text | None = None
    """Name in the bill of material."""
    part_number: Text | None = None
    """Part number for the bill of material."""


class Service(Model):
    """Machines on a fabric that are not nodes of a pool: storage, management. The same name in several fabrics means
    the same machines.
    """

    name: Name
    """Name of the group; host names are this name and a number (mgmt-01)."""
    count: MachineCount
    """Number of machines."""
    links: Annotated[int, IntegerRange(1, 1024)] = 1
    """Links of each machine."""
    speed: DataRate | None = None
    """Speed of a link; empty means the fabric's. With half of it two links share a leaf port through a splitter."""
    cage: Text | None = None
    """Form of the cages of its links: osfp (modules of two links), osfp-single, qsfp112, rj45 …; empty means
    that no cable can be selected."""
    cable: Text | None = None
    """Cable of the catalog for its links; empty means the simplest that is long enough."""
    pack: Flag = False
    """Splitters share modules with each other, on as few leaves as possible: fewer modules, less redundancy."""
    peer_links: PairLinks = 0
    """Links between the two machines of a pair, in addition to the management network: back to back."""
    full: Flag = False
    """Leaves get uplinks for its full bandwidth, as on a storage network for storage."""
    product: Text | None = None
    """Name in the bill of material."""
    part_number: Text | None = None
    """Part number for the bill of material."""
    ours: Flag = True
    """False means that the vendor of the machines also delivers their optics and manages them."""


class FabricInterconnect(Model):
    """Links from every leaf to the topmost switches of another fabric, over the leaves' uplink ports."""

    fabric: Name
    """Fabric to connect to."""
    links: Annotated[int, IntegerRange(1, 1024)]
    """Number of links of each leaf."""


class Partition(Model):
    """A partition of an InfiniBand fabric: hosts that can communicate."""

    tenant: Name
    """Tenant whose hosts are members."""
    pkey: Annotated[int, IntegerRange(1, 0x7FFE)] | None = None
    """Partition key (15 bits, without the membership bit); empty means a key derived from the tenant's name."""
    hosts: Text | None = None
    """Hosts whose adapters are members, such as train-[0001-0064]; empty means all hosts of the fabric."""


class Cabling(Model):
    """Allowed cables."""

    media: tuple[Literal["dac", "acc", "copper", "aoc", "fiber"], ...] = ()
    """Allowed kinds of cable; empty means any that is long enough, the simplest first."""
    nodes: Text | None = None
    """Cable of the catalog for links of nodes, independent of ``media``."""
    uplinks: Text | None = None
    """Cable of the catalog for links from one tier to the next."""
    peers: Text | None = None
    """Cable of the catalog for links between the two leaves of a pair."""
    spares: Annotated[float, Field(strict=True, ge=0, le=1)] = 0
    """Spare cables and transceivers, as a fraction of those in use, rounded up for each item."""


class Fabric(Model):
    """A network. On a cloud, ``kind`` is enough; on-prem, shape and switch determine how it is built."""

    name: Name
    """Name of the fabric: switches (compute-leaf-001), subnets and, without a ``role``, its role are derived from
    it."""
    kind: FabricKind
    """Technology of the network; efa, gpudirect-tcpx and ici exist on clouds only."""
    role: Literal["compute", "storage", "in-band", "management"] | None = None
    """Adapters of the machines that it connects; empty means the fabric's name if that is a role, otherwise compute."""
    shape: Literal["rail-optimized", "fat-tree", "clos", "torus"] | None = None
    """How switches are connected; empty means rail-optimized."""
    switch: Text | None = None
    """Name of a switch in the catalog, for all tiers."""
    switches: Switches | None = None
    """Instead of ``switch``: one for each tier."""
    os: Text | None = None
    """Operating system of the switches, in the catalog's ``network-systems``; empty means the vendor's."""
    systems: SwitchSystems | None = None
    """Instead of ``os``: one for each tier."""
    routing: Routing = Routing()
    """Underlay of a routed (RoCE) fabric."""
    qos: Qos = Qos()
    """Changes to the lossless settings of a RoCE fabric."""
    subnet: Cidr | None = None
    """Addresses of the nodes' links; empty means a part of ``network.fabrics``."""
    speed: DataRate | None = None
    """Speed of a node's link; empty means the highest common speed of the machine's adapters and the switch."""
    rails: Count | None = None
    """Links per node and plane; empty means those of the machine's adapters."""
    leaf_rails: Annotated[int, IntegerRange(1, 64)] | None = None
    """Rail-optimized only: rails of a node that share a leaf; empty means one, or, if compute nodes are fewer than a
    scalable unit and no other field of leaves and spines is set, the number with the fewest switches."""
    planes: Annotated[int, IntegerRange(1, 64)] | None = None
    """Independent copies of the network; empty means those of the machine's adapters."""
    su: Count | None = None
    """Nodes of one scalable unit; empty means the unit of the machine's reference design or of the switch."""
    leaf_down: Count | None = None
    """Node-facing ports per leaf; empty means half of them, or whole scale-up domains."""
    leaf_up: Count | None = None
    """Uplinks per leaf; empty means as many as ``oversubscription`` requires."""
    tiers: Annotated[int, IntegerRange(1, 3)] | None = None
    """Switch tiers; empty means as few as possible."""
    pod: Literal["su", "rail"] | None = None
    """Leaves that share spines in three tiers: all rails of scalable units, or one rail of one unit."""
    racks_per_pod: Count | None = None
    """Clos only: racks under one set of cluster switches."""
    oversubscription: Oversubscription = Oversubscription()
    """Ratio of downlink to uplink bandwidth of a tier; empty means 1, or on a storage network
    the uplinks of the machine's reference design."""
    dims: Annotated[tuple[Count, ...], Field(min_length=2, max_length=3)] | None = None
    """Torus only: nodes along each dimension."""
    manager: SubnetManager | None = None
    """InfiniBand: appliances of the subnet manager (UFM) on leaf ports."""
    services: Annotated[tuple[Service, ...], Field(max_length=256)] = ()
    """Additional machines on leaf ports."""
    spines: Count | None = None
    """Spines (of a pod); empty means as few as have ports for all uplinks."""
    peer_links: PairLinks = 0
    """Links between the two leaves of a pair, if a node has one port on each (multi-chassis link aggregation)."""
    exits: Links = 0
    """Links from the topmost switches to the building's network, distributed over the planes."""
    joins: FabricInterconnect | None = None
    """Another fabric whose topmost switches the leaves of this one have links to, instead of separate spines."""
    cabling: Cabling | None = None
    """Allowed cables; empty means the simplest that is long enough."""
    sharp: Flag = False
    """InfiniBand: in-network reductions (SHARP), if licensed."""
    adaptive_routing: Flag = False
    """InfiniBand: adaptive routing, if the subnet manager is licensed for it."""
    guids: Text | None = None
    """InfiniBand: file with GUIDs, relative to the spec's file: output of ibnetdiscover, or lines of name and GUID."""
    partitions: Annotated[tuple[Partition, ...], Field(max_length=4096)] = ()
    """InfiniBand: partitions; empty means that all hosts are full members of the default partition. ``hosts`` isolates
    tenants."""
    subnet_manager: Literal["opensm", "nvidia"] = "opensm"
    """InfiniBand: the open subnet manager, or NVIDIA's in UFM with its own engines. No other runs on the fabric,
    neither on hosts nor in switches."""
    m_key: Annotated[str, Field(pattern=r"^(/[A-Za-z0-9._-]+)+$", max_length=255)] | None = None
    """InfiniBand, opensm: file with the M_Key, on the hosts of the subnet manager only; the key is never in the
    spec."""

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
