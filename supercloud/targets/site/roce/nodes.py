"""The nodes' side of a RoCE fabric: addresses and policy routes of every rail, PFC and DSCP, settings for NCCL.

Nothing is per node: a node computes its addresses from its number, with the arithmetic of the plan.
"""

from __future__ import annotations

import ipaddress
from typing import Any

from ....plan.build.network.adapter_qos import format_nodes_key
from ....plan.build.network.nccl import find_collectives_file
from ....plan.model.network import Underlay
from ....plan.model.plan import Plan, PoolPlan
from ....primitives.bundle import File
from ....primitives.templates import render_template
from ..head import format_header
from .qos import render_qos_files

__all__ = [
    "has_joined_rails",
    "build_common_values",
    "format_interface_name",
    "render_node_files",
    "list_reachable_blocks",
]

# Route tables of a host, one per link: the first number, and the count for each fabric.
_TABLES, _LINKS = 100, 64


def select_interface_prefix(underlay: Underlay) -> str:
    """Return the prefix of the fabric's interfaces if their RDMA devices are not in the catalog."""
    return "rail" if underlay.role == "compute" else underlay.role


def format_interface_name(underlay: Underlay, nic: int, plane: int) -> str:
    """Return the name of a node's interface if its RDMA device is not in the catalog."""
    return f"{select_interface_prefix(underlay)}{nic}" + (
        f"p{plane + 1}" if underlay.rails.node_links.planes > 1 else ""
    )


def build_common_values(plan: Plan, underlay: Underlay) -> dict[str, Any]:
    """Build the common values of the scripts of nodes and of servers."""
    position = next(fabric.position for fabric in plan.fabrics if fabric.name == underlay.fabric)
    return {
        "underlay": underlay,
        "policy": underlay.qos_policy,
        "prefix": select_interface_prefix(underlay),
        "table": _TABLES + position * _LINKS,
        "joined": has_joined_rails(underlay),
        "reached": [list_reachable_blocks(underlay, plane) for plane in range(underlay.rails.node_links.planes)],
        "tos": underlay.qos_policy.dscp << 2,
    }


def render_node_files(plan: Plan, underlay: Underlay, pool: PoolPlan) -> dict[str, File | str]:
    """Render scripts, units and environment of one pool's nodes."""
    hosts = underlay.rails.node_links
    title = f"{underlay.fabric} on {pool.name}"
    assert plan.networks is not None
    own = next(item for item in plan.networks.list_pool_links(underlay.fabric) if item.pool == pool.name)
    links = [(nic, plane) for plane in range(hosts.planes) for nic in range(hosts.nics)]
    devices = _find_devices(pool, underlay)
    values = build_common_values(plan, underlay) | {
        "head": format_header(title, "#"),
        "pool": pool,
        "machine": pool.machine.name,
        "first": own.first,
        "hosts": hosts,
        "rails": underlay.rails,
        "links": [(plane, nic, format_interface_name(underlay, nic, plane)) for nic, plane in links],
        "devices": [devices[nic * hosts.planes + plane] for nic, plane in links] if devices else [],
        "bases": [int(block.network_address) for block in underlay.rails.blocks],
        "disjoint": underlay.wiring.has_disjoint_rails,
    }
    files: dict[str, File | str] = {
        "roce-rails.sh": File(render_template("roce/roce-rails.sh.j2", **values), executable=True),
        **render_qos_files(underlay.adapter_tools.get(format_nodes_key(pool.name)), underlay, values),
    }
    file = find_collectives_file(pool)
    if underlay.role == "compute" and file:  # collectives use this fabric only
        tool = underlay.adapter_tools.get(format_nodes_key(pool.name))
        files[file] = render_template(
            "roce/nccl.conf.j2", file=file, gid_index=tool.gid_index if tool else None, **values
        )
    return files


def has_joined_rails(underlay: Underlay) -> bool:
    """Whether every link of a host reaches every rail of its plane, so that any of them can be used."""
    return underlay.rails.node_links.leaves_per_block == 1 or not underlay.wiring.has_disjoint_rails


def _find_devices(pool: PoolPlan, underlay: Underlay) -> tuple[str, ...]:
    """Return RDMA devices of the fabric's links, by NIC and within it by plane; empty if they are not in the
    catalog.
    """
    hosts = underlay.rails.node_links
    for adapter in pool.machine.adapters:
        if (
            adapter.role == underlay.role
            and adapter.kind in ("ethernet", "vpi")
            and len(adapter.devices) == hosts.nics * hosts.planes
        ):
            return adapter.devices
    return ()


def list_reachable_blocks(underlay: Underlay, plane: int) -> list[str]:
    """Return the blocks that a plane reaches: the rails of that plane only."""
    sides = underlay.rails.node_links.leaves_per_block
    blocks = underlay.rails.blocks[plane * sides : (plane + 1) * sides]
    return [str(block) for block in ipaddress.collapse_addresses(blocks)]
