"""Object store: the settings of a distributed MinIO; for other products see the facts in INSTALL.md.

Keys: docs.min.io, reference of the server; the unit is that of github.com/minio/minio-service.
"""

from __future__ import annotations

from ...plan.model.storage import ShardDesign
from ...primitives.bundle import File
from .store import StorageSystem

__all__ = ["render_files"]


def render_files(storage: StorageSystem) -> dict[str, File | str]:
    """Render the settings of its servers."""
    design = storage.storage_plan.design
    if not isinstance(design, ShardDesign):
        return {}
    hosts = storage.get_server_group("object").hosts
    span = f"{hosts.prefix}{{{hosts.first:0{hosts.width}d}...{hosts.last:0{hosts.width}d}}}"
    return {"minio": storage.render_template("object-minio.j2", design=design, span=span)}
