"""Networks between accelerators: what kind, what shape, out of which switches."""

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
"""Of services and the manager of a fabric, those between machines of a pair included: each is a row of cabling, and
more would take seconds."""


class Switches(Model):
    """A switch for each tier, where they differ."""

    leaf: Text
    """Switch of the catalog for leaves."""
    spine: Text | None = None
    """Switch for spines; empty means that of the leaves."""
    core: Text | None = None
    """Switch for the third tier; empty means that of the spines."""


class SwitchSystems(Model):
    """The operating system of the switches of each tier, where they differ."""

    leaf: Text
    """Operating system of the leaves, in the catalog's ``network-systems``."""
    spine: Text | None = None
    """That of spines; empty means that of the leaves."""
    core: Text | None = None
    """That of core switches; empty means that of the spines."""


class Routing(Model):
    """The underlay of an Ethernet fabric: eBGP, a session a link."""

    asn_range: Annotated[str, Field(pattern=r"^\d{1,10}-\d{1,10}$")] | None = None
    """AS numbers for switches, such as 4200000000-4200009999; empty means a part of the private range."""
    bfd: Flag = False
    """Watch every session with BFD besides."""


class Ecn(Model):
    """When a queue marks packets."""

    min: StoredSize
    """Queue length from which packets are marked."""
    max: StoredSize
    """Queue length from which they are marked with ``probability``."""
    probability: Annotated[int, IntegerRange(1, 100)]
    """Percent at ``max``."""


class Qos(Model):
    """Departures from the lossless contract of the catalog; switches and hosts follow it alike."""

    dscp: Dscp | None = None
    """DSCP of RDMA data."""
    priority: Priority | None = None
    """Priority, traffic class and queue of RDMA data; the only one that PFC pauses."""
    cnp_dscp: Dscp | None = None
    """DSCP of congestion notifications (CNP)."""
    cnp_priority: Priority | None = None
    """Of congestion notifications, served strictly first."""
    mtu: Mtu | None = None
    """Of links between switches."""
    host_mtu: Mtu | None = None
    """MTU of hosts' interfaces, in bytes."""
    ecn: Ecn | None = None
    """Thresholds of ECN marking."""


class Oversubscription(Model):
    """How much more goes into a tier from below than leaves it upwards: 7 means 7 to 1."""

    leaf: Annotated[float, Field(strict=True, ge=0.1, le=1000)] = 1
    """Of leaves."""
    spine: Annotated[float, Field(strict=True, ge=0.1, le=1000)] = 1
    """Of spines below core switches."""


class SubnetManager(Model):
    """Subnet-manager appliances on ports of the leaves."""

    links: Links
    """Links they have, in the whole fabric."""
    appliances: MachineCount | None = None
    """How many there are; empty means one a link."""
    speed: DataRate | None = None
    """Of a link; empty means the fabric's. With half of it two links share a leaf port through a splitter."""
    cage: Text | None = None
    """Form of the cages its links leave through: osfp (modules of two links), osfp-single, qsfp112, rj45 …; empty means
    that no cable can be chosen."""
    cable: Text | None = None
    """Cable of the catalog its links come over; empty means the simplest that reaches."""
    pack: Flag = False
    """Splitters share modules with each other, on as few leaves as that takes: fewer modules, less redundancy."""
    peer_links: PairLinks = 0
    """Links between the two appliances of a pair, beside the management network: back to back."""
    product: Text | None = None
    """What the bill of material calls one."""
    part_number: Text | None = None
    """Part number for the bill of material."""


class Service(Model):
    """Machines on a fabric that are no nodes of a pool: storage, management. The same name in several fabrics means
    the same machines."""

    name: Name
    """Name of the group; hosts are numbered after it (mgmt-01)."""
    count: MachineCount
    """Machines."""
    links: Annotated[int, IntegerRange(1, 1024)] = 1
    """Of each machine."""
    speed: DataRate | None = None
    """Of a link; empty means the fabric's. With half of it two links share a leaf port through a splitter."""
    cage: Text | None = None
    """Form of the cages its links leave through: osfp (modules of two links), osfp-single, qsfp112, rj45 …; empty means
    that no cable can be chosen."""
    cable: Text | None = None
    """Cable of the catalog its links come over; empty means the simplest that reaches."""
    pack: Flag = False
    """Splitters share modules with each other, on as few leaves as that takes: fewer modules, less redundancy."""
    peer_links: PairLinks = 0
    """Links between the two machines of a pair, beside the management network: back to back."""
    full: Flag = False
    """Leaves get uplinks for all of its bandwidth, as those of a storage network do for storage."""
    product: Text | None = None
    """What the bill of material calls one."""
    part_number: Text | None = None
    """Part number for the bill of material."""
    ours: Flag = True
    """False: whoever brings the machines also brings their optics and manages them."""


class FabricInterconnect(Model):
    """Links from every leaf into the topmost switches of another fabric, over the leaves' uplink ports."""

    fabric: Name
    """The fabric that is joined."""
    links: Annotated[int, IntegerRange(1, 1024)]
    """Links of each leaf."""


class Partition(Model):
    """Who may talk to whom on an InfiniBand fabric."""

    tenant: Name
    """Tenant whose hosts are members."""
    pkey: Annotated[int, IntegerRange(1, 0x7FFE)] | None = None
    """15 bits, without the bit of membership; empty means one that follows from the tenant's name alone."""
    hosts: Text | None = None
    """Whose adapters are in it, such as train-[0001-0064]; empty means all of the fabric."""


