"""Decisions about the scheduler: release, hosts, partitions; and the tenants with their shares."""

from __future__ import annotations

from ...catalog import Catalog, SlurmRelease
from ...catalog.slurm_packages import SlurmPackages
from ...errors import MAX_SHOWN, UnknownNameError
from ...primitives.counts import format_count
from ...spec import ClusterSpec, SlurmScheduler
from ...spec.scheduler import Host, Partition
from ..model.plan import HostPlan, NetworkPlan, PoolPlan, SchedulerPlan, TenantPlan
from ..model.problems import Problems

__all__ = ["build_scheduler_plan", "build_tenants"]

# Service hosts are numbered from here in the management block: lower numbers are gateways and virtual addresses.
_FIRST_SERVICE_HOST = 11


def build_scheduler_plan(
    spec: ClusterSpec, network: NetworkPlan, pools: tuple[PoolPlan, ...], catalog: Catalog, problems: Problems
) -> SchedulerPlan:
    """All decisions about the scheduler that do not depend on nodes."""
    declared = spec.scheduler
    cloud = spec.site.kind != "onprem"
    controllers = tuple(
        _build_host_plan(host, index, network, cloud) for index, host in enumerate(declared.controllers)
    )
    if not isinstance(declared, SlurmScheduler):
        return SchedulerPlan(declared.kind, declared.version, declared, None, controllers, None, ())
    release: SlurmRelease | None = None
    try:
        release = catalog.get_slurm_release(declared.version)
    except UnknownNameError as error:
        problems.add_unknown_name("scheduler.version", error)
    database = None
    if declared.accounting:
        host = declared.database
        same = next((item for item in controllers if host and item.name == host.name), None)
        database = same or (_build_host_plan(host, len(controllers), network, cloud) if host else controllers[0])
    partitions = _build_partitions(spec, declared, pools, problems)
    families = list(catalog.iter_entries(SlurmPackages))
    return SchedulerPlan(
        "slurm",
        declared.version,
        declared,
        release,
        controllers,
        database,
        partitions,
        packages=_select_packages(release, families),
        archive_packages=next((item for item in families if item.suites), None),
        built_packages=_find_built_packages(release, families),
        slurm_user=next((item.user for item in families if item.user is not None), None),
    )


def _select_packages(release: SlurmRelease | None, families: list[SlurmPackages]) -> SlurmPackages | None:
    """The packages of a release: those of a distribution, else those built from its source.

    For a release without packages, the package names of a distribution.
    """
    name = release.name if release else ""
    ready = [item for item in families if name in item.suites]
    built = [item for item in families if name in item.built_from]
    return next(iter([*ready, *built, *(item for item in families if item.suites)]), None)


def _find_built_packages(release: SlurmRelease | None, families: list[SlurmPackages]) -> SlurmPackages | None:
    """The packages that the source of a release builds."""
    return next((item for item in families if release and release.name in item.built_from), None)


def _build_host_plan(host: Host, index: int, network: NetworkPlan, is_cloud: bool) -> HostPlan:
    """In a cloud a host is reached by its name, which is fixed before the machine exists."""
    if is_cloud and not host.address:
        return HostPlan(host.name, f"{host.name}.{network.domain}")
    address = host.address or str(network.management.network_address + _FIRST_SERVICE_HOST + index)
    return HostPlan(host.name, address)


def _build_partitions(
    spec: ClusterSpec, slurm: SlurmScheduler, pools: tuple[PoolPlan, ...], problems: Problems
) -> tuple[Partition, ...]:
    """Partitions as declared, or one per pool with the tenants of its nodes. The default is the one that is declared as
    such, else the first; among partitions of pools, the first that is open to all tenants.
    """
    _check_partition_names(spec, slurm, problems)
    whose = {pool.name: pool.tenants for pool in pools}
    partitions = slurm.partitions or tuple(
        Partition(name=pool.name, pools=(pool.name,), accounts=whose.get(pool.name, ())) for pool in spec.pools
    )
    if any(partition.default for partition in partitions):
        return partitions
    of_all = (index for index, partition in enumerate(partitions) if not partition.accounts)
    default = 0 if slurm.partitions else next(of_all, 0)
    return tuple(
        partition.model_copy(update={"default": True}) if index == default else partition
        for index, partition in enumerate(partitions)
    )


def _check_partition_names(spec: ClusterSpec, slurm: SlurmScheduler, problems: Problems) -> None:
    """Check that the pools and tenants of partitions exist; of very many unknown names, the first are reported."""
    known = {"pool": {pool.name for pool in spec.pools}, "tenant": {tenant.name for tenant in spec.tenants}}
    unknown = [
        (kind, f"scheduler.partitions[{index}].{field}[{position}]", name)
        for index, partition in enumerate(slurm.partitions)
        for kind, field, names in (("pool", "pools", partition.pools), ("tenant", "accounts", partition.accounts))
        for position, name in enumerate(names)
        if name not in known[kind]
    ]
    for kind, path, name in unknown[:MAX_SHOWN]:
        problems.add_unknown_name(path, UnknownNameError(kind, name, known[kind]))
    if (more := len(unknown) - MAX_SHOWN) > 0:
        problems.add_error(
            "unknown-name",
            "scheduler.partitions",
            f"{format_count(more, 'more unknown name')} of pools and tenants",
            "fix the others first",
        )


def build_tenants(spec: ClusterSpec, problems: Problems) -> tuple[TenantPlan, ...]:
    """Tenants with their fraction of the cluster."""
    total = sum(tenant.share for tenant in spec.tenants)
    if spec.tenants and not total:
        problems.add_error("tenant-shares", "tenants", "the shares add up to 0", "set the share of at least one tenant")
    return tuple(
        TenantPlan(
            tenant.name,
            tenant.share,
            tenant.share / (total or 1),
            tenant.priority,
            tenant.users,
            tenant.limits,
            tenant.borrow,
            tenant.principals,
        )
        for tenant in spec.tenants
    )
