"""PartitionName lines: access, time limits, and default resources of jobs."""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.model.plan import Plan, PoolPlan
from ....spec.scheduler import Partition, SlurmScheduler
from .accessors import compute_usable_memory, has_dynamic_nodes, require_slurm_release, require_slurm_spec
from .conf import ConfigWriter, Value, format_duration, join_items
from .gres import count_accelerator_units
from .topology import select_default_locality, select_partition_locality
from .topology_cloud import find_cloud_domain

__all__ = ["render_partition_lines"]


def render_partition_lines(plan: Plan, writer: ConfigWriter) -> Iterator[str]:
    """Yield the common settings of all partitions, then each partition."""
    yield writer.format_record("partition", {"PartitionName": "DEFAULT", "State": "UP", "OverSubscribe": "NO"})
    for partition in plan.scheduler.partitions:
        yield writer.format_record("partition", _build_partition_settings(plan, partition))


def _build_partition_settings(plan: Plan, partition: Partition) -> dict[str, Value]:
    slurm = require_slurm_spec(plan)
    max_time = min(partition.max_time or slurm.max_time, slurm.max_time)
    pools = [plan.get_pool(name) for name in partition.pools]
    prepaid = plan.cloud is not None and all(plan.cloud.is_prepaid(pool.name) for pool in pools)
    key = "Exclusive" if require_slurm_release(plan).abilities.exclusive_key else "OverSubscribe"
    exclusive: dict[str, Value] = {key: "NODE" if key == "Exclusive" else "EXCLUSIVE"} if partition.exclusive else {}
    return {
        "PartitionName": partition.name,
        "Nodes": join_items(partition.pools),
        "Default": "YES" if partition.default else None,
        "MaxTime": format_duration(max_time),
        "DefaultTime": format_duration(min(partition.default_time or slurm.default_time, max_time)),
        "MaxNodes": partition.max_nodes,
        "PriorityTier": partition.priority if partition.priority != 1 else None,
        "AllowAccounts": join_items(partition.accounts) if slurm.accounting else None,
        "SuspendTime": "INFINITE" if prepaid else None,
        **_select_default_shares(slurm, pools),
        **exclusive,
        **_build_topology_setting(plan, partition),
    }


def _select_default_shares(slurm: SlurmScheduler, pools: list[PoolPlan]) -> dict[str, Value]:
    """Select the defaults that ``scheduler.options`` does not set: Slurm prefers those of the partition."""
    given = {key.lower() for key in slurm.options}
    if "defmempernode" in given:  # in its place, as Slurm uses one of them
        given |= {"defmempercpu", "defmempergpu"}
    return {key: value for key, value in _compute_default_shares(pools).items() if key.lower() not in given}


def _compute_default_shares(pools: list[PoolPlan]) -> dict[str, Value]:
    """Compute default memory and processors per accelerator, and default memory per processor for jobs without
    accelerators.

    Slurm uses one of both defaults and never adds them; without the second one a job without a request would get all
    memory, and no accelerator of its node could be used. The shares of all accelerators never exceed the node:
    otherwise Slurm rejects whole-node jobs. The smallest share of all pools applies, as a job may run on any of them.
    """
    by_gpu = {pool.name: sum(count_accelerator_units(pool).values()) for pool in pools}
    accelerated = [pool for pool in pools if by_gpu[pool.name]]
    plain = [compute_usable_memory(pool) // pool.threads for pool in pools if pool.threads]
    shares: dict[str, Value] = {"DefMemPerCPU": min(plain, default=0) or None}
    if accelerated:
        shares["DefMemPerGPU"] = min(compute_usable_memory(pool) // by_gpu[pool.name] for pool in accelerated) or None
        shares["DefCpuPerGPU"] = min(_compute_cpus_per_unit(pool, by_gpu[pool.name]) for pool in accelerated) or None
    return shares


def _compute_cpus_per_unit(pool: PoolPlan, units: int) -> int:
    """Compute the default CPUs per accelerator, as Slurm counts them: those of whole cores.

    CR_Core allocates whole cores: a share that is not a multiple of the threads per core uses one more core than
    specified, and none are left for the last accelerators of a node. If the catalog has no cores, two CPUs may be one
    core: the share is even. With more units than cores there is no default, and a job gets the core of its task.
    """
    cpu = pool.machine.cpu
    if cpu is None:
        share = (pool.threads or 0) // units
        return share - share % 2 if share > 1 else share
    cores = cpu.sockets * cpu.cores_per_socket - pool.reserved_cores
    return cores // units * cpu.threads_per_core


def _build_topology_setting(plan: Plan, partition: Partition) -> dict[str, Value]:
    if has_dynamic_nodes(plan):
        return {"Topology": find_cloud_domain(plan, partition)}
    if not require_slurm_release(plan).abilities.topology_yaml:
        return {}
    locality = select_partition_locality(plan, partition)
    return {"Topology": locality.name} if locality != select_default_locality(plan) else {}
