"""Decisions about a cloud site, in terms that every cloud has: subnets, groups of instances, hosts, storage.

Every object has a stable key made from names of the spec (``train-block``, ``private-us-east-1a``); the provider's
names are derived from keys when resources are registered. Nothing is per node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...catalog import Machine
from ...catalog.image_tool import ImageTool
from ...catalog.local_disks import LocalDisks
from ...catalog.metadata_service import MetadataAddress
from ...catalog.mount_client import MountClient
from ...catalog.provider import Addon, ChangeImpact, MachineImage
from ...catalog.storage_service import FabricClient, MountRule
from ...primitives.names import NameRule
from ...primitives.quantity import Money, Rate, Size
from ...spec.pool import Capacity
from ...spec.site import BootScript
from .cloud_cost import CloudCost

__all__ = [
    "Addon",
    "CloudDatabase",
    "CloudHost",
    "CloudInstall",
    "CloudNetwork",
    "CloudPlan",
    "CloudReference",
    "CloudStorage",
    "ExistingFileSystem",
    "ImageBuild",
    "Interface",
    "MountRule",
    "NodeGroup",
    "SubnetPlan",
]


@dataclass(frozen=True)
class SubnetPlan:
    """A subnet in one zone."""

    key: str
    """``public-<zone>``, ``private-<zone>``; ``given-<number>`` for a subnet of the user's."""
    zone: str | None
    """None for an existing subnet of the user's, whose zone is set by the provider."""
    is_public: bool
    """Whether the internet is reached directly; private subnets use a gateway, or have no access in an isolated
    network."""
    cidr: str | None
    """None for an existing subnet of the user's."""
    existing: str | None = None
    """Identifier of an existing subnet of the user's."""
    purpose: Literal["nodes", "public", "control"] = "nodes"
    """``control``: for the interfaces of the managed control plane; no instance is placed there. Without such a subnet
    the control plane uses the private ones."""
    is_local: bool = False
    """Whether its zone has machines only: no gateways, endpoints, control planes and managed services."""


@dataclass(frozen=True)
class CloudNetwork:
    """The network: a new one or an existing one of the user's."""

    cidrs: tuple[str, ...]
    """The first is the primary; secondary ranges are added where nodes times addresses need them."""
    existing: str | None
    """Identifier of an existing network of the user's."""
    is_isolated: bool
    """No route to the internet: services are reached through private endpoints only."""
    subnets: tuple[SubnetPlan, ...]
    endpoints: Mapping[str, Literal["gateway", "interface"]] = field(default_factory=dict)
    """Private endpoints: the provider's short name of the service -> gateway or interface."""
    access: tuple[str, ...] = ()
    """Ranges that may reach public hosts by SSH, and the API of a managed control plane."""

    existing_zone: str | None = None
    """Identifier of an existing private DNS zone of the user's."""
    existing_endpoints: tuple[str, ...] = ()
    """Services whose endpoints exist in the user's network."""

    def get_subnet(self, key: str) -> SubnetPlan:
        """Return a subnet by key."""
        return next(subnet for subnet in self.subnets if subnet.key == key)


@dataclass(frozen=True)
class Interface:
    """One network interface of an instance and the network card that it uses."""

    card: int
    device: int
    kind: str
    """The provider's name of the type."""
    has_address: bool
    """Whether it has an IP address, which the subnets must have space for."""


@dataclass(frozen=True)
class NodeGroup:
    """Equal instances of one pool from one source of capacity in given zones: the unit that a cloud scales."""

    key: str
    """The pool's name; where a pool has several sources of capacity or zones, with a suffix for them."""
    pool: str
    rank: int
    """Rank of its source of capacity within the pool, from 0: lower ranks are tried first."""
    capacity: Capacity
    max_nodes: int
    """Maximum number of instances."""
    initial_nodes: int
    """Initial number of instances; a scheduler that resizes groups owns the number afterwards."""
    subnets: tuple[str, ...]
    """Keys of the subnets of its instances."""
    zones: tuple[str, ...]
    interfaces: tuple[Interface, ...]
    has_placement_group: bool
    """Whether a placement group keeps its instances close to each other."""
    disk: Size
    """Size of the root disk."""
    image: str
    """Key of the image in ``CloudPlan.images`` (chosen by operating system, scheduler and accelerator)."""
    domain_nodes: int = 1
    """Instances of one scale-up domain (an UltraServer), which are provisioned together."""
    min_nodes: int = 0
    """Instances that are always running."""
    local_disk_mount: str | None = None
    """Mount point of the local disks, joined as one volume without redundancy."""
    placement_group: str | None = None
    """Name of an existing placement group of the user's."""
    cores: int | None = None
    """Cores of an instance that shows one hardware thread of each; None: all threads are used."""
    addresses_per_node: int = 1
    """Subnet addresses per instance, including those of its pods where pods use subnet addresses."""


