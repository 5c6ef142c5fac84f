"""NFS: the server's exports, and the mounts of nodes and service hosts."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from ...primitives.addresses import Block
from ...primitives.bundle import File
from .store import StorageSystem

__all__ = ["render_files"]


def render_files(storage: StorageSystem) -> dict[str, File | str]:
    """Render exports and mounts of one file system."""
    values: dict[str, Any] = {
        "server": storage.format_host("nfs", 0),
        "networks": [str(block) for block in ipaddress.collapse_addresses(_iter_client_blocks(storage))],
    }
    return {
        "exports": storage.render_template("nfs-exports.j2", **values),
        "fstab": storage.render_template("nfs-fstab.j2", **values),
    }


def _iter_client_blocks(storage: StorageSystem) -> Iterator[Block]:
    """Yield the addresses of clients: nodes, and service hosts, as controllers and login hosts have the same home
    directories; over a fabric with separate addresses, the nodes' addresses there.
    """
    plan = storage.plan
    yield from (pool.addresses.block for pool in storage.clients)
    yield plan.network.management
    hosts = (*plan.scheduler.controllers, *((plan.scheduler.database,) if plan.scheduler.database else ()))
    for host in hosts:
        with suppress(ValueError):  # an address that is not IPv4 has a finding
            yield Block(host.address)
    if storage.host_suffix and plan.networks:
        yield from (
            item.block
            for item in plan.networks.subnets
            if item.role == "rail" and item.fabric == storage.storage_plan.fabric
        )
