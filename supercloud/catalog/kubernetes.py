"""Releases of Kubernetes and of the queues that batch work passes through: the versions of their APIs and what each
can do; and how a control plane of one's own is set up. A new release is one new file of data.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..primitives.quantity import Size
from ..spec.base import Count, Flag, ReleaseText, Text
from .fact import CatalogEntry, CatalogModel, EntryName

__all__ = [
    "ControlPlane",
    "KubernetesAbilities",
    "KubernetesRelease",
    "KueueAbilities",
    "KueueApis",
    "KueueRelease",
    "PolicyApi",
    "RequestLimits",
    "VolcanoAbilities",
    "VolcanoRelease",
]

ApiVersion = Annotated[str, Field(pattern=r"^v\d+((alpha|beta)\d+)?$")]


class PolicyApi(CatalogModel):
    """A kind of policy as an API server serves it."""

    version: ApiVersion
    gate: Text | None = None
    """Feature gate that has to be set, and the version served, on a control plane of one's own; None: it is there."""


class KubernetesAbilities(CatalogModel):
    """What a release can do without a feature gate being set, but for what names its gate."""

    kubeadm: ApiVersion
    """Of kubeadm's own configuration files."""
    devices: ApiVersion | None = None
    """Of resource.k8s.io (dynamic resource allocation) as it is served by default; None where it is not."""
    claimed_resources: Flag = False
    """Pods may ask by resource name (``nvidia.com/gpu``) for what claims hand out (DRAExtendedResource)."""
    changing_policies: PolicyApi | None = None
    """MutatingAdmissionPolicy of admissionregistration.k8s.io; None where it is in no version but an alpha."""


class KubernetesRelease(CatalogEntry):
    """One minor release."""

    patch: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    """What is installed where the spec names no patch release."""
    max_nodes: Count | None = None
    """Nodes of one cluster that the project tests the release with."""
    abilities: KubernetesAbilities


class RequestLimits(CatalogModel):
    """Requests that an API server works on at one time, in clusters of up to so many nodes."""

    nodes: Count | None = None
    """The largest cluster; None: any that is larger than those before."""
    reads: Count
    writes: Count


class ControlPlane(CatalogEntry):
    """What control-plane hosts of one's own run beside Kubernetes itself, and how large their parts may grow."""

    virtual_address: Text
    """Image of what answers at the address that the hosts share."""
    python: Text
    """Image that the labelling of nodes runs in: an interpreter and its standard library."""
    request_limits: Annotated[tuple[RequestLimits, ...], Field(min_length=1)]
    """By rising size of the cluster."""
    etcd_quota: Size
    """Of etcd's database."""

    def select_request_limits(self, nodes: int) -> RequestLimits:
        """The first limits that are meant for a cluster of so many nodes, else the last."""
        fit = (item for item in self.request_limits if item.nodes is None or nodes <= item.nodes)
        return next(fit, self.request_limits[-1])


class KueueApis(CatalogModel):
    """Versions of kueue.x-k8s.io by kind; not all kinds grew up together."""

    queues: ApiVersion
    """ClusterQueue, LocalQueue, ResourceFlavor, WorkloadPriorityClass, AdmissionCheck."""
    cohorts: ApiVersion
    topologies: ApiVersion
    clusters: ApiVersion
    """MultiKueueConfig and MultiKueueCluster."""
    provisioning: ApiVersion
    """ProvisioningRequestConfig."""
    configuration: ApiVersion
    """Of config.kueue.x-k8s.io."""
    cohort_field: Text
    """What a ClusterQueue calls its cohort."""


class KueueAbilities(CatalogModel):
    """What a release can do without a feature gate being set."""

    topology: Flag
    """Topology-aware scheduling; older releases need the gate TopologyAwareScheduling."""
    slices: Flag
    """Whether a gang may be cut into equal parts, each within an inner level."""
    layers: Flag
    """Whether parts may be cut into parts again."""
    claims: Flag = False
    """Whether it holds back workloads that claim devices of a class that its configuration does not map to quota."""


class KueueRelease(CatalogEntry):
    """One minor release of Kueue."""

    version: Text
    """Of the chart and the images."""
    apis: KueueApis
    abilities: KueueAbilities
    max_levels: Count | None = None
    """Of a topology."""
    max_flavors: Count | None = None
    """Of one resource group."""
    max_clusters: Count | None = None
    """Of one MultiKueueConfig."""
    min_kubernetes: ReleaseText | None = None


class VolcanoAbilities(CatalogModel):
    """What a release can do."""

    tier_names: Flag
    """Whether a HyperNode says what its tier is called."""
    claims_in_levels: Flag
    """Whether pods that claim devices are placed within a level they insist on."""
    claimed_resources: Flag
    """Whether it counts devices of claims as the resource that pods ask for."""


class VolcanoRelease(CatalogEntry):
    """One minor release of Volcano."""

    version: Text
    queues: ApiVersion
    """Of scheduling.volcano.sh."""
    topology: ApiVersion
    """Of topology.volcano.sh."""
    abilities: VolcanoAbilities
    min_kubernetes: EntryName | None = None
