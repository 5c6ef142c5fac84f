"""The root: one cluster at one site with one scheduler."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from ..primitives.quantity import Money
from .base import DuplicateNameError, Flag, IntegerRange, Model, Name, Text, find_duplicates
from .fabric import Cidr, Fabric
from .facility import Facility
from .pool import Pool, find_shared_prefixes
from .scheduler import Scheduler
from .site import Site
from .storage import Storage
from .tenant import Tenant

__all__ = ["PASSED_IDENTIFIER", "SubnetRanges", "ClusterSpec", "ExistingSubnet", "Network", "Suppression"]

PASSED_IDENTIFIER = "passed-to-the-component"
"""Stands for an identifier that a program knows only later; with ``-<number>`` for one of several."""


_DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"


class ExistingSubnet(Model):
    """An existing subnet, with what is known of it."""

    id: Text
    """Identifier of the subnet at the cloud, such as subnet-0a1b2c3d."""
    zone: Text | None = None
    """Availability zone of the subnet; empty means not known."""
    public: Flag = False
    """Whether the internet is reached directly from it."""


class SubnetRanges(Model):
    """Ranges of subnets, one a zone in the order of the zones."""

    public: tuple[Cidr, ...] = ()
    """Ranges of subnets with a route to the internet."""
    private: tuple[Cidr, ...] = ()
    """Ranges of subnets for nodes."""
    control: tuple[Cidr, ...] = ()
    """Of the managed Kubernetes control plane."""


class Network(Model):
    """The ordinary network: addresses and names."""

    cidr: Cidr | None = None
    """Addresses of the whole cluster; empty means 10.0.0.0/8 on-prem and 10.0.0.0/16 on a cloud."""
    domain: Annotated[str, Field(pattern=rf"^{_DNS_LABEL}(\.{_DNS_LABEL})*$", max_length=253)] | None = None
    """DNS domain of the hosts; empty means <name>.internal."""
    fabrics: Cidr | None = None
    """On-prem only: addresses of the nodes' links to fabrics; empty means 172.16.0.0/12."""
    management: Cidr | None = None
    """On-prem only: addresses of BMCs and switches; empty means 100.64.0.0/10."""
    macs: Text | None = None
    """On-prem only: a CSV file of host,network,mac (network is in-band, bmc or switch), relative to the spec's file."""
    vlans: dict[Text, Annotated[int, IntegerRange(1, 4093)]] = {}
    """On-prem only: VLANs of bridged subnets of the plan, such as ``{service: 10}``; the others are numbered."""
    id: Text | None = None
    """Clouds only: an existing network to use."""
    subnets: tuple[Text | ExistingSubnet, ...] = ()
    """Clouds only: existing subnets to use."""
    cidrs: tuple[Cidr, ...] = ()
    """Clouds only: further ranges of the network besides ``cidr``; empty means: as many as the nodes need."""
    blocks: SubnetRanges = SubnetRanges()
    """Clouds only: ranges of the subnets, where they are not to be worked out."""
    access: tuple[Cidr, ...] = ()
    """Clouds only: ranges from which public machines are reached by ssh (empty means none), and the API of a managed
    control plane (empty means any)."""
    closed: bool = False
    """Clouds only: no way to the internet; services are reached through private endpoints."""


class Suppression(Model):
    """A check whose findings are accepted, and why."""

    check: Text
    """Name of the check, as findings print it in brackets (power-budget)."""
    path: Text | None = None
    """Only findings at this path; empty means all of the check."""
    reason: Text
    """Why the finding is acceptable; reports and reviews show it."""


class ClusterSpec(Model):
    """An AI supercomputer, declared: pools of machines, fabrics, storage, facility, tenants."""

    name: Name
    """Name of the cluster: Slurm's ClusterName, the DNS domain and resources of a cloud follow it."""
    site: Site
    """Where the cluster stands: on-prem, or a region of a cloud."""
    scheduler: Scheduler
    """What places jobs on nodes: Slurm or Kubernetes."""
    network: Network = Network()
    """Addresses and names of the ordinary (in-band and management) networks."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1, max_length=4096)]
    """Groups of equal machines; at least one."""
    fabrics: Annotated[tuple[Fabric, ...], Field(max_length=64)] = ()
    """Networks between machines: compute, storage, in-band, management."""
    storage: Annotated[tuple[Storage, ...], Field(max_length=256)] = ()
    """File systems and object stores."""
    facility: Facility | None = None
    """On-prem only: racks, power, cooling and energy. Empty means that the hall is not planned."""
    tenants: Annotated[tuple[Tenant, ...], Field(max_length=4096)] = ()
    """Groups of users with shares, priorities and limits; empty means that everybody is equal."""
    suppress: tuple[Suppression, ...] = ()
    """Findings of checks that are accepted, each with a reason."""
    catalog: Text | None = None
    """A folder that adds to the catalog or overrides it, relative to the spec's file."""
    tags: dict[Text, Text] = {}
    """Put on everything that can carry them."""
    budget: Money | None = None
    """Clouds only: of a month; the cloud warns when it is about to be spent."""

    @model_validator(mode="after")
    def _check_unique_names(self) -> ClusterSpec:
        for kind in ("pools", "fabrics", "storage", "tenants"):
            for twice in find_duplicates(getattr(self, kind)):
                raise DuplicateNameError(f"{kind}: {twice!r} is there twice; names are unique")
        for twice in find_shared_prefixes(self.pools):
            raise ValueError(f"pools: two of them would give hosts the name {twice!r}-…; set another hostname")
        return self
