"""Providers: name rules, limits, kinds of capacity, network rules, missing features."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field

from ..primitives.names import NameRule
from ..primitives.quantity import Size
from ..spec.base import Count, Flag, Natural, PositiveDuration, Text
from .fact import CatalogEntry, CatalogModel, CidrBlock, EntryName, RegularExpression

__all__ = [
    "Addon",
    "RangeConflict",
    "CapacityRule",
    "ProviderDefaults",
    "Endpoints",
    "MachineImage",
    "ChangeImpact",
    "ProviderLimit",
    "ManagedDatabase",
    "NetworkRule",
    "CloudPartition",
    "Provider",
]


Endpoints = dict[Text, Literal["gateway", "interface"]]


class CapacityRule(CatalogModel):
    """Rules of a kind of capacity."""

    kind: Literal["reservation", "reservation-group", "capacity-block", "spot", "on-demand", "flex-start"]
    placement: Literal["usual", "allowed", "refused"]
    """Whether it can be used with a placement group of the cluster."""
    price: Literal["on-demand", "spot", "capacity-block"] | None = None
    """List price at which it is billed; absent if it has a separate price."""
    id_pattern: RegularExpression | None = None
    """Pattern of its identifier; ``{region}`` and ``{partition}`` are the site's."""
    id_example: Text | None = None
    """Example from the provider's documentation, if an identifier is required."""
    most: Count | None = None
    """Maximum number of machines of one."""
    one_domain: Flag = False
    """Whether one of machines that are sold in scale-up domains is a single domain."""
    reason: Text | None = None
    """Why a combination is rejected."""


class ProviderLimit(CatalogModel):
    """A limit of the provider, with the name of the quota if it has one."""

    value: Natural
    adjustable: Flag = False
    what: Text


class RangeConflict(CatalogModel):
    """Address ranges that a network cannot combine."""

    first: CidrBlock
    """Range that contains the first range of the network."""
    refused: tuple[CidrBlock, ...]
    """Ranges that further ranges must not be in."""
    why: Text


class NetworkRule(CatalogModel):
    """Sizes of networks, and the services reached through private endpoints."""

    largest: Count
    """Prefix length of the largest network or subnet."""
    smallest: Count
    reserved: Natural
    """Addresses of each subnet that the provider reserves."""
    ranges: tuple[CidrBlock, ...]
    """Private ranges a network may be in."""
    apart: tuple[RangeConflict, ...] = ()
    secondary: dict[CidrBlock, tuple[CidrBlock, ...]] = {}
    """Range of the first range -> ranges from which further ones are taken if the first is full."""
    endpoints: Endpoints = {}
    """Endpoints that are always created: they are free and avoid traffic through the internet."""
    existing_endpoints: Endpoints = {}
    """Endpoints that replace them in an isolated existing network, whose routes must not be changed."""
    closed_endpoints: dict[Literal["all", "slurm", "kubernetes", "autoscaler"], Endpoints] = {}
    """Further endpoints of a network without internet access, by scheduler, and for an autoscaler in Kubernetes."""
    control_zones: Natural = 0
    """Number of zones in which the managed control plane requires a subnet."""
    control_prefix: Count | None = None
    """Prefix length of such a subnet."""
    pod_interfaces: Natural = 0
    """Interfaces whose addresses a Kubernetes node keeps in reserve for pods; 0 if pods have separate addresses."""


class MachineImage(CatalogModel):
    """A machine image the provider publishes."""

    key: EntryName
    scheduler: Literal["slurm", "kubernetes"]
    arch: Literal["x86_64", "aarch64"]
    accelerator: EntryName
    """Vendor of the accelerators whose driver it contains, in lower case; ``none`` without a driver."""
    reference: Text
    """Reference of the image at the provider; ``{version}`` is the Kubernetes version."""
    root: Text
    """Device of its root disk."""
    slurm: Annotated[str, Field(pattern=r"^[0-9]{2}\.[0-9]{2}$")] | None = None
    """Release of Slurm in the package archive of its operating system; absent if it has none, or if it is unknown."""
    distribution: EntryName | None = None
    """``ID`` of its os-release."""
    release: Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)*$")] | None = None
    """``VERSION_ID`` of its os-release."""
    user: Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_-]{0,31}$")] | None = None
    """Administrator who can log in to its machines by SSH."""
    driver: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,64}$")] | None = None
    """Kernel module of the driver that it contains; absent without a driver."""


class ProviderDefaults(CatalogModel):
    """Default values of settings that the spec does not specify; chosen by this project."""

    controller: EntryName
    controller_large: EntryName
    """For more nodes than ``controller_nodes``."""
    controller_nodes: Count
    login: EntryName
    database: EntryName
    system: EntryName
    system_count: Count
    arm: dict[EntryName, EntryName] = {}
    """Machine -> replacement for clusters whose nodes have Arm processors."""
    disk: Size
    """Size of root disks."""
    state: Size
    """Size of the disk for the scheduler's state."""
    storage: dict[Text, EntryName]
    """Storage service by the spec's kind."""
    backend: dict[EntryName, EntryName] = {}
    """Storage service -> machine of its servers, if the cluster runs them."""


