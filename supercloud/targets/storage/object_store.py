"""Object store: the settings of a distributed MinIO; other products read the same facts off INSTALL.md.

Keys: docs.min.io, reference of the server; the unit is that of github.com/minio/minio-service.
"""

from __future__ import annotations

from ...plan.model.storage import ShardDesign
from ...primitives.bundle import File
from .store import Store

__all__ = ["files"]


def files(store: Store) -> dict[str, File | str]:
    """The settings of its servers."""
    design = store.item.design
    if not isinstance(design, ShardDesign):
        return {}
    hosts = store.group("object").hosts
    span = f"{hosts.prefix}{{{hosts.first:0{hosts.width}d}...{hosts.last:0{hosts.width}d}}}"
    return {"minio": store.fill("object-minio.j2", design=design, span=span)}
