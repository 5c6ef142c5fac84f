"""Checks of cloud storage: mount points, import sources, and distance from the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import PurePosixPath

from ....catalog import Catalog, Provider, StorageService
from ....catalog.storage_service import Deployment
from ....errors import Finding
from ...build.storage.mounts import is_reserved, normalize_mount
from ...model.plan import Plan
from .facts import iter_cloud_facts, iter_pools
from .storage import iter_cloud_storage

__all__ = ["CHECKS"]

# Above this number of clients of one NFS server, comparable tools warn of a bottleneck.
_MAX_NFS_NODES = 100


def cloud_mount_object(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """An object store with a mount point on machines that cannot mount it."""
    for _ in iter_cloud_facts(plan, catalog):
        for index, item in enumerate(plan.spec.storage):
            if item.kind == "object" and item.mount and plan.scheduler.kind == "slurm":
                yield Finding(
                    "cloud-mount-object",
                    "warning",
                    f"storage[{index}].mount",
                    f"Slurm machines cannot mount the object store {item.name} at {item.mount}",
                    "omit it, and copy data in jobs; or import it into a parallel file system: "
                    f"import_from: {item.name}",
                )


def cloud_mount_nested(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A mount inside another one: their order at boot is undefined."""
    for _ in iter_cloud_facts(plan, catalog):
        mounts = [(index, normalize_mount(item.mount)) for index, item in enumerate(plan.spec.storage) if item.mount]
        for (one, above), (two, below) in combinations(sorted(mounts, key=lambda row: (len(row[1]), row)), 2):
            if above != below and PurePosixPath(below).is_relative_to(above) and above != "/":
                yield Finding(
                    "cloud-mount-nested",
                    "error",
                    f"storage[{two}].mount",
                    f"{below} is inside {above} (storage[{one}])",
                    "mount them at separate paths",
                )


def cloud_mount_local(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Disks inside machines that are mounted at a path in use, or that are not known to exist."""
    for _ in iter_cloud_facts(plan, catalog):
        for path, declared, pool in iter_pools(plan):
            if declared.local is None:
                continue
            mount = normalize_mount(declared.local)
            clash = _find_clashing_store(plan, mount)
            if is_reserved(mount, catalog) or clash:
                yield Finding(
                    "cloud-mount-local",
                    "error",
                    f"{path}.local",
                    f"{declared.local} belongs to {clash or 'the system or software of nodes'}",
                    "use a separate directory, such as /scratch",
                )
            inside = pool.machine.instance.local if pool.machine.instance else None
            if inside is None and not any(disk.role == "scratch" for disk in pool.machine.disks):
                yield Finding(
                    "cloud-mount-local",
                    "warning",
                    f"{path}.local",
                    f"{declared.machine} has no known internal disks",
                    "use another machine, or omit it",
                )


def _find_clashing_store(plan: Plan, mount: str) -> str | None:
    """Path of the first store that is mounted at this path, inside it or around it."""
    shared = {
        normalize_mount(item.mount): f"storage[{index}]" for index, item in enumerate(plan.spec.storage) if item.mount
    }
    for other, place in shared.items():
        if PurePosixPath(other).is_relative_to(mount) or PurePosixPath(mount).is_relative_to(other):
            return place
    return None


def cloud_bucket_name(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Bucket names that the cloud rejects, and imports from something else than a bucket."""
    for _, provider, _ in iter_cloud_facts(plan, catalog):
        rule = provider.names["bucket"]
        for path, item, _, service, deployment in iter_cloud_storage(plan, catalog):
            own = item.options.get(service.name_option) if service.name_option else None
            if own is not None and rule.find_problem(str(own)):
                yield Finding(
                    "cloud-bucket-name",
                    "error",
                    f"{path}.options.{service.name_option}",
                    f"{provider.name} rejects the name: {rule.find_problem(str(own))}",
                    "omit it: a valid name is generated",
                )
            if item.import_from is not None:
                problem = _find_import_problem(plan, provider, service, deployment, item.import_from)
                if problem:
                    yield Finding("cloud-bucket-name", "error", f"{path}.import_from", *problem)


def _find_import_problem(
    plan: Plan, provider: Provider, service: StorageService, deployment: Deployment | None, source: str
) -> tuple[str, str] | None:
    """Why a store cannot be filled from a source, and the fix."""
    if deployment is None or not deployment.linked or not service.links:
        name = f"{service.name}{f' {deployment.name}' if deployment else ''}"
        return f"{name} cannot be filled from an object store", "omit it, and copy data in a job"
    objects = [item.name for item in plan.spec.storage if item.kind == "object"]
    if source in objects:
        return None
    if not source.startswith(f"{service.link_scheme}://"):
        return (
            f"{source!r} is neither an object store of this cluster nor a bucket that {service.name} can read",
            f"use one of {', '.join(objects)}" if objects else f"use {service.link_scheme}://bucket/prefix",
        )
    bucket = source.split("://", 1)[1].split("/", 1)[0]
    problem = provider.names["bucket"].find_problem(bucket)
    if problem:
        return f"not a valid bucket name at {provider.name}: {problem}", "use the name of an existing bucket"
    return None


def cloud_storage_zone(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A file system in one zone and nodes in another: traffic between zones is slower and is charged."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        zones = {item.key: item.zone for item in cloud.network.subnets}
        for path, item, product, _, _ in iter_cloud_storage(plan, catalog):
            home = {zones[key] for key in product.subnets if zones.get(key)}
            if product.kind == "bucket" or not home:
                continue
            away = sorted({zone for group in cloud.groups for zone in group.zones} - home)
            if away and len(home) == 1:
                yield Finding(
                    "cloud-storage-zone",
                    "warning",
                    path,
                    f"{item.name} is in {next(iter(home))}, nodes may be in {', '.join(away)} too: traffic between "
                    "zones is slower and is charged",
                    "keep nodes and storage in one zone, or use a deployment in several",
                )


def cloud_storage_shared(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Many nodes whose only shared file system is one NFS server."""
    for cloud, _, _ in iter_cloud_facts(plan, catalog):
        kinds = {item.kind for item in cloud.storage}
        if "nfs" in kinds and not kinds & {"parallel", "servers"} and plan.nodes > _MAX_NFS_NODES:
            index = next(
                i
                for i, item in enumerate(plan.spec.storage)
                if any(one.name == item.name and one.kind == "nfs" for one in cloud.storage)
            )
            yield Finding(
                "cloud-storage-shared",
                "warning",
                f"storage[{index}]",
                f"{plan.nodes} nodes share one NFS file system, which is a bottleneck above {_MAX_NFS_NODES} nodes",
                "add a parallel file system for data",
            )


CHECKS = (
    cloud_mount_object,
    cloud_mount_nested,
    cloud_mount_local,
    cloud_bucket_name,
    cloud_storage_zone,
    cloud_storage_shared,
)
