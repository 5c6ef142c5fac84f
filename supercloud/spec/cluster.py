"""The root: one cluster at one site with one scheduler."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from ..primitives.quantity import Money
from .base import (
    MAX_FABRICS,
    MAX_LISTED,
    MAX_RANGES,
    MAX_TENANTS,
    DuplicateNameError,
    Flag,
    IntegerRange,
    Model,
    Name,
    Text,
    find_duplicates,
)
from .constructed import DocumentModel
from .fabric import Cidr, Fabric
from .facility import Facility
from .pool import Pool, find_shared_prefixes
from .scheduler import Scheduler
from .site import Site
from .storage import Storage
from .tenant import Tenant
from .user import Users

__all__ = ["PASSED_IDENTIFIER", "SubnetRanges", "ClusterSpec", "ExistingSubnet", "Network", "Suppression"]

PASSED_IDENTIFIER = "passed-to-the-component"
"""Placeholder for an identifier that a program gets later; with ``-<number>`` for one of several."""


_DNS_LABEL = r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"


class ExistingSubnet(Model):
    """An existing subnet and its known properties."""

    id: Text
    """Identifier of the subnet at the cloud, such as subnet-0a1b2c3d. Example: ``subnet-0a1b2c3d``."""
    zone: Text | None = None
    """Availability zone of the subnet; empty means unknown. Example: ``us-east-1a``."""
    public: Flag = False
    """Whether it has a direct route to the internet."""


class SubnetRanges(Model):
    """Ranges of subnets, one per zone in the order of the zones."""

    public: Annotated[tuple[Cidr, ...], Field(max_length=MAX_RANGES)] = ()
    """Ranges of subnets with a route to the internet; empty means that they are computed. Example:
    ``[10.8.0.0/24]``."""
    private: Annotated[tuple[Cidr, ...], Field(max_length=MAX_RANGES)] = ()
    """Ranges of subnets for nodes; empty means that they are computed. Example: ``[10.8.16.0/20]``."""
    control: Annotated[tuple[Cidr, ...], Field(max_length=MAX_RANGES)] = ()
    """Ranges of the subnets of a managed Kubernetes control plane; empty means that they are computed. Example:
    ``[10.8.1.0/28]``."""


class Network(Model):
    """The in-band network: addresses and names."""

    cidr: Cidr | None = None
    """Addresses of the whole cluster; empty means 10.0.0.0/8 on-prem and 10.0.0.0/16 on a cloud. Example:
    ``10.8.0.0/16``."""
    domain: Annotated[str, Field(pattern=rf"^{_DNS_LABEL}(\.{_DNS_LABEL})*$", max_length=253)] | None = None
    """DNS domain of the hosts; empty means <name>.internal. Example: ``pod1.example.com``."""
    fabrics: Cidr | None = None
    """On-prem only: addresses of the nodes' links to fabrics; empty means 172.16.0.0/12. Example: ``172.20.0.0/14``."""
    management: Cidr | None = None
    """On-prem only: addresses of BMCs and switches; empty means 100.64.0.0/10. Example: ``10.200.0.0/16``."""
    macs: Text | None = None
    """On-prem only: a CSV file of host,network,mac (network is in-band, bmc or switch), relative to the spec's file;
    empty means that no reservations for DHCP are rendered. Example: ``macs.csv``."""
    vlans: Annotated[dict[Text, Annotated[int, IntegerRange(1, 4093)]], Field(max_length=MAX_LISTED)] = {}
    """On-prem only: VLANs of bridged subnets of the plan, such as ``{service: 10}``; the others are numbered. Empty
    means that all are numbered. Example: ``{service: 10}``."""
    id: Text | None = None
    """Clouds only: an existing network to use; empty means that a network is created. Example: ``vpc-0a1b2c3d``."""
    subnets: Annotated[tuple[Text | ExistingSubnet, ...], Field(max_length=MAX_RANGES)] = ()
    """Clouds only: existing subnets to use; empty means that subnets are created. Example: ``[subnet-0a1b2c3d]``."""
    cidrs: Annotated[tuple[Cidr, ...], Field(max_length=MAX_RANGES)] = ()
    """Clouds only: additional ranges of the network besides ``cidr``; empty means as many as the nodes need. Example:
    ``[10.12.0.0/16]``."""
    blocks: SubnetRanges = SubnetRanges()
    """Clouds only: ranges of the subnets; empty means that they are computed. Example: ``{private:
    [10.8.16.0/20]}``."""
    access: Annotated[tuple[Cidr, ...], Field(max_length=MAX_LISTED)] = ()
    """Clouds only: ranges that can reach public machines by ssh, and the API of a managed control plane; empty means
    none by ssh, and any for the API. Example: ``[203.0.113.0/24]``."""
    zone: Text | None = None
    """Clouds only: an existing private DNS zone of ``domain`` in which the machines get their names; empty means that a
    zone is created. Example: ``Z0123456789ABCDEFGHIJ``."""
    endpoints: Annotated[tuple[Text, ...], Field(max_length=MAX_LISTED)] = ()
    """Clouds only: services whose private endpoints exist in the existing network, by the provider's short names; they
    are not created. Empty means none. Example: ``[s3, ecr.api, ecr.dkr]``."""
    isolated: bool = False
    """Clouds only: no internet access; services are accessed through private endpoints."""


