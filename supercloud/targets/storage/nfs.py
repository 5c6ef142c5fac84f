"""NFS: what the server exports, and how nodes mount it."""

from __future__ import annotations

from typing import Any

from ...primitives.bundle import File
from .store import Store

__all__ = ["files"]


def files(store: Store) -> dict[str, File | str]:
    """Exports and mounts of one file system."""
    values: dict[str, Any] = {
        "server": store.host("nfs", 0),
        "networks": [str(pool.addresses.block) for pool in store.plan.pools],
    }
    return {"exports": store.fill("nfs-exports.j2", **values), "fstab": store.fill("nfs-fstab.j2", **values)}