@dataclass(frozen=True)
class CloudHost:
    """Hosts outside of the pools: controllers, login hosts, storage backends."""

    key: str
    role: Literal["controller", "login", "database", "storage", "system"]
    machine: Machine
    count: int
    subnets: tuple[str, ...]
    disk: Size
    image: str
    state_disk: Size | None = None
    """A separate, protected disk for state that must survive the instance."""
    is_public: bool = False
    """Whether it has a public address."""
    hosts: tuple[str, ...] = ()
    """Private DNS names, fixed before the host exists (without the domain)."""
    balancer: Literal["private", "public"] | None = None
    """Whether a load balancer is in front of them, with a public address or without; None: no balancer."""
    balancer_subnets: tuple[str, ...] = ()
    """Keys of the subnets of the load balancer."""
    storage: str = ""
    """Role ``storage``: name of the file system that it serves."""
    interfaces: tuple[Interface, ...] = ()
    """Empty: the default interface of every instance."""

    @property
    def is_reached_from_outside(self) -> bool:
        """Whether its machines, or the load balancer in front of them, have a public address."""
        return self.is_public or self.balancer == "public"

    def list_names(self) -> tuple[str, ...]:
        """Return the names of its machines, without the domain."""
        if len(self.hosts) == self.count:
            return self.hosts
        return tuple(f"{self.key}-{number}" for number in range(1, self.count + 1)) if self.count > 1 else (self.key,)


@dataclass(frozen=True)
class CloudDatabase:
    """The accounting database, if the provider runs it."""

    key: str
    product: str
    engine: str
    version: str
    machine: str
    """The provider's name of the instance size."""
    disk: Size
    subnets: tuple[str, ...]
    """In as many zones as the product requires."""
    host: str
    """Private DNS name, without the domain."""
    port: int


@dataclass(frozen=True)
class CloudInstall:
    """Download source of storage software for self-managed servers, for software that only its vendor distributes."""

    source: str
    """``https://…``, or the URL in a bucket, of a program that every server runs as root at first boot."""
    token: str | None = None
    """Name or identifier of a secret that is passed to the program; the user keeps it in the provider's secret
    store."""
    digest: str | None = None
    """SHA-256 of the program, which is not run if it has another one; None: any program at the source is run."""


@dataclass(frozen=True)
class ExistingFileSystem:
    """A file system of the user's."""

    id: str
    server: str
    """DNS name of its servers."""
    export: str
    """What clients mount from them: a path or a name."""


@dataclass(frozen=True)
class CloudStorage:
    """A storage service of the provider, or an object store."""

    name: str
    kind: Literal["parallel", "nfs", "bucket", "servers"]
    """``servers``: a file system on self-managed instances (``CloudHost`` with role ``storage``)."""
    product: str
    """Product name in the catalog's storage services."""
    mount: str | None
    subnets: tuple[str, ...] = ()
    capacity: Size | None = None
    """Purchased capacity: a step of the product, at least the requested capacity."""
    throughput: Rate | None = None
    """Total throughput."""
    per_tib: Rate | None = None
    """Throughput for each TiB, if it is sold in that unit."""
    options: Mapping[str, str | int | bool] = field(default_factory=dict)
    """Other settings in the provider's terms (deployment type, version, compression …)."""
    linked_store: str | None = None
    """URL of the object store that it imports from, or the name of an object store of this plan."""
    ports: tuple[str, ...] = ()
    """Ports that its servers listen on: ``tcp:988``, ``udp:1018-1023``."""
    mount_rule: MountRule | None = None
    """How clients mount it; None for an object store."""
    fabric_client: FabricClient | None = None
    """Set up of clients that reach it over a fabric; None if they reach it over the network only."""
    existing: ExistingFileSystem | None = None
    """The user's file system; None if it is created."""
    install: CloudInstall | None = None
    """``servers``: source of their software; None if the spec does not specify it."""


@dataclass(frozen=True)
class ImageBuild:
    """A custom image that the provider builds from the published one."""

    key: str
    machine: str
    """The machine on which it is built."""
    root: str
    """Device of its root disk."""
    disk: Size
    """Size of its root disk."""
    inputs: Mapping[str, str]
    """Variables of the installation."""


