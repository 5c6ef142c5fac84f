"""Releases of Kubernetes, Kueue and Volcano: API versions and capabilities; settings of self-managed control planes.

A new release is one new data file.
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
    """Feature gate to set on a self-managed control plane, in addition to the version; None: enabled by default."""


class KubernetesAbilities(CatalogModel):
    """Capabilities of a release without feature gates, except where a gate is named."""

    kubeadm: ApiVersion
    """API version of kubeadm's configuration files."""
    devices: ApiVersion | None = None
    """API version of resource.k8s.io (dynamic resource allocation) that is served by default; None if not served."""
    claimed_resources: Flag = False
    """Whether pods can request claimed devices by resource name, such as nvidia.com/gpu (DRAExtendedResource)."""
    changing_policies: PolicyApi | None = None
    """MutatingAdmissionPolicy of admissionregistration.k8s.io; None if only an alpha version exists."""


class KubernetesRelease(CatalogEntry):
    """One minor release."""

    singular = "release of Kubernetes"
    patch: Annotated[str, Field(pattern=r"^\d+\.\d+\.\d+$")]
    """Patch release that is installed if the spec does not specify one."""
    max_nodes: Count | None = None
    """Maximum number of nodes of a cluster with which the Kubernetes project tests the release."""
    abilities: KubernetesAbilities


class RequestLimits(CatalogModel):
    """Maximum number of concurrent requests of an API server in clusters up to a number of nodes."""

    nodes: Count | None = None
    """Nodes of the largest cluster; None: no limit."""
    reads: Count
    writes: Count


class ControlPlane(CatalogEntry):
    """Software of self-managed control-plane hosts in addition to Kubernetes, and size limits."""

    virtual_address: Text
    """Image of the software that serves the virtual address of the hosts."""
    python: Text
    """Image of Python with its standard library, in which the node labeling program runs."""
    request_limits: Annotated[tuple[RequestLimits, ...], Field(min_length=1)]
    """Limits by rising size of the cluster."""
    etcd_quota: Size
    """Maximum size of etcd's database."""

    def select_request_limits(self, nodes: int) -> RequestLimits:
        """The first limits for a cluster of this number of nodes, else the last."""
        fit = (item for item in self.request_limits if item.nodes is None or nodes <= item.nodes)
        return next(fit, self.request_limits[-1])


class KueueApis(CatalogModel):
    """API versions of kueue.x-k8s.io by kind."""

    queues: ApiVersion
    """ClusterQueue, LocalQueue, ResourceFlavor, WorkloadPriorityClass, AdmissionCheck."""
    cohorts: ApiVersion
    topologies: ApiVersion
    clusters: ApiVersion
    """MultiKueueConfig and MultiKueueCluster."""
    provisioning: ApiVersion
    """ProvisioningRequestConfig."""
    configuration: ApiVersion
    """API version of config.kueue.x-k8s.io."""
    cohort_field: Text
    """Name of the ClusterQueue's field for its cohort."""


class KueueAbilities(CatalogModel):
    """Capabilities of a release without feature gates."""

    topology: Flag
    """Topology-aware scheduling; older releases need the gate TopologyAwareScheduling."""
    slices: Flag
    """Whether a gang can be divided into equal slices, each within an inner level."""
    layers: Flag
    """Whether slices can be divided again."""
    claims: Flag = False
    """Whether it rejects workloads that claim devices of a class without a quota mapping."""


class KueueRelease(CatalogEntry):
    """One minor release of Kueue."""

    singular = "release of Kueue"
    version: Text
    """Version of the chart and the images."""
    apis: KueueApis
    abilities: KueueAbilities
    max_levels: Count | None = None
    """Maximum number of levels of a topology."""
    max_flavors: Count | None = None
    """Maximum number of flavors of a resource group."""
    max_clusters: Count | None = None
    """Maximum number of clusters of a MultiKueueConfig."""
    min_kubernetes: ReleaseText | None = None


class VolcanoAbilities(CatalogModel):
    """Capabilities of a release."""

    tier_names: Flag
    """Whether a HyperNode has a field for the name of its tier."""
    claims_in_levels: Flag
    """Whether pods that claim devices are placed within a required level."""
    claimed_resources: Flag
    """Whether claimed devices count as the requested resource."""


class VolcanoRelease(CatalogEntry):
    """One minor release of Volcano."""

    singular = "release of Volcano"
    version: Text
    queues: ApiVersion
    """API version of scheduling.volcano.sh."""
    topology: ApiVersion
    """API version of topology.volcano.sh."""
    abilities: VolcanoAbilities
    min_kubernetes: EntryName | None = None
