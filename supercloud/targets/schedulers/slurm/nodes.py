"""NodeName and NodeSet lines: one line per group of nodes that share a switch or domain, not per node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ....plan.model.plan import Level, Plan, PoolPlan
from ....primitives.nodes import HostRange
from .accessors import compute_real_memory, has_dynamic_nodes
from .conf import ConfigWriter, Value, join_items
from .gres import build_gres_items
from .topology_cloud import iter_node_places

__all__ = [
    "render_cloud_node_lines",
    "list_features",
    "build_node_settings",
    "render_join_line",
    "render_node_lines",
    "render_node_set_lines",
]

# Values for pools without the key after another pool has set it: DEFAULT applies to all later lines.
_NEUTRAL_VALUES: Mapping[str, Value] = {"CoreSpecCount": 0, "MemSpecLimit": 0, "Gres": ""}

_MIN_NODES_PER_LINE = 8


def render_node_lines(plan: Plan, writer: ConfigWriter) -> Iterator[str]:
    """Yield for each pool its hardware as the default, then its nodes with their addresses."""
    if has_dynamic_nodes(plan):
        return
    hardware = {pool.name: build_node_settings(pool, plan) for pool in plan.pools}
    known = {key for values in hardware.values() for key, value in values.items() if value is not None}
    spans = _split_pools(plan)
    for pool in plan.pools:
        own = {
            key: _NEUTRAL_VALUES.get(key) if value is None and key in known else value
            for key, value in hardware[pool.name].items()
        }
        yield writer.format_record("node", {"NodeName": "DEFAULT", **own, "State": "UNKNOWN"})
        for start, stop in spans[pool.name]:
            hosts, addresses = pool.hosts.slice(start, stop), pool.addresses.slice(start, stop)
            yield writer.format_record("node", {"NodeName": str(hosts), "NodeAddr": str(addresses)})


def render_node_set_lines(plan: Plan, writer: ConfigWriter) -> Iterator[str]:
    """Yield a node set per pool, to which partitions refer."""
    for pool in plan.pools:
        members: dict[str, Value] = {"Feature": pool.name} if has_dynamic_nodes(plan) else {"Nodes": str(pool.hosts)}
        yield writer.format_record("nodeset", {"NodeSet": pool.name, **members})


def build_node_settings(pool: PoolPlan, plan: Plan) -> dict[str, Value]:
    """Build the settings of one node of a pool."""
    cpu = pool.machine.cpu
    return {
        # for many cloud machines only the number of processors is known
        "CPUs": pool.machine.instance.vcpus if not cpu and pool.machine.instance else None,
        "Sockets": cpu.sockets if cpu else None,
        "CoresPerSocket": cpu.cores_per_socket if cpu else None,
        "ThreadsPerCore": cpu.threads_per_core if cpu else None,
        "RealMemory": compute_real_memory(pool),
        "CoreSpecCount": pool.reserved_cores or None,
        "MemSpecLimit": pool.reserved_memory.ceil("MiB") or None,
        "Gres": join_items(build_gres_items(pool)),
        "Features": join_items(list_features(pool, plan)),
    }


def render_cloud_node_lines(plan: Plan, writer: ConfigWriter) -> Iterator[str]:
    """Yield the lines that create future nodes (``scontrol create``), one per pool or domain.

    Jobs are allocated to them before they exist. The pool is the first feature.
    """
    for pool in plan.pools:
        for hosts, place in iter_node_places(pool, plan):
            settings: dict[str, Value] = {"NodeName": str(hosts), **build_node_settings(pool, plan), "Topology": place}
            yield writer.format_record("node", {**settings, "State": "CLOUD"})


def render_join_line(pool: PoolPlan, plan: Plan, writer: ConfigWriter) -> str:
    """Render the configuration of a dynamic node (``slurmd -Z --conf``); it detects its processors and memory."""
    counted = ("CPUs", "Sockets", "CoresPerSocket", "ThreadsPerCore", "RealMemory")
    return writer.format_record(
        "node", {key: value for key, value in build_node_settings(pool, plan).items() if key not in counted}
    )


def list_features(pool: PoolPlan, plan: Plan) -> list[str]:
    """Return the features for --constraint: those of the plan, and the kinds of the fabrics of its nodes."""
    kinds = [fabric.kind for fabric in plan.fabrics if fabric.name in pool.fabrics]
    return list(dict.fromkeys([*pool.features, *kinds]))


def _split_pools(plan: Plan) -> dict[str, list[tuple[int, int]]]:
    """Return for each pool the ranges of its groups."""
    groups = _find_innermost_level(plan)
    starts: dict[str, set[int]] = {pool.name: {0, pool.nodes} for pool in plan.pools}
    pools = {pool.hosts.prefix: pool for pool in plan.pools}
    for group in groups.groups if groups else ():
        for hosts in group.hosts.ranges:
            pool = pools.get(hosts.prefix)
            if pool is not None:
                starts[pool.name] |= _compute_bounds(hosts, pool)
    cuts = {name: sorted(found) for name, found in starts.items()}
    return {name: list(zip(found, found[1:], strict=False)) for name, found in cuts.items()}


def _compute_bounds(hosts: HostRange, pool: PoolPlan) -> set[int]:
    return {hosts.first - pool.hosts.first, hosts.last - pool.hosts.first + 1}


def _find_innermost_level(plan: Plan) -> Level | None:
    """Return the innermost level whose groups are large enough for a line each."""
    for locality in plan.localities:
        for level in locality.levels if locality.kind in ("tree", "block") else ():
            if sum(len(group.hosts) for group in level.groups) >= _MIN_NODES_PER_LINE * len(level.groups):
                return level
    return None
