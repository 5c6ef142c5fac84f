"""Checks of contradictions in the Slurm configuration, independent of the release."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog, SlurmRelease
from ...errors import Finding
from ...spec import SlurmScheduler
from ...spec.scheduler import STATE_FOLDER
from ..build.slurm_options import iter_missing_items, iter_owned_items, iter_owned_options, list_item_names
from ..build.storage.mounts import is_reserved, normalize_mount
from ..model.plan import Plan
from .paths import find_pool_path

__all__ = ["CHECKS", "iter_slurm"]

# HealthCheckInterval has 16 bits.
_MAX_SECONDS = 65535
# Folders of slurmctld below those of the system: the defaults of slurm.conf(5) and of packages of distributions.
_OWN_FOLDERS = ("/var/spool/slurm", "/var/lib/slurm")
_FOLDERS_OF_SLURMD = ("/var/spool/slurmd/", "/var/lib/slurmd/", "/var/lib/slurm/slurmd/")
_SHARED_FOLDERS = ("/home", "/mnt")


def iter_slurm(plan: Plan) -> Iterator[tuple[SlurmScheduler, SlurmRelease]]:
    """The declared scheduler and its release; empty without Slurm, or if its release is not in the catalog."""
    declared, release = plan.scheduler.settings, plan.scheduler.release
    if isinstance(declared, SlurmScheduler) and release:
        yield declared, release


# slurm.conf(5): PartitionName=DEFAULT and NodeName=DEFAULT set defaults, and Nodes=ALL is every node; case is ignored.
# sacctmgr(1): the account root is the parent of all others.
_RESERVED_NAMES = {
    "pool": {
        "all": "Nodes=all in slurm.conf is every node of the cluster",
        "default": "PartitionName=default in slurm.conf sets defaults and is not a partition",
    },
    "partition": {"default": "PartitionName=default in slurm.conf sets defaults and is not a partition"},
    "tenant": {"root": "the account root is the parent of all accounts"},
}


def slurm_reserved_name(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Pools, partitions and tenants with a name that means something else to Slurm."""
    for slurm, _ in iter_slurm(plan):
        named = [("pool", f"pools[{index}].name", item.name) for index, item in enumerate(plan.spec.pools)]
        named += [
            ("partition", f"scheduler.partitions[{index}].name", item.name)
            for index, item in enumerate(slurm.partitions)
        ]
        named += [("tenant", f"tenants[{index}].name", item.name) for index, item in enumerate(plan.spec.tenants)]
        for kind, path, name in named:
            if reason := _RESERVED_NAMES[kind].get(name.lower()):
                yield Finding(
                    "slurm-reserved-name",
                    "error",
                    path,
                    f"the {kind} name {name!r} is reserved by Slurm: {reason}",
                    f"choose another name, such as {name.lower()}-1",
                )


