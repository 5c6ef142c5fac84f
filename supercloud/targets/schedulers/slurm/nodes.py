"""NodeName and NodeSet lines: a line a group of nodes that hang together, whatever the number of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....plan.model.plan import Level, Plan, PoolPlan
from ....primitives.nodes import HostRange
from .conf import Lines, Value, joined
from .given import is_dynamic, real_memory
from .gres import gres_of
from .topology_cloud import places

__all__ = ["cloud_lines", "features_of", "hardware_of", "joining_line", "node_lines", "node_set_lines"]

# What a pool without the key must say once another pool has said something: DEFAULT carries over to later lines.
_NEUTRAL: Mapping[str, Value] = {"CoreSpecCount": 0, "MemSpecLimit": 0, "Gres": ""}

_WORTH_A_LINE = 8


def node_lines(plan: Plan, lines: Lines) -> Iterator[str]:
    """Per pool its hardware as the default, then its nodes with their addresses."""
    if is_dynamic(plan):
        return
    hardware = {pool.name: hardware_of(pool, plan) for pool in plan.pools}
    said = {key for values in hardware.values() for key, value in values.items() if value is not None}
    spans = _spans(plan)
    for pool in plan.pools:
        own = {key: _NEUTRAL.get(key) if value is None and key in said else value
               for key, value in hardware[pool.name].items()}  # fmt: skip
        yield lines.record("node", {"NodeName": "DEFAULT", **own, "State": "UNKNOWN"})
        for start, stop in spans[pool.name]:
            hosts, addresses = pool.hosts.part(start, stop), pool.addresses.part(start, stop)
            yield lines.record("node", {"NodeName": str(hosts), "NodeAddr": str(addresses)})


def node_set_lines(plan: Plan, lines: Lines) -> Iterator[str]:
    """A set per pool, by which partitions name it."""
    for pool in plan.pools:
        members: dict[str, Value] = {"Feature": pool.name} if is_dynamic(plan) else {"Nodes": str(pool.hosts)}
        yield lines.record("nodeset", {"NodeSet": pool.name, **members})


def hardware_of(pool: PoolPlan, plan: Plan) -> dict[str, Value]:
    """What one node of a pool is."""
    cpu = pool.machine.cpu
    return {
        # of many machines of a cloud only the number of processors is known
        "CPUs": pool.machine.instance.vcpus if not cpu and pool.machine.instance else None,
        "Sockets": cpu.sockets if cpu else None,
        "CoresPerSocket": cpu.cores_per_socket if cpu else None,
        "ThreadsPerCore": cpu.threads_per_core if cpu else None,
        "RealMemory": real_memory(pool),
        "CoreSpecCount": pool.reserved_cores or None,
        "MemSpecLimit": pool.reserved_memory.ceil("MiB") or None,
        "Gres": joined(gres_of(pool)),
        "Features": joined(features_of(pool, plan)),
    }


def cloud_lines(plan: Plan, lines: Lines) -> Iterator[str]:
    """What Slurm is told of nodes that may come (``scontrol create``), a line a pool or domain.

    Jobs are allocated to them before they exist. The pool is the first feature.
    """
    for pool in plan.pools:
        for hosts, place in places(pool, plan):
            said: dict[str, Value] = {"NodeName": str(hosts), **hardware_of(pool, plan), "Topology": place}
            yield lines.record("node", {**said, "State": "CLOUD"})


def joining_line(pool: PoolPlan, plan: Plan, lines: Lines) -> str:
    """What a node that joins by itself says of itself (``slurmd -Z --conf``); it counts its processors and memory."""
    counted = ("CPUs", "Sockets", "CoresPerSocket", "ThreadsPerCore", "RealMemory")
    return lines.record("node", {key: value for key, value in hardware_of(pool, plan).items() if key not in counted})


def features_of(pool: PoolPlan, plan: Plan) -> list[str]:
    """What a job can ask for with --constraint: pool, accelerator, machine, kinds of its fabrics, the user's own."""
    accelerator = [pool.accelerator.gres] if pool.accelerator and pool.accelerator.gres else []
    kinds = [fabric.kind for fabric in plan.fabrics if fabric.name in pool.fabrics]
    return list(dict.fromkeys([pool.name, *accelerator, pool.machine.name, *kinds, *pool.features]))


def _spans(plan: Plan) -> dict[str, list[tuple[int, int]]]:
    """Per pool, from where to where its groups reach."""
    groups = _innermost(plan)
    starts: dict[str, set[int]] = {pool.name: {0, pool.nodes} for pool in plan.pools}
    pools = {pool.hosts.prefix: pool for pool in plan.pools}
    for group in groups.groups if groups else ():
        for hosts in group.hosts.ranges:
            pool = pools.get(hosts.prefix)
            if pool is not None:
                starts[pool.name] |= _bounds(hosts, pool)
    cuts = {name: sorted(found) for name, found in starts.items()}
    return {name: list(zip(found, found[1:], strict=False)) for name, found in cuts.items()}


def _bounds(hosts: HostRange, pool: PoolPlan) -> set[int]:
    return {hosts.first - pool.hosts.first, hosts.last - pool.hosts.first + 1}


def _innermost(plan: Plan) -> Level | None:
    """The innermost level whose groups are large enough to be worth a line each."""
    for locality in plan.localities:
        for level in locality.levels if locality.kind in ("tree", "block") else ():
            if sum(len(group.hosts) for group in level.groups) >= _WORTH_A_LINE * len(level.groups):
                return level
    return None
