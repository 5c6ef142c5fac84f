"""NFS: what the server exports, and how nodes and service hosts mount it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ...primitives.addresses import Block
from ...primitives.bundle import File
from .store import Store

__all__ = ["files"]


def files(store: Store) -> dict[str, File | str]:
    """Exports and mounts of one file system."""
    values: dict[str, Any] = {
        "server": store.host("nfs", 0),
        "networks": [str(block) for block in ipaddress.collapse_addresses(_clients(store))],
    }
    return {"exports": store.fill("nfs-exports.j2", **values), "fstab": store.fill("nfs-fstab.j2", **values)}


def _clients(store: Store) -> Iterator[Block]:
    """Addresses that clients come from: nodes, and the service hosts, as controllers and login hosts have the same
    home directories; over a fabric with addresses of its own, the nodes' addresses there."""
    plan = store.plan
    yield from (pool.addresses.block for pool in store.clients)
    yield plan.network.management
    hosts = (*plan.scheduler.controllers, *((plan.scheduler.database,) if plan.scheduler.database else ()))
    for host in hosts:
        with suppress(ValueError):  # an address that is not one of IPv4 has a finding
            yield Block(host.address)
    if store.suffix and plan.networks:
        yield from (item.block for item in plan.networks.subnets
                    if item.role == "rail" and item.fabric == store.item.fabric)  # fmt: skip