class Cabling(Model):
    """Which cables may be used."""

    media: tuple[Literal["dac", "acc", "copper", "aoc", "fibre"], ...] = ()
    """Kinds of cable; empty means whatever reaches, the simplest first."""
    nodes: Text | None = None
    """Cable of the catalog for links of nodes, whatever ``media`` says."""
    uplinks: Text | None = None
    """Cable of the catalog for links from one tier to the next."""
    peers: Text | None = None
    """Cable of the catalog for links between the two leaves of a pair."""
    spares: Annotated[float, Field(strict=True, ge=0, le=1)] = 0
    """Cables and transceivers to keep, as a part of those in use, rounded up for each item."""


class Fabric(Model):
    """One network. On a cloud, ``kind`` says it all; on-prem, shape and switch decide how it is built."""

    name: Name
    """Name of the fabric: switches (compute-leaf-001), subnets and, where no ``role`` is given, its role follow it."""
    kind: FabricKind
    """Technology of the network; efa, gpudirect-tcpx and ici are of clouds."""
    role: Literal["compute", "storage", "in-band", "management"] | None = None
    """Which adapters of the machines it joins; empty means the fabric's name where that is a role, else compute."""
    shape: Literal["rail-optimized", "fat-tree", "clos", "torus"] | None = None
    """How switches are connected; empty means rail-optimized."""
    switch: Text | None = None
    """Name of a switch in the catalog, for all tiers."""
    switches: Switches | None = None
    """Instead of ``switch``: one for each tier."""
    os: Text | None = None
    """Operating system of the switches, in the catalog's ``network-systems``; empty means the maker's."""
    systems: SwitchSystems | None = None
    """Instead of ``os``: one for each tier."""
    routing: Routing = Routing()
    """Underlay of a routed (RoCE) fabric."""
    qos: Qos = Qos()
    """Changes to the lossless settings of a RoCE fabric."""
    subnet: Cidr | None = None
    """Addresses of the nodes' links; empty means a part of ``network.fabrics``."""
    speed: DataRate | None = None
    """Speed of a node's link; empty means what the machine's adapters and the switch have in common."""
    rails: Count | None = None
    """Links per node and plane; empty means what the machine's adapters give."""
    leaf_rails: Annotated[int, IntegerRange(1, 64)] | None = None
    """Rail-optimized only: rails of a node that share a leaf; empty means one, or, where compute nodes are fewer than a
    scalable unit and nothing else is said of leaves and spines, as many as take the fewest switches."""
    planes: Annotated[int, IntegerRange(1, 64)] | None = None
    """Independent copies of the network; empty means what the machine's adapters give."""
    su: Count | None = None
    """Nodes of one scalable unit; empty means what the machine's reference design or the switch gives."""
    leaf_down: Count | None = None
    """Node-facing ports per leaf; empty means half of them, or whole scale-up domains."""
    leaf_up: Count | None = None
    """Uplinks per leaf; empty means as many as ``oversubscription`` asks for."""
    tiers: Annotated[int, IntegerRange(1, 3)] | None = None
    """Switch tiers; empty means as few as will do."""
    pod: Literal["su", "rail"] | None = None
    """What shares its spines in three tiers: all rails of scalable units, or one rail of one."""
    racks_per_pod: Count | None = None
    """Clos only: racks under one set of cluster switches."""
    oversubscription: Oversubscription = Oversubscription()
    """Bandwidth into a tier from below over bandwidth that leaves it upwards; empty means 1, or on a storage network
    the uplinks that the machine's reference design gives."""
    dims: Annotated[tuple[Count, ...], Field(min_length=2, max_length=3)] | None = None
    """Torus only: nodes along each dimension."""
    manager: SubnetManager | None = None
    """InfiniBand: appliances of the subnet manager (UFM) on leaf ports."""
    services: Annotated[tuple[Service, ...], Field(max_length=256)] = ()
    """Further machines on leaf ports."""
    spines: Count | None = None
    """Spines (of a pod); empty means as few as have ports for all uplinks."""
    peer_links: PairLinks = 0
    """Links between the two leaves of a pair, where a node has one port on each (multi-chassis link aggregation)."""
    exits: Links = 0
    """Links from the topmost switches to the building's network, to each plane in turn."""
    joins: FabricInterconnect | None = None
    """Another fabric whose topmost switches the leaves of this one have links to, instead of spines of their own."""
    cabling: Cabling | None = None
    """Kinds of cable that may be used; empty means the simplest that reaches."""
    sharp: Flag = False
    """InfiniBand: reductions in the switches (SHARP), where it is licensed."""
    adaptive_routing: Flag = False
    """InfiniBand: adaptive routing, where the subnet manager is licensed for it."""
    guids: Text | None = None
    """InfiniBand: a file with GUIDs, relative to the spec's: what ibnetdiscover printed, or lines of name and GUID."""
    partitions: Annotated[tuple[Partition, ...], Field(max_length=4096)] = ()
    """InfiniBand: empty means that all are full members of the default partition; ``hosts`` keep tenants apart."""
    subnet_manager: Literal["opensm", "nvidia"] = "opensm"
    """InfiniBand: the open subnet manager, or NVIDIA's in UFM with engines of its own. No other runs on the fabric,
    neither on hosts nor in switches."""
    m_key: Annotated[str, Field(pattern=r"^(/[A-Za-z0-9._-]+)+$", max_length=255)] | None = None
    """InfiniBand, opensm: a file with the M_Key, on the hosts of the subnet manager only; it is never in the spec."""

    @model_validator(mode="after")
    def _check_unique_services(self) -> Fabric:
        for twice in find_duplicates(self.services):
            raise DuplicateNameError(f"services: {twice!r} is there twice; names are unique")
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
                f"{largest}: {sum(links.values())} links of services and manager in all, {links[largest]} of them of "
                f"this; a fabric has at most {_MAX_SERVICE_LINKS}. Take fewer {counted} or fewer links of each (links, "
                "peer_links)"
            )
        return self
