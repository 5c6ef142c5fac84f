"""Checks of Slurm on a cloud: limits of dynamic nodes and of machines that are replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...catalog import Catalog, SlurmRelease
from ...errors import Finding, Level
from ..model.plan import Plan
from .paths import find_pool_path
from .slurm_setup import iter_slurm

__all__ = ["CHECKS"]

# Releases in which the nodes that stay on can be changed at run time.
_KEEP_ON_OPTION = "SuspendExcStates"


def slurm_cloud_controllers(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """More than one controller: each has its own disk, so a backup would start without any job state."""
    for slurm, _ in iter_slurm(plan):
        if plan.cloud is not None and len(slurm.controllers) > 1:
            yield Finding(
                "slurm-cloud-controllers",
                "error",
                "scheduler.controllers",
                f"{len(slurm.controllers)} controllers at {plan.cloud.provider} share no disk: a backup controller "
                "would have no job state",
                "declare one controller: its state is on a persistent disk that a replacement machine continues with",
            )


def slurm_cloud_topology(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A release in which the topology cannot be changed at run time."""
    for _, release in iter_slurm(plan):
        if plan.cloud is None or release.abilities.topology_yaml or all(pool.nodes < 2 for pool in plan.pools):
            continue
        able = list(catalog.iter_entries(SlurmRelease))
        newer = [item.name for item in able if item.abilities.topology_yaml]
        first = min(newer, key=lambda name: tuple(map(int, name.split("."))), default="")
        yield Finding(
            "slurm-cloud-topology",
            "warning",
            "scheduler.version",
            f"Slurm {release.name} cannot add joining nodes to the topology: the nodes of a job may be far apart",
            (f"set scheduler.version to {first} or later, or " if first else "")
            + "let jobs request the features net-… of running nodes",
        )


def slurm_cloud_image(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Images published by the provider whose package archive does not contain the release, or is unknown."""
    for _, release in iter_slurm(plan):
        if plan.cloud is None or plan.spec.site.kind == "onprem":
            continue
        if plan.spec.site.builds_images:  # cloud-image-packages
            continue
        published = sorted(set(plan.cloud.images) - set(plan.spec.site.own_images))
        if plan.cloud.network.is_isolated:
            found = _find_isolated_images(published, release.name)
        else:
            found = _find_other_archives(published, plan.cloud.image_slurm_releases, release.name)
        if found is not None:
            level, problem, way = found
            yield Finding(
                "slurm-cloud-image",
                level,
                "site.images",
                f"{problem}; a machine without it does not start its daemon and reports it in its log",
                f"{way}set images that contain it in site.images, or put its packages into the bucket of the cluster "
                "as packages/packages.tar.gz",
            )


def _find_isolated_images(images: list[str], release: str) -> tuple[Level, str, str] | None:
    """Level, problem and part of the hint for published images that cannot install anything."""
    if not images:
        return None
    problem = (
        f"{', '.join(images)}: the images of the provider are not known to contain Slurm {release}, its database or "
        "the command line of the cloud, and an isolated network has no source for them"
    )
    return "warning", problem, ""


def _find_other_archives(images: list[str], known: Mapping[str, str], release: str) -> tuple[Level, str, str] | None:
    """Level, problem and part of the hint for published images whose archive has another release, or none is known."""
    other = [key for key in images if known.get(key) != release]
    archive = sorted({known[key] for key in other if key in known})
    if archive:
        problem = f"{', '.join(other)}: their package archive has Slurm {' or '.join(archive)}, not {release}"
        return "warning", problem, f"set scheduler.version to {archive[0]}, or " if len(archive) == 1 else ""
    problem = f"{', '.join(other)}: the provider's images are not known to contain Slurm {release}"
    return ("note", problem, "") if other else None


def slurm_cloud_minimum(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A minimum of running nodes with a release that powers down every idle node."""
    for _, release in iter_slurm(plan):
        if plan.cloud is None or _KEEP_ON_OPTION in release.keys.slurm:
            continue
        able = [item.name for item in catalog.iter_entries(SlurmRelease) if _KEEP_ON_OPTION in item.keys.slurm]
        newer = min(able, key=lambda name: tuple(map(int, name.split("."))), default="")
        for index, pool in enumerate(plan.spec.pools):
            if pool.min and not plan.cloud.is_prepaid(pool.name):
                yield Finding(
                    "slurm-cloud-minimum",
                    "warning",
                    f"pools[{index}].min",
                    f"Slurm {release.name} cannot keep {pool.min} idle nodes running: each is powered down and "
                    "replaced by the cloud",
                    (f"set scheduler.version to {newer} or later, or omit it" if newer else "omit it"),
                )


def slurm_cloud_slices(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Accelerators with MIG slices: the boot script does not create them, and Slurm rejects nodes with other GRES."""
    for _ in iter_slurm(plan):
        for pool in plan.pools if plan.cloud is not None else ():
            if pool.slicing and pool.slicing.mig:
                yield Finding(
                    "slurm-cloud-slices",
                    "error",
                    f"{find_pool_path(plan, pool)}.slicing.mig",
                    f"nothing partitions the accelerators of {pool.name} when an instance starts: Slurm would expect "
                    f"{', '.join(sorted(pool.slicing.mig))}, detect whole accelerators, and reject the node",
                    "omit it or use slicing.shards; or partition them in a custom image before the boot script runs "
                    "(nvidia-mig-parted with mig-parted.yaml of the slurm bundle), and suppress this finding",
                )


def slurm_cloud_local_disks(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Disks inside instances that the boot cannot find: nodes without them would not run jobs."""
    for _ in iter_slurm(plan):
        for pool in plan.pools if plan.cloud is not None else ():
            path = find_pool_path(plan, pool)
            place = next((one.local for one in plan.spec.pools if one.name == pool.name), None)
            if place is None or plan.cloud is None:
                continue
            if plan.cloud.local_disks is None:
                problem = f"how machines of {plan.cloud.provider} show their internal disks is unknown"
            elif not any(disk.role == "scratch" for disk in pool.machine.disks):
                problem = f"{pool.machine.name} is not known to have internal disks"
            else:
                continue
            yield Finding(
                "slurm-cloud-local-disks",
                "error",
                f"{path}.local",
                f"{problem}: nodes of {pool.name} that do not find a disk for {place} run no jobs",
                "omit it, or select a machine with internal disks",
            )


CHECKS = (
    slurm_cloud_controllers,
    slurm_cloud_image,
    slurm_cloud_local_disks,
    slurm_cloud_minimum,
    slurm_cloud_slices,
    slurm_cloud_topology,
)
