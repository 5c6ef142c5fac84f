"""What is installed beside a Kubernetes release: charts, device plugins, metrics and rules; and what clouds label."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..spec.base import Flag, Natural, Text
from ..spec.fabric import Cidr
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

SiteKind = Literal["onprem", "aws", "gcp", "azure"]


class Chart(CatalogEntry):
    """A Helm chart, locked to one version."""

    repository: Annotated[str, Field(pattern=r"^(https|oci)://[A-Za-z0-9][A-Za-z0-9._~:/%-]*[A-Za-z0-9_~-]$")]
    chart: Text
    version: Text
    namespace: Text
    images: dict[Text, Text] = {}
    """Versions of images that are named in objects, not in the chart, and belong to this version of it."""
    privileged: Flag = False
    """Whether its pods need the privileged level of Pod Security."""
    after: tuple[EntryName, ...] = ()
    """Charts that have to be there before."""


class VisibleDevices(CatalogModel):
    """A variable of containers by which their runtime hands out devices that no device plugin has allocated."""

    variable: Text
    setting: Text
    """Line of its configuration that stops it in containers without privileges. It is not there by default."""
    file: Text
    """The configuration on a node."""
    by_chart: Flag = False
    """Whether the values of the operator's chart set it, wherever the operator installs the runtime."""
    closed: dict[SiteKind, Text] = {}
    """Which of a site's images bring the runtime with the line."""


class DeviceStack(CatalogEntry):
    """What makes accelerators of one resource name known to Kubernetes."""

    resource: LabelKey
    """As pods ask for it, such as nvidia.com/gpu."""
    charts: tuple[EntryName, ...] = ()
    sites: tuple[SiteKind, ...] = ()
    """Where there is such a thing; empty means everywhere."""
    provided: dict[SiteKind, tuple[Text, ...]] = {}
    """Parts that the site brings itself: driver, toolkit, plugin."""
    driver_path: dict[SiteKind, Text] = {}
    """Where a site that brings the driver has it on its nodes, where that is not the usual place."""
    visible_devices: VisibleDevices | None = None
    """The way around the device plugin, where the containers' runtime has one."""
    runtime_class: Text | None = None
    """Runtime class that pods which ask for the resource may need; None where the plugin's allocation is enough."""
    taint: LabelKey | None = None
    """Key that keeps everything else off such nodes."""
    domain_label: LabelKey | None = None
    """Node label of the scale-up domain its discovery finds."""
    device_class: Text | None = None
    """DeviceClass its driver of dynamic resource allocation brings."""
    channel_class: Text | None = None
    """DeviceClass of the channel by which the pods of a scale-up domain share memory; a node has one such device."""
    driver: Text | None = None
    """Name of that driver, as selectors know its attributes."""
    product_attribute: Text | None = None
    """Attribute of a device that says its product."""
    whole_rule: Text | None = None
    """What a selector requires besides, so that it takes whole accelerators: a comparison of another attribute."""
    slices: Flag = False
    """Whether accelerators can be cut into instances (MIG)."""
    sharing: Flag = False
    """Whether several pods may share one without isolation (time-slicing)."""
    whole: Text | None = None
    """Why accelerators can neither be cut nor shared, where they cannot."""
    exporter: Text | None = None
    """Metric set of its exporter."""


class NodeTopology(CatalogEntry):
    """Node labels by which a provider says where a node is, outermost first."""

    labels: tuple[LabelKey, ...]
    machines: tuple[EntryName, ...] = ()
    """Machines whose nodes have them; empty means all."""
    resources: tuple[LabelKey, ...] = ()
    """Resource names of accelerators whose nodes have them; empty means all nodes."""
    single: LabelKey | None = None
    """That of ``labels`` which no two nodes share."""


class PlatformRanges(CatalogEntry):
    """Addresses outside the network of a plan that a cloud and its managed Kubernetes answer from."""

    platform: dict[Text, Cidr] = {}
    """What answers on every machine, whatever the network: metadata, agents' services. Link-local ones included."""
    names: tuple[Cidr, ...] = ()
    """Where pods ask for names besides the pods of the cluster's name service; nothing else is open there."""
    services: tuple[Cidr, ...] = ()
    """Where the managed Kubernetes takes addresses of services from, unless it is told otherwise."""


class Metric(CatalogModel):
    """One metric of an exporter."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
    type: Literal["gauge", "counter"]
    help: Text
    default: Flag = False
    """Whether the exporter gives it unless told otherwise."""


class MetricSet(CatalogEntry):
    """What an exporter can measure."""

    metrics: tuple[Metric, ...]


class XidClass(CatalogModel):
    """Errors that ask for the same action."""

    action: Text
    """The name that the vendor gives it."""
    severity: Literal["critical", "warning", "info"]
    codes: tuple[Natural, ...]
    remedy: Text


class XidTable(CatalogEntry):
    """Errors of a driver by number, with what to do."""

    classes: tuple[XidClass, ...]

    def list_codes(self, severity: str) -> tuple[int, ...]:
        """All of a severity, sorted; ``critical`` are those after which a node is unusable."""
        return tuple(sorted(code for item in self.classes if item.severity == severity for code in item.codes))


class Alert(CatalogModel):
    """A rule of Prometheus."""

    name: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z0-9]*$")]
    expr: Text
    wait: Annotated[str, Field(pattern=r"^\d+[smh]$")]
    """How long it has to hold."""
    severity: Literal["critical", "warning", "info"]
    summary: Text
    remedy: Text


class AlertSet(CatalogEntry):
    """Rules over the metrics of one set."""

    metrics: EntryName
    """The set they ask; the rules are rendered where its exporter is."""
    fabrics: tuple[Text, ...] = ()
    """Only where a fabric of one of these kinds is."""
    alerts: tuple[Alert, ...]


class Nic(CatalogEntry):
    """A model of network adapter as the PCI bus knows it."""

    model: Text
    """As machines name it."""
    vendor_id: Annotated[str, Field(pattern=r"^[0-9a-f]{4}$")]
    device_id: Annotated[str, Field(pattern=r"^[0-9a-f]{4}$")]


class VolumeDriver(CatalogEntry):
    """How Kubernetes mounts a kind of storage that a provider runs. What only the provider knows has a name here."""

    site: SiteKind
    kind: Literal["parallel", "nfs", "bucket"]
    """As the plan of a cloud calls it."""
    product: Text | None = None
    """On-prem: the kind of storage it serves, as a spec calls it."""
    driver: Text | None = None
    """CSI driver; None: the kubelet mounts it itself (NFS)."""
    handle: Text | None = None
    """What the volume's handle is; None: any name will do."""
    attributes: dict[Text, Text] = {}
    """Attributes, or fields of the NFS volume, that are known once the storage is there: what each is."""
    subfolder: Text | None = None
    """The attribute that takes ``/<tenant>`` after its value, so that a tenant sees its own folder."""
    options: tuple[Text, ...] = ()
    """Mount options; ``{tenant}`` is filled in."""
    chart: EntryName | None = None
    """On-prem: the chart that brings the driver; None where there is none to install it by."""
    parameters: dict[Text, Text] = {}
    """On-prem: of the class for volumes made on demand; ``{storage}`` is filled in with the file system's name."""
