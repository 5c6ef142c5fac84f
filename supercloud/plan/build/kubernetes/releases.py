"""Kubernetes as decided: releases looked up, what is installed beside them, and for which devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar, cast

from ....catalog import Catalog
from ....catalog.fact import Fact
from ....catalog.kubernetes import ControlPlane, KubernetesRelease, KueueRelease, VolcanoRelease
from ....catalog.kubernetes_parts import (
    AlertSet,
    Chart,
    DeviceStack,
    MetricSet,
    Nic,
    NodeTopology,
    PlatformRanges,
    VolumeDriver,
)
from ....errors import UnknownName
from ....spec import ClusterSpec
from ....spec.scheduler import KubernetesScheduler
from ...model.kubernetes import KubernetesPlan
from ...model.plan import PoolPlan, SchedulerPlan
from ..problems import Problems

__all__ = ["age", "with_kubernetes"]

_F = TypeVar("_F", bound=Fact)
# What each kind of fabric needs in the cluster; the others need nothing, or what the hosts have.
_FABRICS = {"infiniband": "network-operator", "roce": "network-operator", "efa": "aws-efa"}
_ALWAYS = ("kube-prometheus-stack", "node-problem-detector", "jobset", "lws")


def with_kubernetes(
    scheduler: SchedulerPlan, spec: ClusterSpec, pools: tuple[PoolPlan, ...], catalog: Catalog, problems: Problems
) -> SchedulerPlan:
    """The scheduler with what is known of its Kubernetes; as it was where it is none."""
    declared = scheduler.spec
    if not isinstance(declared, KubernetesScheduler):
        return scheduler
    release = _named(catalog, "kubernetes", KubernetesRelease, declared.version, "scheduler.version", problems)
    queue = declared.queue_version
    kueue = volcano = None
    if declared.queue == "kueue":
        kueue = _named(catalog, "kueue", KueueRelease, queue, "scheduler.queue_version", problems)
    else:
        volcano = _named(catalog, "volcano", VolcanoRelease, queue, "scheduler.queue_version", problems)
    stacks = _stacks(spec.site.kind, pools, catalog)
    onprem = spec.site.kind == "onprem"
    versions = {"kueue": kueue.version if kueue else "", "volcano": volcano.version if volcano else ""}
    sets = {stack.exporter for stack in stacks.values() if stack.exporter} | {"node-exporter"}
    if declared.queue == "kueue":
        sets.add("kueue")
    joined = {name for pool in pools for name in pool.fabrics}
    kinds = {item.kind for item in spec.fabrics if item.name in joined}
    drivers = _drivers(spec, catalog)
    rules = (cast(AlertSet, item) for item in catalog.all("alerts"))
    return replace(
        scheduler,
        kubernetes=KubernetesPlan(
            release=release,
            kueue=kueue,
            volcano=volcano,
            control_plane=cast(ControlPlane, catalog.get("control-planes", "kubeadm")) if onprem else None,
            charts=tuple(_charts(spec, declared, pools, stacks, drivers, versions, catalog)),
            stacks=stacks,
            topology=None if onprem else cast(NodeTopology, catalog.get("node-topologies", spec.site.kind)),
            platform=None if onprem else cast(PlatformRanges, catalog.get("platform-ranges", spec.site.kind)),
            metrics={name: cast(MetricSet, catalog.get("metrics", name)) for name in sorted(sets)},
            alerts=tuple(
                item for item in rules if item.metrics in sets and (not item.fabrics or kinds & {*item.fabrics})
            ),
            nics=_nics(pools, catalog),
            volumes=drivers,
        ),
    )


def age(release: Fact) -> tuple[int, ...]:
    """What releases are sorted by: the numbers of their name."""
    return tuple(map(int, release.name.split(".")))


def _named(catalog: Catalog, kind: str, model: type[_F], asked: str | None, path: str, problems: Problems) -> _F | None:
    """The release series of a version, the newest where none is asked for."""
    if asked is None:
        return cast(_F, max(catalog.all(kind), key=age))
    try:
        return cast(_F, catalog.get(kind, ".".join(asked.split(".")[:2])))
    except UnknownName as error:
        problems.unknown(path, error)
        return None


def _stacks(site: str, pools: tuple[PoolPlan, ...], catalog: Catalog) -> Mapping[str, DeviceStack]:
    wanted = {pool.accelerator.kubernetes for pool in pools if pool.accelerator}
    known = (cast(DeviceStack, stack) for stack in catalog.all("device-stacks"))
    return {
        stack.resource: stack
        for stack in known
        if stack.resource in wanted and (not stack.sites or site in stack.sites)
    }


def _drivers(spec: ClusterSpec, catalog: Catalog) -> Mapping[str, VolumeDriver]:
    known = (cast(VolumeDriver, item) for item in catalog.all("volume-drivers"))
    kinds = {item.kind for item in spec.storage}
    return {
        item.product or item.kind: item
        for item in known
        if item.site == spec.site.kind and (item.product is None or item.product in kinds)
    }


def _nics(pools: tuple[PoolPlan, ...], catalog: Catalog) -> Mapping[str, Nic]:
    models = {adapter.model for pool in pools for adapter in pool.machine.adapters}
    return {nic.model: nic for nic in (cast(Nic, item) for item in catalog.all("nics")) if nic.model in models}


def _operated(fabric: str, pools: tuple[PoolPlan, ...], catalog: Catalog) -> bool:
    """Whether some pool's adapters on an Ethernet fabric may be ones that the network operator is for."""
    ours = _nics(pools, catalog)
    ports = (item for pool in pools if fabric in pool.fabrics for item in pool.machine.adapters)
    return any(item.role == "compute" and (item.model is None or item.model in ours) for item in ports)


def _charts(
    spec: ClusterSpec, declared: KubernetesScheduler, pools: tuple[PoolPlan, ...],
    stacks: Mapping[str, DeviceStack], drivers: Mapping[str, VolumeDriver], versions: Mapping[str, str],
    catalog: Catalog,
) -> Iterator[Chart]:  # fmt: skip
    """Every chart the cluster needs, those first that others need."""
    site = spec.site.kind
    wanted = ["cilium"] if site == "onprem" else []
    wanted += [*_ALWAYS, declared.queue]
    wanted += [chart for stack in stacks.values() for chart in stack.charts]
    gpus = [pool for pool in pools if pool.accelerator and pool.accelerator.kubernetes == "nvidia.com/gpu"]
    if gpus and (declared.devices == "claims" or any(pool.imex for pool in gpus)):
        wanted.append("nvidia-dra-driver")
    joined = {name for pool in pools for name in pool.fabrics}
    if site != "gcp":  # GKE attaches adapters itself
        wanted += [_FABRICS[item.kind] for item in spec.fabrics if item.name in joined and item.kind in _FABRICS
                   and (item.kind != "roce" or _operated(item.name, pools, catalog))]  # fmt: skip
    wanted += [driver.chart for driver in drivers.values() if driver.chart]
    placed: dict[str, Chart] = {}
    for name in wanted:
        _place(name, catalog, placed)
    for name, chart in placed.items():
        yield chart.model_copy(update={"version": versions[name]}) if versions.get(name) else chart


def _place(name: str, catalog: Catalog, placed: dict[str, Chart]) -> None:
    if name not in placed:
        chart = cast(Chart, catalog.get("charts", name))
        for before in chart.after:
            _place(before, catalog, placed)
        placed.setdefault(name, chart)
