"""Decisions about Kubernetes: releases, installed components, and the devices they are for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from ....catalog import Catalog
from ....catalog.fact import CatalogEntry
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
from ....catalog.kubernetes_service import KubernetesService
from ....errors import UnknownNameError
from ....spec import ClusterSpec
from ....spec.scheduler import KubernetesScheduler
from ...model.kubernetes import KubernetesPlan
from ...model.plan import PoolPlan, SchedulerPlan
from ...model.problems import Problems

__all__ = ["build_release_sort_key", "with_kubernetes"]

_F = TypeVar("_F", bound=CatalogEntry)
# Components that each kind of fabric needs in the cluster, unless the provider has others for it.
_FABRIC_CHARTS = {"infiniband": "network-operator", "roce": "network-operator"}
_DEFAULT_CHARTS = ("kube-prometheus-stack", "node-problem-detector", "jobset", "lws")


def with_kubernetes(
    scheduler: SchedulerPlan, spec: ClusterSpec, pools: tuple[PoolPlan, ...], catalog: Catalog, problems: Problems
) -> SchedulerPlan:
    """The scheduler with the facts of its Kubernetes; unchanged if it is another scheduler."""
    declared = scheduler.settings
    if not isinstance(declared, KubernetesScheduler):
        return scheduler
    release = _select_release(catalog, KubernetesRelease, declared.version, "scheduler.version", problems)
    kueue, volcano = _select_queue_releases(declared, catalog, problems)
    stacks = _select_device_stacks(spec.site.kind, pools, catalog)
    service = _find_site_entry(catalog, KubernetesService, spec, problems)
    versions = {"kueue": kueue.version if kueue else "", "volcano": volcano.version if volcano else ""}
    metric_sets = _list_metric_sets(declared, stacks)
    drivers = _select_volume_drivers(spec, catalog)
    others = [
        *_iter_fabric_charts(spec, pools, service, catalog),
        *(item.chart for item in drivers.values() if item.chart),
        *(
            [service.autoscaler.chart]
            if service and service.autoscaler and any(pool.can_grow for pool in pools)
            else ()
        ),
    ]
    return replace(
        scheduler,
        kubernetes=KubernetesPlan(
            release=release,
            kueue=kueue,
            volcano=volcano,
            control_plane=catalog.get(ControlPlane, "kubeadm") if spec.site.kind == "onprem" else None,
            charts=tuple(_iter_charts(spec, pools, stacks, others, versions, catalog)),
            stacks=stacks,
            topology=_find_site_entry(catalog, NodeTopology, spec, problems),
            platform_ranges=_find_site_entry(catalog, PlatformRanges, spec, problems),
            service=service,
            metrics={name: catalog.get(MetricSet, name) for name in metric_sets},
            alerts=_select_alerts(metric_sets, spec, pools, catalog),
            nics=_select_nics(pools, catalog),
            volumes=drivers,
            omitted=_select_omitted(declared, catalog, problems),
        ),
    )


def _select_omitted(declared: KubernetesScheduler, catalog: Catalog, problems: Problems) -> frozenset[str]:
    """The charts that the cluster already has; unknown names are problems."""
    for index, name in enumerate(declared.omit):
        try:
            catalog.get(Chart, name)
        except UnknownNameError as error:
            problems.add_unknown_name(f"scheduler.omit[{index}]", error)
    return frozenset(declared.omit)


def build_release_sort_key(release: CatalogEntry) -> tuple[int, ...]:
    """Sort key of releases: the numbers of their name."""
    return tuple(map(int, release.name.split(".")))


def _select_release(
    catalog: Catalog, model: type[_F], requested: str | None, path: str, problems: Problems
) -> _F | None:
    """The release series of a version, the newest if no version is specified."""
    if requested is None:
        return max(catalog.iter_entries(model), key=build_release_sort_key)
    try:
        return catalog.get(model, ".".join(requested.split(".")[:2]))
    except UnknownNameError as error:
        problems.add_unknown_name(path, error)
        return None


def _select_queue_releases(
    declared: KubernetesScheduler, catalog: Catalog, problems: Problems
) -> tuple[KueueRelease | None, VolcanoRelease | None]:
    """The release of Kueue or that of Volcano, whichever the spec selects; None for the other one."""
    path, version = "scheduler.queue_version", declared.queue_version
    if declared.queue == "kueue":
        return _select_release(catalog, KueueRelease, version, path, problems), None
    return None, _select_release(catalog, VolcanoRelease, version, path, problems)


def _find_site_entry(catalog: Catalog, model: type[_F], spec: ClusterSpec, problems: Problems) -> _F | None:
    """The entry of the site's cloud; None on-prem, or if it is unknown (a problem)."""
    if spec.site.kind == "onprem":
        return None
    try:
        return catalog.get(model, spec.site.kind)
    except UnknownNameError as error:
        problems.add_unknown_name("site.kind", error)
        return None


