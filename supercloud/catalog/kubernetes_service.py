"""Managed Kubernetes of clouds: how pods use the adapters of a node, and how jobs wait for capacity."""

from __future__ import annotations

from ..spec.base import Flag, Text
from ..spec.fabric import FabricKind
from .fact import CatalogEntry, CatalogModel, EntryName, LabelKey

__all__ = ["Autoscaler", "KubernetesService", "PodNetworkApi", "PortPlugin"]


class PortPlugin(CatalogModel):
    """The device plugin for the adapters of a fabric: pods request ports by their number."""

    chart: EntryName
    resource: LabelKey
    """Resource name of a port."""
    environment: dict[Text, Text] = {}
    """Variables that programs need to communicate over the ports."""
    locks_memory: Flag = False
    """Whether pods that use the ports must lock memory."""


class PodNetworkApi(CatalogModel):
    """Objects with which the service makes a network of each adapter, and the annotations with which a pod joins them:
    objects of kind ``Network``, each with one of kind ``parameters``.
    """

    group: Text
    version: Text
    parameters: Text
    """Kind of the object with the provider's names of a network."""
    default_annotation: LabelKey
    """Annotation with the name of the pod's default interface."""
    interfaces_annotation: LabelKey
    """Annotation with the list of a pod's interfaces and their networks."""


class Autoscaler(CatalogModel):
    """The program that resizes node groups of the service, which does not do it by itself."""

    chart: EntryName
    cloud: Text
    """The program's name of the cloud."""
    region_key: Text
    """Key of the region in the values of its chart."""
    account: EntryName
    """Service account of its pods."""
    image: Text
    """Repository of its images, whose versions are those of Kubernetes."""
    group_tag: Text
    """Tag of the groups that it resizes; the value is the name of the cluster."""
    resource_tag: Text
    """Beginning of tags of groups with resources of nodes that the program does not know of."""
    provisioning_class: Text
    """Class of the provisioning requests for which it starts all nodes of a job."""


class KubernetesService(CatalogEntry):
    """The managed Kubernetes of a cloud, named after it."""

    singular = "managed Kubernetes"
    port_plugins: dict[FabricKind, PortPlugin] = {}
    """Kind of fabric -> device plugin, for fabrics that only this cloud has."""
    pod_networks: PodNetworkApi | None = None
    """Absent: adapters are attached to pods as on-prem."""
    autoscaler: Autoscaler | None = None
    """Absent if the service resizes node groups itself."""
    provisioning_class: Text | None = None
    """Class of the provisioning requests with which Kueue waits for all nodes of a job; absent if it cannot."""