@dataclass(frozen=True)
class CloudReference:
    """An existing resource that the spec names, and what it must be like."""

    kind: Literal["image", "bucket", "secret"]
    path: str
    """Where in the spec."""
    identifier: str
    arch: str = ""
    """Image: architecture of the machines that start from it."""
    root: str = ""
    """Image: device on which the root disk is set up; empty if it is not set up by its device."""
    is_regional: bool = False
    """Whether it must be in the region of the cluster."""


@dataclass(frozen=True)
class CloudPlan:
    """A cloud site."""

    provider: str
    """Name of the provider in the catalog, which is the kind of its sites."""
    region: str
    zones: tuple[str, ...]
    network: CloudNetwork
    groups: tuple[NodeGroup, ...]
    """In the order of the pools; within a pool in the order in which sources of capacity are tried."""
    hosts: tuple[CloudHost, ...]
    storage: tuple[CloudStorage, ...]
    cost: CloudCost
    object_scheme: str
    """URL scheme of objects in the provider's buckets."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """The user's tags; resources add the cluster's name."""
    images: Mapping[str, str] = field(default_factory=dict)
    """Image key -> the provider's reference (name of a public parameter, family, identifier)."""
    monthly_budget: Money | None = None
    database: CloudDatabase | None = None
    """The accounting database, if the provider runs it."""
    options: Mapping[str, str | int | bool] = field(default_factory=dict)
    """Other settings of all instances in the provider's terms (``metadata_hops``)."""
    impacts: tuple[ChangeImpact, ...] = ()
    """Impact of changes of the published plan on running resources, from the provider's table."""
    name_rules: Mapping[str, NameRule] = field(default_factory=dict)
    """The provider's rules for names, by kind of resource."""
    limits: Mapping[str, int] = field(default_factory=dict)
    """The provider's limits (``user-data``: bytes of a start script)."""
    partition: str = ""
    """Regions that share accounts and the prefix of identifiers; empty where the provider has no partitions."""
    service_suffix: str = ""
    """Domain of the DNS names of the provider's services in this partition."""
    principals: Mapping[str, str] = field(default_factory=dict)
    """Service principals that have another name in this partition."""
    image_slurm_releases: Mapping[str, str] = field(default_factory=dict)
    """Image key -> release of Slurm in the package archive of its operating system; published images only."""
    root_devices: Mapping[str, str] = field(default_factory=dict)
    """Image key -> device of its root disk; a custom image without a declared one has that of the image it replaces."""
    image_users: Mapping[str, str] = field(default_factory=dict)
    """Image key -> administrator that a custom image creates, if declared."""
    published_images: tuple[MachineImage, ...] = ()
    """Published images of the keys in use, on which custom images are based."""
    image_builds: tuple[ImageBuild, ...] = ()
    """Images in use that are built; published images otherwise."""
    image_tools: tuple[ImageTool, ...] = ()
    """Tools for the accelerators of the pools that are built into custom images; without those whose digest is
    unknown."""
    references: tuple[CloudReference, ...] = ()
    """Existing resources that the spec names."""
    addons: tuple[Addon, ...] = ()
    """Add-ons that the provider manages in its Kubernetes cluster, in the order of installation."""
    metadata_addresses: tuple[MetadataAddress, ...] = ()
    """Addresses of the metadata service: Slurm hosts block access to them for all users but root."""
    mount_clients: tuple[MountClient, ...] = ()
    """Software that machines need to mount the file systems; those that bring their own are not among them."""
    boot_scripts: tuple[BootScript, ...] = ()
    """The user's programs that machines run when they start, in this order."""
    local_disks: LocalDisks | None = None
    """How internal disks of instances are found; None if the catalog does not say it."""
    state_bucket: str = "state"
    """Key of the bucket with the published configuration."""

    def list_groups(self, pool: str) -> tuple[NodeGroup, ...]:
        """Return the groups of a pool, in the order in which they are tried."""
        return tuple(group for group in self.groups if group.pool == pool)

    def is_prepaid(self, pool: str) -> bool:
        """Whether all capacity of a pool is paid for, used or not: powering off its nodes saves nothing."""
        kinds = {group.capacity.kind for group in self.list_groups(pool)}
        return bool(kinds) and kinds <= {"reservation", "reservation-group", "capacity-block"}

    def list_hosts(self, role: str) -> tuple[CloudHost, ...]:
        """Return the hosts of a role."""
        return tuple(host for host in self.hosts if host.role == role)

    def get_storage(self, name: str) -> CloudStorage:
        """Return a storage by its name in the spec."""
        return next(item for item in self.storage if item.name == name)