def _list_metric_sets(declared: KubernetesScheduler, stacks: Mapping[str, DeviceStack]) -> list[str]:
    """Names of the sets of metrics that the cluster's exporters have, sorted."""
    found = {stack.exporter for stack in stacks.values() if stack.exporter} | {"node-exporter"}
    if declared.queue == "kueue":
        found.add("kueue")
    return sorted(found)


def _select_alerts(
    metric_sets: Sequence[str], spec: ClusterSpec, pools: tuple[PoolPlan, ...], catalog: Catalog
) -> tuple[AlertSet, ...]:
    """The alerts on metrics that are exported, without those for kinds of fabric that no pool is on."""
    joined = {name for pool in pools for name in pool.fabrics}
    kinds = {item.kind for item in spec.fabrics if item.name in joined}
    rules = catalog.iter_entries(AlertSet)
    return tuple(
        item for item in rules if item.metrics in metric_sets and (not item.fabrics or kinds & {*item.fabrics})
    )


def _select_device_stacks(site: str, pools: tuple[PoolPlan, ...], catalog: Catalog) -> Mapping[str, DeviceStack]:
    wanted = {pool.accelerator.kubernetes for pool in pools if pool.accelerator}
    known = catalog.iter_entries(DeviceStack)
    return {
        stack.resource: stack
        for stack in known
        if stack.resource in wanted and (not stack.sites or site in stack.sites)
    }


def _select_volume_drivers(spec: ClusterSpec, catalog: Catalog) -> Mapping[str, VolumeDriver]:
    known = catalog.iter_entries(VolumeDriver)
    kinds = {item.kind for item in spec.storage}
    return {
        item.product or item.kind: item
        for item in known
        if item.site == spec.site.kind and (item.product is None or item.product in kinds)
    }


def _select_nics(pools: tuple[PoolPlan, ...], catalog: Catalog) -> Mapping[str, Nic]:
    models = {adapter.model for pool in pools for adapter in pool.machine.adapters}
    return {nic.model: nic for nic in catalog.iter_entries(Nic) if nic.model in models}


def _needs_network_operator(fabric_name: str, pools: tuple[PoolPlan, ...], catalog: Catalog) -> bool:
    """Whether any pool's adapters on an Ethernet fabric are supported by the network operator."""
    ours = _select_nics(pools, catalog)
    ports = (item for pool in pools if fabric_name in pool.fabrics for item in pool.machine.adapters)
    return any(item.role == "compute" and (item.model is None or item.model in ours) for item in ports)


def _iter_charts(
    spec: ClusterSpec,
    pools: tuple[PoolPlan, ...],
    stacks: Mapping[str, DeviceStack],
    others: Sequence[str],
    versions: Mapping[str, str],
    catalog: Catalog,
) -> Iterator[Chart]:
    """All charts that the cluster needs, dependencies first."""
    declared = spec.scheduler
    assert isinstance(declared, KubernetesScheduler)
    wanted = ["cilium"] if spec.site.kind == "onprem" else []
    wanted += [*_DEFAULT_CHARTS, declared.queue]
    wanted += [chart for stack in stacks.values() for chart in stack.charts]
    gpus = [pool for pool in pools if pool.accelerator and pool.accelerator.kubernetes == "nvidia.com/gpu"]
    if gpus and (declared.devices == "claims" or any(pool.has_imex for pool in gpus)):
        wanted.append("nvidia-dra-driver")
    wanted += others
    placed: dict[str, Chart] = {}
    for name in wanted:
        _add_chart(name, catalog, placed)
    for name, chart in placed.items():
        yield chart.model_copy(update={"version": versions[name]}) if versions.get(name) else chart


def _iter_fabric_charts(
    spec: ClusterSpec, pools: tuple[PoolPlan, ...], service: KubernetesService | None, catalog: Catalog
) -> Iterator[str]:
    """The charts for the adapters of the pools' fabrics; none if the provider attaches adapters itself."""
    if service and service.pod_networks:
        return
    joined = {name for pool in pools for name in pool.fabrics}
    for item in spec.fabrics:
        if item.name not in joined:
            continue
        if service and item.kind in service.port_plugins:
            yield service.port_plugins[item.kind].chart
        elif item.kind in _FABRIC_CHARTS and (
            item.kind != "roce" or _needs_network_operator(item.name, pools, catalog)
        ):
            yield _FABRIC_CHARTS[item.kind]


def _add_chart(name: str, catalog: Catalog, charts: dict[str, Chart]) -> None:
    if name not in charts:
        chart = catalog.get(Chart, name)
        for before in chart.after:
            _add_chart(before, catalog, charts)
        charts.setdefault(name, chart)
