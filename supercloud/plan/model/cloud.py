"""What was decided about a cloud site, in terms that every cloud has: subnets, groups of instances, hosts, storage.

Everything has a key, stable and made from names of the spec (``train-block``, ``private-us-east-1a``); names at the
provider are made from keys when resources are registered. Nothing is per node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...catalog import Machine
from ...catalog.metadata_service import MetadataAddress
from ...catalog.provider import Addon, ChangeImpact
from ...catalog.storage_service import MountRule
from ...primitives.names import NameRule
from ...primitives.quantity import Money, Rate, Size
from ...spec.pool import Capacity

__all__ = [
    "Addon",
    "CloudCost",
    "CloudDatabase",
    "CloudHost",
    "CloudInstall",
    "CloudNetwork",
    "CloudPlan",
    "CloudStorage",
    "CostLine",
    "Interface",
    "MountRule",
    "NodeGroup",
    "SubnetPlan",
]


@dataclass(frozen=True)
class SubnetPlan:
    """Addresses of one zone."""

    key: str
    """``public-<zone>``, ``private-<zone>``; of a given subnet ``given-<number>``."""
    zone: str | None
    """None where the user's subnet is used, which knows its own."""
    is_public: bool
    """Whether the internet is reached directly; private subnets go through a gateway, or nowhere where it is closed."""
    cidr: str | None
    """None where the user's subnet is used."""
    existing: str | None = None
    """Identifier of the user's subnet."""
    purpose: Literal["nodes", "public", "control"] = "nodes"
    """``control``: for the managed control plane's interfaces; no instance is put there. Where there is none, the
    control plane uses the private ones."""


@dataclass(frozen=True)
class CloudNetwork:
    """The network, new or the user's."""

    cidrs: tuple[str, ...]
    """The first is the primary; further ones are added where nodes times addresses need them."""
    existing: str | None
    """Identifier of the user's network."""
    is_isolated: bool
    """No way to the internet: services are reached through private endpoints only."""
    subnets: tuple[SubnetPlan, ...]
    endpoints: Mapping[str, Literal["gateway", "interface"]] = field(default_factory=dict)
    """Private endpoints: the provider's short name of the service (``s3``, ``ecr.api``) -> gateway or interface."""
    access: tuple[str, ...] = ()
    """Ranges from which public hosts are reached by ssh, and the API of a managed control plane."""

    def get_subnet(self, key: str) -> SubnetPlan:
        """A subnet by key."""
        return next(subnet for subnet in self.subnets if subnet.key == key)


@dataclass(frozen=True)
class Interface:
    """One network interface of an instance, by the network card it sits on."""

    card: int
    device: int
    kind: str
    """What the provider calls it: interface, efa, efa-only …"""
    has_address: bool
    """Whether it carries an IP address: what subnets must have room for."""


@dataclass(frozen=True)
class NodeGroup:
    """Equal instances of one pool, got in one way, in the zones given: what a cloud scales as one thing."""

    key: str
    """Pool and, where a pool has several ways or zones, what tells them apart."""
    pool: str
    rank: int
    """Rank of its way to get capacity within the pool, from 0: the lower is tried first."""
    capacity: Capacity
    max_nodes: int
    """Most instances it may have."""
    initial_nodes: int
    """Instances it starts with; a scheduler that resizes groups owns the number afterwards."""
    subnets: tuple[str, ...]
    """Keys of the subnets its instances are in."""
    zones: tuple[str, ...]
    interfaces: tuple[Interface, ...]
    has_placement_group: bool
    """Whether a placement group keeps its instances near to each other."""
    disk: Size
    """Of the root."""
    image: str
    """Key of the image among the provider's (operating system, scheduler and accelerator decide)."""
    domain_nodes: int = 1
    """Instances of one scale-up domain (an UltraServer), which come together."""
    min_nodes: int = 0
    """Instances that are always there."""
    local_disk_mount: str | None = None
    """Where the disks inside are mounted, joined as one without redundancy."""
    addresses_per_node: int = 1
    """Addresses of the subnets that an instance takes, with those of its pods where they live there."""


@dataclass(frozen=True)
class CloudHost:
    """Machines that are no nodes of a pool: controllers, logins, storage backends."""

    key: str
    role: Literal["controller", "login", "database", "storage", "system"]
    machine: Machine
    count: int
    subnets: tuple[str, ...]
    disk: Size
    image: str
    state_disk: Size | None = None
    """A protected disk of its own for what must survive the machine."""
    is_public: bool = False
    """Whether it has an address in the internet."""
    hosts: tuple[str, ...] = ()
    """Private DNS names, known before anything exists (without the domain)."""
    storage: str = ""
    """Role storage: the file system it serves."""
    interfaces: tuple[Interface, ...] = ()
    """Empty: the one every instance has."""


@dataclass(frozen=True)
class CloudDatabase:
    """The accounting database, where the provider runs it."""

    key: str
    product: str
    engine: str
    version: str
    machine: str
    """What the product calls the size of its machine."""
    disk: Size
    subnets: tuple[str, ...]
    """In as many zones as the product wants."""
    host: str
    """Private DNS name, without the domain."""
    port: int


