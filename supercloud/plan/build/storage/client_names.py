"""Names of nodes on the network of a file system whose daemons are identified by the name of an interface.

Storage Scale identifies a node by the name of its daemon interface (NodeName of mmcrcluster and mmaddnode in IBM's
documentation). On clients as on servers it must be a name on the daemon network.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...model.plan import FabricPlan, Plan

__all__ = ["KINDS_WITH_NAMED_CLIENTS", "format_client_suffix", "iter_named_clients", "list_client_networks"]

KINDS_WITH_NAMED_CLIENTS = ("storage-scale",)
"""Products that identify clients by such names."""


def format_client_suffix(plan: Plan, index: int) -> str:
    """Suffix of a client's name for the store at ``index``; empty if its default name is used."""
    store = plan.storage[index]
    served = plan.networks.list_servers(store.fabric) if plan.networks and store.fabric else ()
    return f"-{store.fabric}" if served and store.kind in KINDS_WITH_NAMED_CLIENTS else ""


def iter_named_clients(plan: Plan) -> Iterator[tuple[str, str]]:
    """Name and address of all such clients on all such networks: the address of the first link."""
    wanted = list_client_networks(plan)
    for fabric in plan.fabrics:
        if fabric.name in wanted:
            yield from _iter_nodes(plan, fabric)


def list_client_networks(plan: Plan) -> list[str]:
    """The networks on which nodes have names, sorted."""
    stores = (store for index, store in enumerate(plan.storage) if store.servers and format_client_suffix(plan, index))
    return sorted({store.fabric for store in stores if store.fabric})


def _iter_nodes(plan: Plan, fabric: FabricPlan) -> Iterator[tuple[str, str]]:
    assert plan.networks is not None
    for links in plan.networks.list_pool_links(fabric.name):
        for number, name in enumerate(links.hosts):
            yield f"{name}-{fabric.name}", links.get_address(number)
