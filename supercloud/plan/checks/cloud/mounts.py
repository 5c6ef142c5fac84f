"""Where storage of a cloud is seen, what fills it, and how far it is from the nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from pathlib import PurePosixPath

from ....catalog import Catalog
from ....errors import Finding
from ...build.storage.mounts import is_reserved, normalize_mount
from ...model.plan import Plan
from .given import iter_cloud_facts, iter_pools
from .storage import iter_cloud_storage

__all__ = ["CHECKS"]

# Beyond so many clients of one NFS server, peers warn of a bottleneck.
_MAX_NFS_NODES = 100


def cloud_mount_object(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """An object store with a place among the files of machines that mount none."""
    for _ in iter_cloud_facts(plan, catalog):
        for index, item in enumerate(plan.spec.storage):
            if item.kind == "object" and item.mount and plan.scheduler.kind == "slurm":
                yield Finding(
                    "cloud-mount-object",
                    "warning",
                    f"storage[{index}].mount",
                    f"machines of Slurm do not mount the object store {item.name} at {item.mount}",
                    "leave it out, and let jobs copy; or fill a parallel file system from it: "
                    f"import_from: {item.name}",
                )


def cloud_mount_nested(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A mount inside another one: which comes first at boot is left to chance."""
    for _ in iter_cloud_facts(plan, catalog):
        mounts = [(index, normalize_mount(item.mount)) for index, item in enumerate(plan.spec.storage) if item.mount]
        for (one, above), (two, below) in combinations(sorted(mounts, key=lambda row: (len(row[1]), row)), 2):
            if above != below and PurePosixPath(below).is_relative_to(above) and above != "/":
                yield Finding(
                    "cloud-mount-nested",
                    "error",
                    f"storage[{two}].mount",
                    f"{below} is inside {above} (storage[{one}])",
                    "mount them beside each other",
                )


def cloud_mount_local(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Disks inside machines that are mounted where something else is, or that are not known to be there."""
    for _ in iter_cloud_facts(plan, catalog):
        shared = {
            normalize_mount(item.mount): f"storage[{i}]" for i, item in enumerate(plan.spec.storage) if item.mount
        }
        for path, declared, pool in iter_pools(plan):
            if declared.local is None:
                continue
            mount = normalize_mount(declared.local)
            clash = next(
                (
                    place
                    for other, place in shared.items()
                    if PurePosixPath(other).is_relative_to(mount) or PurePosixPath(mount).is_relative_to(other)
                ),
                None,
            )
            if is_reserved(mount, catalog) or clash:
                yield Finding(
                    "cloud-mount-local",
                    "error",
                    f"{path}.local",
                    f"{declared.local} belongs to {clash or 'the system or software of nodes'}",
                    "take a folder of its own, such as /scratch",
                )
            inside = pool.machine.instance.local if pool.machine.instance else None
            if inside is None and not any(disk.role == "scratch" for disk in pool.machine.disks):
                yield Finding(
                    "cloud-mount-local",
                    "warning",
                    f"{path}.local",
                    f"no disks inside {declared.machine} are known",
                    "take another machine, or leave it out",
                )


def cloud_bucket_name(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Names of buckets that the cloud refuses, and links to what is no bucket."""
    for _, provider, _ in iter_cloud_facts(plan, catalog):
        objects = [item.name for item in plan.spec.storage if item.kind == "object"]
        rule = provider.names["bucket"]
        for path, item, _, service, deployment in iter_cloud_storage(plan, catalog):
            own = item.options.get(service.name_option) if service.name_option else None
            if own is not None and rule.find_problem(str(own)):
                yield Finding(
                    "cloud-bucket-name",
                    "error",
                    f"{path}.options.{service.name_option}",
                    f"{provider.name} refuses the name: {rule.find_problem(str(own))}",
                    "leave it out: a good one is made",
                )
            if item.import_from is None:
                continue
            place = f"{path}.import_from"
            if deployment is None or not deployment.linked or not service.links:
                name = f"{service.name}{f' {deployment.name}' if deployment else ''}"
                yield Finding(
                    "cloud-bucket-name",
                    "error",
                    place,
                    f"{name} cannot be filled from an object store",
                    "leave it out, and copy in a job",
                )
            elif item.import_from in objects:
                continue
            elif not item.import_from.startswith(f"{service.link_scheme}://"):
                yield Finding(
                    "cloud-bucket-name",
                    "error",
                    place,
                    f"{item.import_from!r} is no object store of this cluster, and no bucket that {service.name} reads",
                    f"name one of {', '.join(objects)}" if objects else f"write {service.link_scheme}://bucket/prefix",
                )
            else:
                bucket = item.import_from.split("://", 1)[1].split("/", 1)[0]
                problem = rule.find_problem(bucket)
                if problem:
                    yield Finding(
                        "cloud-bucket-name",
                        "error",
                        place,
                        f"no bucket is called so at {provider.name}: {problem}",
                        "write the bucket as it is called",
                    )


def cloud_storage_zone(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A file system in one zone and nodes in another: traffic between zones is slower and is paid for."""
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
                    "zones is slower and is paid for",
                    "keep nodes and storage in one zone, or take a deployment in several",
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
                f"{plan.nodes} nodes share one NFS file system, the bottleneck beyond {_MAX_NFS_NODES}",
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
