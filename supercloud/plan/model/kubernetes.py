"""The plan's part for Kubernetes: releases, installed components, names of devices and labels of nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...catalog.kubernetes import ControlPlane, KubernetesRelease, KueueRelease, PolicyApi, VolcanoRelease
from ...catalog.kubernetes_parts import (
    AlertSet,
    Chart,
    DeviceStack,
    MetricSet,
    Nic,
    NodeTopology,
    PlatformRanges,
    VolumeDriver,
)
from ...catalog.kubernetes_service import KubernetesService, PortPlugin

__all__ = ["KubernetesPlan"]


@dataclass(frozen=True)
class KubernetesPlan:
    """Facts of the catalog for the plan of one cluster."""

    release: KubernetesRelease | None
    """None if the catalog does not have the version."""
    kueue: KueueRelease | None
    """If the requested release is known, exactly one of ``kueue`` and ``volcano`` is set."""
    volcano: VolcanoRelease | None
    control_plane: ControlPlane | None
    """On-prem only; a cloud provides its own."""
    charts: tuple[Chart, ...]
    """Helm charts of the cluster in the order of installation, also those that it already has."""
    stacks: Mapping[str, DeviceStack]
    """Resource name of accelerators (``nvidia.com/gpu``) -> device stack, for the accelerators of the pools."""
    topology: NodeTopology | None
    """Node labels set by the site's provider; None on-prem, where supercloud defines them."""
    platform_ranges: PlatformRanges | None
    """Address ranges that the site's provider serves from; None on-prem."""
    service: KubernetesService | None
    """The provider's managed Kubernetes; None on-prem."""
    metrics: Mapping[str, MetricSet]
    alerts: tuple[AlertSet, ...]
    """Alert rules whose metrics are available."""
    nics: Mapping[str, Nic]
    """Model -> adapter, for the adapters of the pools."""
    volumes: Mapping[str, VolumeDriver]
    """Kind of storage -> volume driver. In a cloud: how its storage is mounted. On-prem, where hosts mount storage: the
    provisioner of volumes on demand, for the kinds of storage in the spec."""
    omitted: frozenset[str] = frozenset()
    """Names of the charts that the cluster already has: they are not installed."""

    @property
    def installed_charts(self) -> tuple[Chart, ...]:
        """Charts that the bundle installs, in this order."""
        return tuple(chart for chart in self.charts if chart.name not in self.omitted)

    @property
    def omitted_charts(self) -> tuple[Chart, ...]:
        """Charts that the cluster already has."""
        return tuple(chart for chart in self.charts if chart.name in self.omitted)

    def list_dependents(self, name: str) -> list[str]:
        """Names of the installed charts that require a chart."""
        return [chart.name for chart in self.installed_charts if name in chart.after]

    @property
    def mutating_policies(self) -> PolicyApi | None:
        """How the API server serves mutating policies; a feature gate is set only on self-managed API servers."""
        policies = self.release.abilities.changing_policies if self.release else None
        return policies if policies and (self.control_plane or not policies.gate) else None

    def find_port_plugin(self, fabric_kind: str) -> PortPlugin | None:
        """Return the provider's device plugin for a kind of fabric, or None if it has none."""
        plugins = self.service.port_plugins.items() if self.service else ()
        return next((plugin for kind, plugin in plugins if kind == fabric_kind), None)

    def find_chart(self, name: str) -> Chart | None:
        """Return a chart by name, or None if it is not installed."""
        return next((item for item in self.charts if item.name == name), None)
