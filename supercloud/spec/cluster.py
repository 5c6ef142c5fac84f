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
"""Placeholder for an identifier that a program gets later; with ``-<number>`` for one of several."""


_DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"


class ExistingSubnet(Model):
    """An existing subnetand its known properties."""

    id: Text
    """Identifier of the subnet at the cloud, such as subnet-0a1b2c3d."""
    zone: Text | None = None
    """Availability zone of the subnet; empty means unknown."""
    public: Flag = False
    """Whether it has a direct route to the internet."""


class SubnetRanges(Model):
    """Ranges of subnets, one per zone in the order of the zones."""

    public: tuple[Cidr, ...] = ()
    """Ranges of subnets with a route to the internet."""
    private: tuple[Cidr, ...] = ()
    """Ranges of subnets for nodes."""
    control: tuple[Cidr, ...] = ()
    """Ranges of the subnets of a managed Kubernetes control plane."""


class Network(Model):
    """The in-band network: addresses and names."""

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
    """Clouds only: additional ranges of the network besides ``cidr``; empty means as many as the nodes need."""
    blocks: SubnetRanges = SubnetRanges()
    """Clouds only: ranges of the subnets; empty means that they are computed."""
    access: tuple[Cidr, ...] = ()
    """Clouds only: ranges that can reach public machines by ssh (empty means none), and the API of a managed
    control plane (empty means any)."""
    isolated: bool = False
    """Clouds only: no internet access; services are accessed through private endpoints."""


class Suppression(Model):
    """A check whose findings are suppressed, and the reason."""

    check: Text
    """Name of the check, as printed in brackets at the end of findings (power-budget)."""
    path: Text | None = None
    """Only findings at this path; empty means all findings of the check."""
    reason: Text
    """Reason why the finding is acceptable; it is shown in reports."""


class ClusterSpec(Model):
    """An AI supercomputer: pools of machines, fabrics, storage, facility, tenants."""

    name: Name
    """Name of the cluster: Slurm's ClusterName, the DNS domain and resources of a cloud follow it."""
    site: Site
    """Location of the cluster: on-prem, or a region of a cloud."""
    scheduler: Scheduler
    """Scheduler of the cluster: Slurm or Kubernetes."""
    network: Network = Network()
    """Addresses and names of the in-band and management networks."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1, max_length=4096)]
    """Groups of equal machines; at least one."""
    fabrics: Annotated[tuple[Fabric, ...], Field(max_length=64)] = ()
    """Networks between machines: compute, storage, in-band, management."""
    storage: Annotated[tuple[Storage, ...], Field(max_length=256)] = ()
    """File systems and object stores."""
    facility: Facility | None = None
    """On-prem only: racks, power, cooling and energy. Empty means that the hall is not planned."""
    tenants: Annotated[tuple[Tenant, ...], Field(max_length=4096)] = ()
    """Groups of users with shares, priorities and limits; empty means that all users are equal."""
    suppress: tuple[Suppression, ...] = ()
    """Findings of checks to suppress, each with a reason."""
    catalog: Text | None = None
    """Directory with additions to the catalog, or overrides, relative to the spec's file."""
    tags: dict[Text, Text] = {}
    """Tags of all cloud resources that support tags."""
    budget: Money | None = None
    """Clouds only: monthly budget; the cloud sends an alert before it is exceeded."""

    @model_validator(mode="after")
    def _check_unique_names(self) -> ClusterSpec:
        for kind in ("pools", "fabrics", "storage", "tenants"):
            for twice in find_duplicates(getattr(self, kind)):
                raise DuplicateNameError(f"{kind}: duplicate name {twice!r}; names must be unique")
        for twice in find_shared_prefixes(self.pools):
            raise ValueError(f"pools: two pools would name their hosts {twice!r}-…; set another hostname")
        return self