class Suppression(Model):
    """A check whose findings are suppressed, and the reason."""

    check: Text
    """Name of the check, as printed in brackets at the end of findings (power-budget). Example: ``power-headroom``."""
    path: Text | None = None
    """Only findings at this path; empty means all findings of the check. Example: ``facility.power.budget``."""
    reason: Text
    """Reason why the finding is acceptable; it is shown in reports. Example: ``the hall is extended in June``."""


class ClusterSpec(DocumentModel):
    """An AI supercomputer: pools of machines, fabrics, storage, facility, tenants."""

    name: Name
    """Name of the cluster: Slurm's ClusterName (unless ``scheduler.cluster_name`` is set), the DNS domain and resources
    of a cloud follow it. Example: ``pod1``."""
    site: Site
    """Location of the cluster: on-prem, or a region of a cloud. Example: ``{kind: onprem, location: stockholm}``."""
    scheduler: Scheduler
    """Scheduler of the cluster: Slurm or Kubernetes. Example: ``{kind: slurm, version: "25.11"}``."""
    network: Network = Network()
    """Addresses and names of the in-band and management networks. Example: ``{cidr: 10.8.0.0/16, domain:
    pod1.example.com}``."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1, max_length=MAX_LISTED)]
    """Groups of equal machines; at least one. Example: ``[{name: train, machine: dgx-h100, nodes: 64, fabrics:
    [compute]}]``."""
    fabrics: Annotated[tuple[Fabric, ...], Field(max_length=MAX_FABRICS)] = ()
    """Networks between machines: compute, storage, in-band, management; empty means that no fabric is planned, and
    nodes use the in-band network only. Example: ``[{name: compute, kind: infiniband, switch: nvidia-qm9700}]``."""
    storage: Annotated[tuple[Storage, ...], Field(max_length=256)] = ()
    """File systems and object stores; empty means none. Example: ``[{name: scratch, kind: lustre, capacity: 2 PB,
    mount: /scratch}]``."""
    facility: Facility | None = None
    """On-prem only: racks, power, cooling and energy. Empty means that the hall is not planned. Example: ``{rack:
    {type: eia-48u}, power: {budget: 1.2 MW}}``."""
    tenants: Annotated[tuple[Tenant, ...], Field(max_length=MAX_TENANTS)] = ()
    """Groups of users with shares, priorities and limits; empty means that all users are equal. Example: ``[{name:
    research, share: 3}, {name: product, share: 1}]``."""
    users: Users = ()
    """Slurm on clouds only: people who log in, with the same account on all machines; or the name of a YAML file with
    such a list, relative to the spec's file. Empty means that only administrators of the images have accounts. Example:
    ``[{name: ada, uid: 2001, keys: [ssh-ed25519
    AAAAC3NzaC1lZDI1NTE5AAAAINLv2qQ0WZSoYIorpBHZQPO7u21azCY8MB7JbH2NuEVn ada]}]``."""
    suppress: Annotated[tuple[Suppression, ...], Field(max_length=MAX_LISTED)] = ()
    """Findings of checks to suppress, each with a reason; empty means that all findings are reported. Example:
    ``[{check: power-headroom, reason: the hall is extended in June}]``."""
    catalog: Text | None = None
    """Directory with additions to the catalog, or overrides, relative to the spec's file; empty means the catalog of
    the package only. Example: ``overlay``."""
    tags: Annotated[dict[Text, Text], Field(max_length=MAX_LISTED)] = {}
    """Tags of all cloud resources that support tags; empty means none besides those of the project. Example:
    ``{cost-center: "4711"}``."""
    budget: Money | None = None
    """Clouds only: monthly budget; the cloud sends an alert before it is exceeded. Empty means no alert. Example:
    ``400000 USD``."""

    @model_validator(mode="after")
    def _check_unique_names(self) -> ClusterSpec:
        for kind in ("pools", "fabrics", "storage", "tenants"):
            for twice in find_duplicates(getattr(self, kind)):
                raise DuplicateNameError(f"{kind}: duplicate name {twice!r}; names must be unique")
        for twice in find_shared_prefixes(self.pools):
            raise ValueError(f"pools: two pools would name their hosts {twice!r}-…; set another hostname")
        return self