def slurm_pool_partition(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Pools that are in no partition: no job can use their nodes."""
    for slurm, _ in iter_slurm(plan):
        used = {name for item in slurm.partitions for name in item.pools}
        for index, pool in enumerate(plan.spec.pools):
            if slurm.partitions and pool.name not in used:
                yield Finding(
                    "slurm-pool-partition",
                    "warning",
                    f"pools[{index}].name",
                    f"{pool.name} is in none of the {len(slurm.partitions)} partitions: no job can use its nodes",
                    "add it to the pools of a partition in scheduler.partitions",
                )


def slurm_option_reserved(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A key set by hand on which other rendered files depend, or that has a field in the spec."""
    for slurm, _ in iter_slurm(plan):
        given = {key.lower(): key for key in slurm.options}
        for option in iter_owned_options(plan):
            if key := given.get(option.key.lower()):
                yield Finding(
                    "slurm-option-reserved",
                    "error",
                    f"scheduler.options.{key}",
                    f"{key} cannot be set by hand: {option.reason}",
                    option.hint,
                )
        for item in iter_owned_items(plan):
            key = given.get(item.key.lower())
            if key and item.item in list_item_names(slurm.options[key]):
                yield Finding(
                    "slurm-option-reserved",
                    "error",
                    f"scheduler.options.{key}",
                    f"{item.item} in {key} cannot be set by hand: {item.reason}",
                    item.hint,
                )
        for key, required in iter_missing_items(plan, slurm.options):
            yield Finding(
                "slurm-option-reserved",
                "error",
                f"scheduler.options.{key}",
                f"{key} cannot be {slurm.options[key]}: {required.reason}",
                required.hint,
            )


def slurm_option_duplicate(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Two spellings of one key: Slurm compares keys without regard to case."""
    for slurm, _ in iter_slurm(plan):
        first: dict[str, str] = {}
        for key in slurm.options:
            other = first.setdefault(key.lower(), key)
            if other != key:
                yield Finding(
                    "slurm-option-duplicate",
                    "error",
                    f"scheduler.options.{key}",
                    f"{key} and {other} are the same key of slurm.conf, which ignores case",
                    "keep one of them",
                )


def slurm_gres(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Accelerators that Slurm cannot allocate, because their GRES name or their device files have no source."""
    for _ in iter_slurm(plan):
        for pool in plan.pools:
            accelerator = pool.accelerator
            path = f"{find_pool_path(plan, pool)}.machine"
            if accelerator and not accelerator.gres:
                yield Finding(
                    "slurm-gres",
                    "error",
                    path,
                    f"{accelerator.name} has no name in Slurm's gres",
                    "add accelerators/gres to a catalog overlay",
                )
            elif accelerator and accelerator.devices is None and not (pool.slicing and pool.slicing.mig):
                yield Finding(
                    "slurm-gres",
                    "warning",
                    path,
                    f"unknown device files of {accelerator.name}: jobs can access each other's accelerators",
                    "add accelerators/devices to a catalog overlay",
                )


def slurm_node_size(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines with unknown processors or memory: Slurm would assume one processor and 1 MiB."""
    for _ in iter_slurm(plan):
        for pool in plan.pools if plan.site.kind == "onprem" else ():
            lacking = [name for name in ("cpu", "memory") if getattr(pool.machine, name) is None]
            if lacking:
                yield Finding(
                    "slurm-node-size",
                    "error",
                    f"{find_pool_path(plan, pool)}.machine",
                    f"unknown {' and '.join(lacking)} of {pool.machine.name}: Slurm requires them",
                    f"add machines/{pool.machine.name}.yaml to a catalog overlay",
                )


def slurm_reserve(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A reserve that leaves nothing for jobs."""
    for _ in iter_slurm(plan):
        for pool in plan.pools:
            cpu, memory = pool.machine.cpu, pool.machine.memory
            path = f"{find_pool_path(plan, pool)}.reserve"
            if cpu and pool.reserved_cores >= cpu.sockets * cpu.cores_per_socket:
                yield Finding(
                    "slurm-reserve",
                    "error",
                    f"{path}.cores",
                    f"{pool.reserved_cores} of {cpu.sockets * cpu.cores_per_socket} cores are reserved",
                    "leave cores for jobs",
                )
            if memory and pool.reserved_memory * 2 > memory:
                yield Finding(
                    "slurm-reserve",
                    "error",
                    f"{path}.memory",
                    f"{pool.reserved_memory} of {memory} is reserved",
                    "leave memory for jobs",
                )


def slurm_preemption(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Preemption uses quality of service, which is stored in the accounting database."""
    for slurm, _ in iter_slurm(plan):
        if slurm.preemption and not slurm.accounting and any(tenant.priority == "high" for tenant in plan.tenants):
            yield Finding(
                "slurm-preemption",
                "warning",
                "scheduler.preemption",
                "without accounting no job is preempted by one of higher priority",
                "set scheduler.accounting: true, or preemption: false",
            )


def slurm_tenant_users(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Tenants without users, for which no job can be submitted."""
    for slurm, _ in iter_slurm(plan):
        for index, tenant in enumerate(plan.tenants if slurm.accounting else ()):
            if not tenant.users:
                yield Finding(
                    "slurm-tenant-users",
                    "note",
                    f"tenants[{index}].users",
                    f"{tenant.name} has no users: no job can be submitted for it",
                    f"declare users, or add them later: sacctmgr add user <name> account={tenant.name}",
                )


def slurm_times(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Times that contradict each other, or that exceed Slurm's limits."""
    for slurm, _ in iter_slurm(plan):
        if slurm.health_check_interval.ceil("s") > _MAX_SECONDS:
            yield Finding(
                "slurm-times",
                "error",
                "scheduler.health_check_interval",
                f"{slurm.health_check_interval} is over Slurm's maximum of {_MAX_SECONDS} s",
                "set an hour or less",
            )
        if slurm.default_time > slurm.max_time:
            yield Finding(
                "slurm-times",
                "error",
                "scheduler.default_time",
                f"the default time {slurm.default_time} is longer than the maximum, {slurm.max_time}",
                "raise scheduler.max_time",
            )
        for index, partition in enumerate(slurm.partitions):
            limit = min(partition.max_time or slurm.max_time, slurm.max_time)
            if partition.max_time and partition.max_time > slurm.max_time:
                yield Finding(
                    "slurm-times",
                    "error",
                    f"scheduler.partitions[{index}].max_time",
                    f"{partition.max_time} is longer than the cluster's maximum, {slurm.max_time}",
                    "raise scheduler.max_time",
                )
            if partition.default_time and partition.default_time > limit:
                yield Finding(
                    "slurm-times",
                    "error",
                    f"scheduler.partitions[{index}].default_time",
                    f"the default time {partition.default_time} is longer than the maximum, {limit}",
                    "shorten it",
                )


def slurm_shared_state(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Several controllers can take over from each other only if they share their state."""
    declared = plan.scheduler.settings
    if isinstance(declared, SlurmScheduler) and len(plan.scheduler.controllers) > 1:
        folder = declared.state_folder if plan.site.kind == "onprem" else STATE_FOLDER
        yield Finding(
            "slurm-shared-state",
            "note",
            "scheduler.controllers",
            f"the controllers must share {folder}, or a failover loses all jobs",
            "place it on a file system that is available if any one of them fails",
        )


def slurm_state_folder(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A state folder that has files of others: INSTALL.md gives it to slurm, and only slurm can then read it."""
    declared = plan.scheduler.settings
    if plan.site.kind != "onprem" or not isinstance(declared, SlurmScheduler):
        return
    folder = normalize_mount(declared.state_folder)
    mounts = [normalize_mount(item.mount) for item in plan.spec.storage if item.mount]
    holds = next((mount for mount in mounts if mount == folder or mount.startswith(f"{folder}/")), "")
    is_own = folder.startswith(_OWN_FOLDERS) and not f"{folder}/".startswith(_FOLDERS_OF_SLURMD)
    if holds or folder in _SHARED_FOLDERS or (is_reserved(folder, catalog) and not is_own):
        owner = f"is or holds the file system {holds}" if holds else "belongs to the system, to users or to slurmd"
        yield Finding(
            "slurm-state-folder",
            "error",
            "scheduler.state_folder",
            f"{folder} {owner}, and the state folder is readable by the user slurm only",
            f"use a folder of its own, such as {holds or '/var/spool'}/slurmctld",
        )


CHECKS = (
    slurm_gres,
    slurm_node_size,
    slurm_option_duplicate,
    slurm_option_reserved,
    slurm_pool_partition,
    slurm_preemption,
    slurm_reserved_name,
    slurm_reserve,
    slurm_shared_state,
    slurm_state_folder,
    slurm_tenant_users,
    slurm_times,
)
