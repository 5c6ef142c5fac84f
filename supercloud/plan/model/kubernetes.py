"""What a plan knows of Kubernetes: releases, what is installed beside them, what devices and nodes are called."""

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

__all__ = ["KubernetesPlan"]


@dataclass(frozen=True)
class KubernetesPlan:
    """Facts of the catalog that the plan of one cluster joined in."""

    release: KubernetesRelease | None
    """None where the catalog does not know the version."""
    kueue: KueueRelease | None
    """Exactly one of ``kueue`` and ``volcano`` is there where the release asked for is known."""
    volcano: VolcanoRelease | None
    control_plane: ControlPlane | None
    """On-prem only; a cloud brings its own."""
    charts: tuple[Chart, ...]
    """What is installed, in the order of installation."""
    stacks: Mapping[str, DeviceStack]
    """By the resource name of accelerators (``nvidia.com/gpu``), of those resource names that pools have."""
    topology: NodeTopology | None
    """Labels the site's provider puts on nodes; None on-prem, where the labels are ours."""
    platform_ranges: PlatformRanges | None
    """Addresses that the site's provider answers from; None on-prem."""
    metrics: Mapping[str, MetricSet]
    alerts: tuple[AlertSet, ...]
    """Rules whose metrics are there."""
    nics: Mapping[str, Nic]
    """By model, of the adapters that pools have."""
    volumes: Mapping[str, VolumeDriver]
    """How a cloud's storage is mounted, by its kind. On-prem, where hosts mount it, what makes volumes on demand, by
    the kinds of storage in the spec."""

    @property
    def mutating_policies(self) -> PolicyApi | None:
        """How the API server serves policies that change objects; a gate is set only where the server is ours."""
        policies = self.release.abilities.changing_policies if self.release else None
        return policies if policies and (self.control_plane or not policies.gate) else None

    def find_chart(self, name: str) -> Chart | None:
        """A chart, where it is installed."""
        return next((item for item in self.charts if item.name == name), None)
