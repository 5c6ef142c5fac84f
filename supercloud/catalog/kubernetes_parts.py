"""Software installed in addition to Kubernetes: charts, device plugins, metrics, alerts; labels of clouds."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..spec.base import Flag, Natural, Text
from ..spec.fabric import Cidr
from ..spec.site import SiteKind
from .fact import CatalogEntry, CatalogModel, EntryName, LabelKey

__all__ = [
    "Alert",
    "AlertSet",
    "Chart",
    "DeviceStack",
    "Metric",
    "MetricSet",
    "Nic",
    "NodeTopology",
    "PlatformRanges",
    "VisibleDevices",
    "VolumeDriver",
    "XidTable",
    "XidClass",
]


class Chart(CatalogEntry):
    """A Helm chart, locked to one version."""

    repository: Annotated[str, Field(pattern=r"^(https|oci)://[A-Za-z0-9][A-Za-z0-9._~:/%-]*[A-Za-z0-9_~-]$")]
    chart: Text
    version: Text
    namespace: Text
    serves: Text = "pods that use it"
    """What needs it: parts of the bundle, and jobs."""
    images: dict[Text, Text] = {}
    """Versions of images that belong to this version of the chart but are specified in objects."""
    privileged: Flag = False
    """Whether its pods need the privileged level of Pod Security."""
    after: tuple[EntryName, ...] = ()
    """Charts that must be installed first."""


class VisibleDevices(CatalogModel):
    """A variable with which the container runtime provides devices that no device plugin has allocated."""

    variable: Text
    setting: Text
    """Line of its configuration that disables this for unprivileged containers. It is not set by default."""
    file: Text
    """Path of the configuration on a node."""
    by_chart: Flag = False
    """Whether the values of the operator's chart set the line if the operator installs the runtime."""
    images_with_setting: dict[SiteKind, Text] = {}
    """Site -> images that contain the runtime with the line."""


class DeviceStack(CatalogEntry):
    """Software with which Kubernetes detects and allocates accelerators of one resource name."""

    resource: LabelKey
    """Resource name that pods request, such as nvidia.com/gpu."""
    charts: tuple[EntryName, ...] = ()
    sites: tuple[SiteKind, ...] = ()
    """Sites that have it; empty: all."""
    provided: dict[SiteKind, tuple[Text, ...]] = {}
    """Site -> parts that the site provides: driver, toolkit, plugin."""
    driver_path: dict[SiteKind, Text] = {}
    """Site -> path of the driver on nodes, if the site provides it and the path is not the default."""
    node_pools: dict[SiteKind, Text] = {}
    """Site -> how node pools must be created for the stack."""
    visible_devices: VisibleDevices | None = None
    """Access to devices without the device plugin, if the container runtime has it."""
    runtime_class: Text | None = None
    """Runtime class that pods with the resource may need; None if the allocation by the plugin is sufficient."""
    taint: LabelKey | None = None
    """Key of the taint that keeps other pods off such nodes."""
    domain_label: LabelKey | None = None
    """Node label with the detected scale-up domain."""
    device_class: Text | None = None
    """DeviceClass of its driver for dynamic resource allocation."""
    channel_class: Text | None = None
    """DeviceClass of the channel by which the pods of a scale-up domain share memory; a node has one such device."""
    driver: Text | None = None
    """Name of that driver in selectors of device attributes."""
    product_attribute: Text | None = None
    """Device attribute with the product name."""
    whole_rule: Text | None = None
    """Further condition of a selector, so that it matches whole accelerators only."""
    slices: Flag = False
    """Whether accelerators can be partitioned into instances (MIG)."""
    sharing: Flag = False
    """Whether several pods can share an accelerator without isolation (time-slicing)."""
    whole: Text | None = None
    """Why accelerators can be neither partitioned nor shared, if so."""
    exporter: Text | None = None
    """Metric set of its exporter."""


