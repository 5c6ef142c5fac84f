"""Slurm on a cloud: what nodes that come and go, and machines that are replaced, do not allow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ...catalog import Catalog, SlurmRelease
from ...errors import Finding
from ..model.plan import Plan
from .slurm_setup import find_pool_path, iter_slurm

__all__ = ["CHECKS"]

# Releases that know it can be told while they run which nodes stay on.
_KEEP_ON_OPTION = "SuspendExcStates"


def slurm_cloud_controllers(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """More than one controller: each has a disk of its own, so the second would begin with no job at all."""
    for slurm, _ in iter_slurm(plan):
        if plan.cloud is not None and len(slurm.controllers) > 1:
            yield Finding(
                "slurm-cloud-controllers",
                "error",
                "scheduler.controllers",
                f"{len(slurm.controllers)} controllers at {plan.cloud.provider} share no disk: one that takes over "
                "would know no job",
                "name one controller: its state is on a disk that outlives it, a new machine goes on with it",
            )


def slurm_cloud_topology(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A release that cannot be told, while it runs, where nodes are."""
    for _, release in iter_slurm(plan):
        if plan.cloud is None or release.abilities.topology_yaml or all(pool.nodes < 2 for pool in plan.pools):
            continue
        able = [cast(SlurmRelease, item) for item in catalog.iter_entries("slurm")]
        newer = [item.name for item in able if item.abilities.topology_yaml]
        first = min(newer, key=lambda name: tuple(map(int, name.split("."))), default="")
        yield Finding(
            "slurm-cloud-topology",
            "warning",
            "scheduler.version",
            f"Slurm {release.name} cannot be told where nodes are that join: it does not keep a job's nodes near",
            (f"set scheduler.version to {first} or later, or " if first else "")
            + "let jobs ask for the features net-… of nodes that are on",
        )


def slurm_cloud_image(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Images the provider publishes: whether they carry the scheduler is not known before a machine starts."""
    for _, release in iter_slurm(plan):
        if plan.cloud is None or plan.spec.site.kind == "onprem":
            continue
        bare = sorted(set(plan.cloud.images) - set(plan.spec.site.images))
        closed = plan.cloud.network.is_isolated
        if bare:
            yield Finding(
                "slurm-cloud-image",
                "warning" if closed else "note",
                "site.images",
                f"{', '.join(bare)}: the provider's images are not known to carry Slurm {release.name}"
                + (
                    ", its database or the command line of the cloud, and a closed network has nowhere to get them from"
                    if closed
                    else ""
                )
                + "; a machine without it does not start its daemon, and says so in its log",
                "name images that have it under site.images, or put packages of it into the bucket of the cluster as "
                "packages/packages.tar.gz",
            )


def slurm_cloud_minimum(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Nodes that shall always be there, in a release that switches off every idle one."""
    for _, release in iter_slurm(plan):
        if plan.cloud is None or _KEEP_ON_OPTION in release.keys.slurm:
            continue
        able = [
            item.name
            for item in catalog.iter_entries("slurm")
            if _KEEP_ON_OPTION in cast(SlurmRelease, item).keys.slurm
        ]
        newer = min(able, key=lambda name: tuple(map(int, name.split("."))), default="")
        for index, pool in enumerate(plan.spec.pools):
            if pool.min and not plan.cloud.is_prepaid(pool.name):
                yield Finding(
                    "slurm-cloud-minimum",
                    "warning",
                    f"pools[{index}].min",
                    f"Slurm {release.name} cannot be told to leave {pool.min} idle nodes on: each is switched off and "
                    "replaced by the cloud",
                    (f"set scheduler.version to {newer} or later, or leave it out" if newer else "leave it out"),
                )


def slurm_cloud_slices(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Accelerators cut by MIG: the boot script cuts none, and Slurm refuses a node that has others than it was told."""
    for _ in iter_slurm(plan):
        for pool in plan.pools if plan.cloud is not None else ():
            if pool.slicing and pool.slicing.mig:
                yield Finding(
                    "slurm-cloud-slices",
                    "error",
                    f"{find_pool_path(plan, pool)}.slicing.mig",
                    f"nothing cuts the accelerators of {pool.name} when an instance starts: Slurm would be told of "
                    f"{', '.join(sorted(pool.slicing.mig))}, find whole accelerators, and refuse the node",
                    "leave it out or take slicing.shards; or cut them in an image of yours before the boot script runs "
                    "(nvidia-mig-parted with mig-parted.yaml of the slurm bundle), and accept this finding",
                )


def slurm_cloud_local_disks(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Disks inside instances: nothing formats or mounts them."""
    for _ in iter_slurm(plan):
        for index, pool in enumerate(plan.spec.pools if plan.cloud is not None else ()):
            if pool.local is not None:
                yield Finding(
                    "slurm-cloud-local-disks",
                    "warning",
                    f"pools[{index}].local",
                    f"the disks inside nodes of {pool.name} are not mounted at {pool.local}: the boot script of "
                    "Slurm's nodes leaves them alone",
                    f"leave it out, or mount them at {pool.local} in an image of yours, and accept this finding",
                )


CHECKS = (
    slurm_cloud_controllers,
    slurm_cloud_image,
    slurm_cloud_local_disks,
    slurm_cloud_minimum,
    slurm_cloud_slices,
    slurm_cloud_topology,
)