class ControllerMemory(CatalogModel):
    """Memory of a controller by the number of nodes of its cluster, as the provider recommends."""

    base: Size
    per_node: Size
    maximum: Size

    def compute(self, nodes: int) -> Size:
        """The recommended memory for a number of nodes."""
        return Size.from_base(min(self.base.base + nodes * self.per_node.base, self.maximum.base))


class ChangeImpact(CatalogModel):
    """A change that cannot be made in place."""

    path: Text
    """Where in the published plan, with ``*`` for a name: ``cloud.storage[*].options.deployment``."""
    impact: Literal["replaces", "changes", "grows"]
    """``grows``: in place, the value can only be increased."""
    what: Text
    """What is replaced, and whether its data is lost."""


class ImageBuildService(CatalogModel):
    """A service that builds machine images."""

    service: Text
    longest: PositiveDuration
    """Time after which a build that has not finished has failed."""


class ManagedDatabase(CatalogModel):
    """A database that the provider runs."""

    product: Text
    engine: Text
    version: Text
    machine: Text
    port: Count
    disk: Size
    zones: Count = 2
    """Number of zones in which it requires subnets."""


class CloudPartition(CatalogModel):
    """Regions that share accounts and the prefix of identifiers."""

    name: Text
    regions: Text
    """A regular expression that the whole name of each of its regions matches."""
    isolated: Text | None = None
    """Why networks without internet access are not possible there; absent if they are."""
    budget: Text | None = None
    """Why budgets are not possible there; absent if they are."""
    suffix: Text = ""
    """Domain of the DNS names of its services."""
    principals: dict[Text, Text] = {}
    """Services whose principal has a different name there."""


class Addon(CatalogModel):
    """An add-on that the provider maintains in its managed Kubernetes clusters."""

    name: EntryName
    early: Flag = False
    """Whether nodes become ready only after it is installed."""
    storage: tuple[Text, ...] = ()
    """Storage services whose driver it is; empty: all clusters have it."""
    account: Text | None = None
    """Service account whose pods need a separate role."""
    role: EntryName | None = None
    """Name of the role of these pods; absent: the name of the add-on."""
    policies: tuple[Text, ...] = ()
    """Policies of the provider that the role has."""
    data: Flag = False
    """Whether its pods read and write the cluster's object stores."""
    settings: dict[Text, Text] = {}
    """Its configuration, with the add-on's keys."""


class Provider(CatalogEntry):
    """A cloud."""

    names: dict[EntryName, NameRule]
    """Name rules by kind of resource."""
    identifiers: dict[EntryName, Text] = {}
    """Kind of resource -> regular expression of identifiers of existing ones."""
    identifier_forms: dict[EntryName, Text] = {}
    """Kind of resource -> description of such identifiers, for messages."""
    identifier_region: Text | None = None
    """Regular expression of identifiers that contain their region, as its group."""
    image_architectures: dict[Literal["x86_64", "aarch64"], tuple[EntryName, ...]] = {}
    """Architecture -> its names in references of published images."""
    object_scheme: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{0,15}$")]
    """URL scheme of objects in a bucket."""
    tags_ignore_case: Flag = False
    """Whether tags of a resource must differ in more than case."""
    limits: dict[EntryName, ProviderLimit]
    capacity: tuple[CapacityRule, ...]
    fabrics: dict[Text, Text]
    """Fabric kind of the spec -> the provider's name of its interfaces."""
    network: NetworkRule
    images: tuple[MachineImage, ...]
    defaults: ProviderDefaults
    controller_memory: ControllerMemory | None = None
    """Absent if the provider recommends none."""
    image_build: ImageBuildService | None = None
    """Absent if this project does not build images with the provider's service."""
    database: ManagedDatabase | None = None
    partitions: tuple[CloudPartition, ...] = ()
    """Partitions; the first whose regions match applies."""
    addons: tuple[Addon, ...] = ()
    kubernetes_local: Text | None = None
    """Path where nodes of its managed Kubernetes mount local disks; not configurable."""
    cannot: dict[Text, Text] = {}
    """Missing feature -> reason (``storage-scale``, ``capacity:flex-start`` …)."""
    unlisted: dict[Text, Text] = {}
    """Families of machines that its list of regions omits -> reason."""
    unsourced: dict[Text, Text] = {}
    """Prefix of names of machines that the catalog lacks -> reason."""
    impacts: tuple[ChangeImpact, ...] = ()

    def find_capacity_rule(self, kind: str) -> CapacityRule | None:
        """The rule of a kind of capacity; None if the provider does not have it."""
        return next((item for item in self.capacity if item.kind == kind), None)

    def find_partition(self, region: str) -> CloudPartition | None:
        """The partition of a region; None if the provider has none."""
        return next((item for item in self.partitions if re.fullmatch(item.regions, region)), None)
