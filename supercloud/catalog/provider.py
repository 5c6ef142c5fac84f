"""Clouds as such: how they name things, what they limit, what ways to get capacity allow, what they cannot do."""

from __future__ import annotations

import re
from typing import Literal

from ..primitives.names import NameRule
from ..primitives.quantity import Size
from ..spec.base import Count, Flag, Natural, Text
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
    """What a way to get machines allows."""

    kind: Literal["reservation", "reservation-group", "capacity-block", "spot", "on-demand", "flex-start"]
    placement: Literal["usual", "allowed", "refused"]
    """Whether a placement group of our own goes with it."""
    price: Literal["on-demand", "spot", "capacity-block"] | None = None
    """Which list price it is billed at; absent where it has one of its own."""
    id_pattern: RegularExpression | None = None
    """What its identifier looks like; ``{region}`` and ``{partition}`` are the site's."""
    id_example: Text | None = None
    """An identifier as the provider's documentation writes them, where one is needed."""
    most: Count | None = None
    """Most machines of one."""
    reason: Text | None = None
    """Why something is refused."""


class ProviderLimit(CatalogModel):
    """A number the provider sets, with the quota's own name where it has one."""

    value: Natural
    adjustable: Flag = False
    what: Text


class RangeConflict(CatalogModel):
    """Ranges that a network does not have together."""

    first: CidrBlock
    """Where its first range is."""
    refused: tuple[CidrBlock, ...]
    """Then no further one is in these."""
    why: Text


class NetworkRule(CatalogModel):
    """Sizes of networks, and the services reached through private endpoints."""

    largest: Count
    """Prefix length of the largest network or subnet."""
    smallest: Count
    reserved: Natural
    """Addresses of each subnet that the provider keeps."""
    ranges: tuple[CidrBlock, ...]
    """Private ranges a network may be in."""
    apart: tuple[RangeConflict, ...] = ()
    secondary: dict[CidrBlock, tuple[CidrBlock, ...]] = {}
    """Where further ranges are taken from when the first has no room, by the range that the first is in."""
    endpoints: Endpoints = {}
    """Always there: they cost nothing and spare the way through the internet."""
    given_endpoints: Endpoints = {}
    """What stands in for them in a closed network of the user's, whose routes are not ours to change."""
    closed_endpoints: dict[Literal["all", "slurm", "kubernetes"], Endpoints] = {}
    """What a network without a way to the internet needs besides, by what runs in it."""
    control_zones: Natural = 0
    """Zones in which the managed control plane wants a subnet."""
    control_prefix: Count | None = None
    """Prefix length of such a subnet."""
    pod_interfaces: Natural = 0
    """Interfaces full of addresses that a Kubernetes node keeps; 0 where pods have addresses of their own."""


class MachineImage(CatalogModel):
    """A machine image the provider publishes."""

    key: EntryName
    scheduler: Literal["slurm", "kubernetes"]
    arch: Literal["x86_64", "aarch64"]
    accelerator: Literal["none", "nvidia", "amd", "aws"]
    """Vendor of the accelerators it has the driver for."""
    reference: Text
    """What the provider knows it by; ``{version}`` is that of Kubernetes."""
    root: Text
    """Device of its root disk."""


class ProviderDefaults(CatalogModel):
    """What is taken where the spec is silent: our choice, not a fact."""

    controller: EntryName
    controller_large: EntryName
    """For more nodes than ``controller_nodes``."""
    controller_nodes: Count
    login: EntryName
    database: EntryName
    system: EntryName
    system_count: Count
    arm: dict[EntryName, EntryName] = {}
    """What stands in for a machine beside nodes whose processors are Arm."""
    disk: Size
    """Of the root."""
    state: Size
    """Of the scheduler's state."""
    storage: dict[Text, EntryName]
    """Storage service by the spec's kind."""
    backend: dict[EntryName, EntryName] = {}
    """Machine of servers of our own by storage service."""


class ChangeImpact(CatalogModel):
    """A change that cannot be made to what is there."""

    path: Text
    """Where in the published plan, with ``*`` for a name: ``cloud.storage[*].options.deployment``."""
    impact: Literal["replaces", "changes", "grows"]
    """``grows``: only a larger value can be had in place."""
    what: Text
    """What is made again, and whether its data is lost."""


class ManagedDatabase(CatalogModel):
    """A database that the provider runs."""

    product: Text
    engine: Text
    version: Text
    machine: Text
    port: Count
    disk: Size
    zones: Count = 2
    """Zones it wants subnets in."""


class CloudPartition(CatalogModel):
    """Regions that share accounts and the beginning of identifiers."""

    name: Text
    regions: Text
    """A regular expression that the whole name of each of its regions matches."""
    closed: Text | None = None
    """Why a network without a way to the internet cannot be made there; absent where it can."""
    budget: Text | None = None
    """Why a budget cannot be made there; absent where it can."""
    principals: dict[Text, Text] = {}
    """Services that take roles under another name there."""


class Addon(CatalogModel):
    """Software that the provider keeps in its managed Kubernetes clusters."""

    name: EntryName
    early: Flag = False
    """Nodes become ready only when it is there."""
    storage: tuple[Text, ...] = ()
    """Storage services it is the driver of; empty means that every cluster has it."""
    account: Text | None = None
    """Service account whose pods need rights of their own."""
    role: EntryName | None = None
    """What the role of these pods is called; empty means like the add-on."""
    policies: tuple[Text, ...] = ()
    """The provider's policies of that role."""
    data: Flag = False
    """Whether its pods read and write the cluster's object stores."""
    settings: dict[Text, Text] = {}
    """What it is configured with, in its own terms."""


class Provider(CatalogEntry):
    """A cloud."""

    names: dict[EntryName, NameRule]
    """Rules by kind of thing."""
    identifiers: dict[EntryName, Text] = {}
    """What identifiers of existing things look like, by kind of thing, as regular expressions."""
    tags_ignore_case: Flag = False
    """Whether something that is tagged takes no two tags that differ in capitals only."""
    limits: dict[EntryName, ProviderLimit]
    capacity: tuple[CapacityRule, ...]
    fabrics: dict[Text, Text]
    """Fabric of the spec -> what the provider calls its interfaces."""
    network: NetworkRule
    images: tuple[MachineImage, ...]
    defaults: ProviderDefaults
    database: ManagedDatabase | None = None
    partitions: tuple[CloudPartition, ...] = ()
    """The first whose regions match counts."""
    addons: tuple[Addon, ...] = ()
    kubernetes_local: Text | None = None
    """Where nodes of its managed Kubernetes mount the disks inside them; not configurable."""
    cannot: dict[Text, Text] = {}
    """What it cannot do -> why (``storage-scale``, ``capacity:flex-start`` …)."""
    unlisted: dict[Text, Text] = {}
    """Families of machines that its list of regions leaves out -> why."""
    unsourced: dict[Text, Text] = {}
    """Machines that the catalog does not have, by how their names begin -> why."""
    impacts: tuple[ChangeImpact, ...] = ()

    def find_capacity_rule(self, kind: str) -> CapacityRule | None:
        """The rule of a way to get machines; None where the provider has no such way."""
        return next((item for item in self.capacity if item.kind == kind), None)

    def find_partition(self, region: str) -> CloudPartition | None:
        """The partition of a region; None where the provider has none."""
        return next((item for item in self.partitions if re.fullmatch(item.regions, region)), None)