class NodeTopology(CatalogEntry):
    """Node labels with which a provider reports the location of a node, outermost first."""

    singular = "node-topology"
    labels: tuple[LabelKey, ...]
    machines: tuple[EntryName, ...] = ()
    """Machines whose nodes have the labels; empty: all."""
    resources: tuple[LabelKey, ...] = ()
    """Resource names of accelerators whose nodes have the labels; empty: all nodes."""
    single: LabelKey | None = None
    """The label whose value is different on each node."""


class PlatformRanges(CatalogEntry):
    """Addresses outside the network of a plan that a cloud and its managed Kubernetes use."""

    singular = "set of platform ranges"
    platform: dict[Text, Cidr] = {}
    """Service -> addresses that all machines can reach in any network, such as metadata."""
    names: tuple[Cidr, ...] = ()
    """Addresses for name resolution other than the cluster's DNS pods; only DNS is allowed there."""
    services: tuple[Cidr, ...] = ()
    """Default ranges of service addresses of the managed Kubernetes."""


class Metric(CatalogModel):
    """One metric of an exporter."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    type: Literal["gauge", "counter"]
    help: Text
    default: Flag = False
    """Whether the exporter exports it by default."""


class MetricSet(CatalogEntry):
    """The metrics of an exporter."""

    singular = "set of metrics"
    metrics: tuple[Metric, ...]


class XidClass(CatalogModel):
    """Errors that require the same action."""

    action: Text
    """The vendor's name of the action."""
    severity: Literal["critical", "warning", "info"]
    codes: tuple[Natural, ...]
    description: Text


class XidTable(CatalogEntry):
    """Errors of a driver by number, with the required action."""

    singular = "list of XIDs"
    classes: tuple[XidClass, ...]

    def list_codes(self, severity: str) -> tuple[int, ...]:
        """All codes of a severity, sorted; ``critical`` are those after which a node is unusable."""
        return tuple(sorted(code for item in self.classes if item.severity == severity for code in item.codes))


class Alert(CatalogModel):
    """A rule of Prometheus."""

    name: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z0-9]*$")]
    expr: Text
    wait: Annotated[str, Field(pattern=r"^\d+[smh]$")]
    """Time for which the expression must be true."""
    severity: Literal["critical", "warning", "info"]
    summary: Text
    description: Text


class AlertSet(CatalogEntry):
    """Alerts on the metrics of one set."""

    singular = "set of alerts"
    metrics: EntryName
    """The metric set; the alerts are rendered if its exporter is installed."""
    fabrics: tuple[Text, ...] = ()
    """Rendered only if the cluster has a fabric of one of these kinds; empty: always."""
    alerts: tuple[Alert, ...]


class Nic(CatalogEntry):
    """PCI identifiers of a model of network adapter."""

    model: Text
    """Name of the model in machine entries."""
    vendor_id: Annotated[str, Field(pattern=r"^[0-9a-f]{4}$")]
    device_id: Annotated[str, Field(pattern=r"^[0-9a-f]{4}$")]


class VolumeDriver(CatalogEntry):
    """How Kubernetes mounts a kind of storage of a provider. Values that only the provider knows are named."""

    site: SiteKind
    kind: Literal["parallel", "nfs", "bucket"]
    """Kind of the storage in the plan of a cloud."""
    product: Text | None = None
    """On-prem: the kind of storage in the spec."""
    driver: Text | None = None
    """CSI driver; None: the kubelet mounts it itself (NFS)."""
    handle: Text | None = None
    """Value of the volume's handle; None: any name."""
    attributes: dict[Text, Text] = {}
    """Attribute, or field of the NFS volume, that is known only after creation of the storage -> its value."""
    subfolder: Text | None = None
    """The attribute to whose value ``/<tenant>`` is appended, so that a tenant mounts its own folder."""
    options: tuple[Text, ...] = ()
    """Mount options; ``{tenant}`` is replaced."""
    chart: EntryName | None = None
    """On-prem: the chart of the driver; None if it has no chart."""
    parameters: dict[Text, Text] = {}
    """On-prem: parameters of the StorageClass; ``{storage}`` is replaced by the name of the file system."""
