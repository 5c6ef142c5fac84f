"""The tool that configures QoS on the adapters of each host group of a RoCE fabric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....catalog import Catalog
from ....catalog.adapter_qos import AdapterQos
from ....catalog.machine import Adapter
from ...model.addressed_links import ServerLinks
from ...model.plan import FabricPlan, PoolPlan
from ..fabric.roles import find_adapter

__all__ = ["iter_adapters", "find_adapter_qos", "format_nodes_key", "format_servers_key"]


def format_nodes_key(pool: str) -> str:
    """Key of a pool's nodes in the tools of a fabric."""
    return f"nodes/{pool}"


def format_servers_key(group: str) -> str:
    """Key of a group of servers in the tools of a fabric."""
    return f"servers/{group}"


def find_adapter_qos(catalog: Catalog, adapter: Adapter | None) -> AdapterQos | None:
    """The tool of the adapters' vendor; None if the vendor is unknown, or if no tool of it is known."""
    known = catalog.iter_entries(AdapterQos) if adapter else ()
    return next((item for item in known if adapter and item.is_for(adapter)), None)


def iter_adapters(
    fabric: FabricPlan, pools: Sequence[PoolPlan], servers: Sequence[ServerLinks]
) -> Iterator[tuple[str, Adapter | None]]:
    """Key and adapters of every group of hosts on a fabric; None if the catalog does not have the adapters."""
    for pool in pools:
        if fabric.name in pool.fabrics:
            yield format_nodes_key(pool.name), find_adapter(pool.machine, fabric.role, fabric.kind)
    for group in servers:
        yield format_servers_key(group.name), fabric.services[group.service].adapter