@dataclass(frozen=True)
class CloudInstall:
    """Where servers of our own get software that only its maker gives."""

    source: str
    """``https://…`` or ``s3://bucket/key``: a program that every server runs as root when it first starts."""
    token: str | None = None
    """Name or identifier of a secret that the program is given; the user keeps it in the provider's store."""


@dataclass(frozen=True)
class CloudStorage:
    """A storage product as the provider sells it, or an object store."""

    name: str
    kind: Literal["parallel", "nfs", "bucket", "servers"]
    """``servers``: a file system on instances of our own (``CloudHost`` of role storage)."""
    product: str
    """Name of the product in the catalog's storage services."""
    mount: str | None
    subnets: tuple[str, ...] = ()
    capacity: Size | None = None
    """What is bought: a step of the product, never below what was asked for."""
    throughput: Rate | None = None
    """Of all of it together."""
    per_tib: Rate | None = None
    """For each TiB, where it is sold so."""
    options: Mapping[str, str | int | bool] = field(default_factory=dict)
    """What else was decided, in the provider's terms (deployment type, version, compression, efa …)."""
    linked_store: str | None = None
    """Object store it is filled from (``s3://bucket/prefix``), or the name of an object store of this plan."""
    ports: tuple[str, ...] = ()
    """Ports its servers answer on: ``tcp:988``, ``udp:1018-1023``."""
    mount_rule: MountRule | None = None
    """How clients mount it; None for an object store."""
    install: CloudInstall | None = None
    """``servers``: where their software comes from; None where the spec does not say."""


@dataclass(frozen=True)
class CostLine:
    """What one thing costs an hour; None where no price was sourced."""

    item: str
    count: int
    unit_price: Money | None
    source: str
    """Date and origin of the price; empty where there is none."""

    @property
    def total_price(self) -> Money | None:
        """Of all of them."""
        return self.unit_price * self.count if self.unit_price is not None else None


@dataclass(frozen=True)
class CloudCost:
    """Cost of an hour with everything running."""

    lines: tuple[CostLine, ...]

    @property
    def known_total(self) -> Money:
        """Sum of what has a price: a lower bound where ``unpriced_items`` is not empty."""
        total = Money(0, "USD")
        for line in self.lines:
            if line.total_price is not None:
                total = total + line.total_price
        return total

    @property
    def unpriced_items(self) -> tuple[str, ...]:
        """Things without a sourced price."""
        return tuple(line.item for line in self.lines if line.unit_price is None)


@dataclass(frozen=True)
class CloudPlan:
    """A cloud site."""

    provider: str
    """aws, gcp, azure."""
    region: str
    zones: tuple[str, ...]
    network: CloudNetwork
    groups: tuple[NodeGroup, ...]
    """In the order of the pools; within a pool in the order in which capacity is tried."""
    hosts: tuple[CloudHost, ...]
    storage: tuple[CloudStorage, ...]
    cost: CloudCost
    tags: Mapping[str, str] = field(default_factory=dict)
    """The user's; resources add the cluster's name."""
    images: Mapping[str, str] = field(default_factory=dict)
    """Image key -> what the provider knows it by (a public parameter's name, a family, an identifier)."""
    monthly_budget: Money | None = None
    database: CloudDatabase | None = None
    """The accounting database, where the provider runs it."""
    options: Mapping[str, str | int | bool] = field(default_factory=dict)
    """What else was decided for all instances, in the provider's terms (``metadata_hops``)."""
    impacts: tuple[ChangeImpact, ...] = ()
    """What changes of the published plan do to what runs, as the provider's table says."""
    name_rules: Mapping[str, NameRule] = field(default_factory=dict)
    """What the provider accepts as names, by kind of thing."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """What the provider limits (``user-data``: bytes of a start script)."""
    partition: str = ""
    """Regions that share accounts and the beginning of identifiers; empty where the provider has none."""
    principals: Mapping[str, str] = field(default_factory=dict)
    """Services that take roles under another name in this partition."""
    root_devices: Mapping[str, str] = field(default_factory=dict)
    """Image key -> device of its root disk; an image of the user's has the one it stands in for."""
    addons: tuple[Addon, ...] = ()
    """Software that the provider keeps in the managed Kubernetes cluster, the early ones first."""
    metadata_addresses: tuple[MetadataAddress, ...] = ()
    """Addresses of the metadata service: machines of Slurm close them to everybody but root."""
    state_bucket: str = "state"
    """Key of the bucket that holds the published configuration."""

    def list_groups(self, pool: str) -> tuple[NodeGroup, ...]:
        """The groups of a pool, in the order in which they are tried."""
        return tuple(group for group in self.groups if group.pool == pool)

    def is_prepaid(self, pool: str) -> bool:
        """Whether all capacity of a pool is paid for, used or not: switching its nodes off would save nothing."""
        kinds = {group.capacity.kind for group in self.list_groups(pool)}
        return bool(kinds) and kinds <= {"reservation", "reservation-group", "capacity-block"}

    def list_hosts(self, role: str) -> tuple[CloudHost, ...]:
        """Hosts of a role."""
        return tuple(host for host in self.hosts if host.role == role)

    def get_storage(self, name: str) -> CloudStorage:
        """A storage by the spec's name."""
        return next(item for item in self.storage if item.name == name)
