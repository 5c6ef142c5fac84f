"""PartitionName lines: who may run where, for how long, and what a job gets that does not say."""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.model.plan import Plan, PoolPlan
from ....spec.scheduler import Partition
from .conf import Lines, Value, joined, span
from .given import is_dynamic, release_of, slurm_of, usable_memory
from .gres import accelerator_units
from .topology import default_locality, partition_locality
from .topology_cloud import cloud_domain

__all__ = ["partition_lines"]


def partition_lines(plan: Plan, lines: Lines) -> Iterator[str]:
    """What all partitions share, then each."""
    yield lines.record("partition", {"PartitionName": "DEFAULT", "State": "UP", "OverSubscribe": "NO"})
    for partition in plan.scheduler.partitions:
        yield lines.record("partition", _partition(plan, partition))


def _partition(plan: Plan, partition: Partition) -> dict[str, Value]:
    slurm = slurm_of(plan)
    max_time = min(partition.max_time or slurm.max_time, slurm.max_time)
    pools = [plan.pool(name) for name in partition.pools]
    prepaid = plan.cloud is not None and all(plan.cloud.prepaid(pool.name) for pool in pools)
    key = "Exclusive" if release_of(plan).abilities.exclusive_key else "OverSubscribe"
    exclusive: dict[str, Value] = {key: "NODE" if key == "Exclusive" else "EXCLUSIVE"} if partition.exclusive else {}
    return {
        "PartitionName": partition.name,
        "Nodes": joined(partition.pools),
        "Default": "YES" if partition.default else None,
        "MaxTime": span(max_time),
        "DefaultTime": span(min(partition.default_time or slurm.default_time, max_time)),
        "MaxNodes": partition.max_nodes,
        "PriorityTier": partition.priority if partition.priority != 1 else None,
        "AllowAccounts": joined(partition.accounts) if slurm.accounting else None,
        "SuspendTime": "INFINITE" if prepaid else None,
        **_shares(pools),
        **exclusive,
        **_topology(plan, partition),
    }


def _shares(pools: list[PoolPlan]) -> dict[str, Value]:
    """Memory and processors that come with each accelerator, and memory with each processor for jobs that ask for none.

    Slurm takes one kind of memory or the other and never adds them; without the second kind a job that asks for nothing
    would get all memory, and no accelerator of its node could be used. The parts of all accelerators never exceed the
    node: Slurm refuses whole-node jobs otherwise. The smallest part of all pools holds, as a job may land on any.
    """
    by_gpu = {pool.name: sum(accelerator_units(pool).values()) for pool in pools}
    accelerated = [pool for pool in pools if by_gpu[pool.name]]
    plain = [usable_memory(pool) // pool.threads for pool in pools if pool.threads]
    shares: dict[str, Value] = {"DefMemPerCPU": min(plain, default=0) or None}
    if accelerated:
        shares["DefMemPerGPU"] = min(usable_memory(pool) // by_gpu[pool.name] for pool in accelerated) or None
        shares["DefCpuPerGPU"] = min(_processors_per_unit(pool, by_gpu[pool.name]) for pool in accelerated) or None
    return shares


def _processors_per_unit(pool: PoolPlan, units: int) -> int:
    """CPUs, as Slurm counts them, that come with one accelerator: those of whole cores.

    CR_Core gives a job whole cores: a share that is no multiple of the threads of a core takes one more core than it
    says, and the last accelerators of a node have none left. Where nobody sourced the cores, two CPUs may be one core:
    the share is even. Where there are more units than cores, there is none, and a job has the core of its task.
    """
    cpu = pool.machine.cpu
    if cpu is None:
        share = (pool.threads or 0) // units
        return share - share % 2 if share > 1 else share
    cores = cpu.sockets * cpu.cores_per_socket - pool.reserved_cores
    return cores // units * cpu.threads_per_core


def _topology(plan: Plan, partition: Partition) -> dict[str, Value]:
    if is_dynamic(plan):
        return {"Topology": cloud_domain(plan, partition)}
    if not release_of(plan).abilities.topology_yaml:
        return {}
    locality = partition_locality(plan, partition)
    return {"Topology": locality.name} if locality != default_locality(plan) else {}
