"""Checks of cloud sites."""

from __future__ import annotations

from . import (
    capacity,
    clashes,
    existing,
    fabric,
    fields,
    foreign,
    hosts,
    image_builds,
    metadata,
    mounts,
    network,
    own_parts,
    services,
    storage,
)

__all__ = ["CHECKS"]

CHECKS = (
    *capacity.CHECKS,
    *clashes.CHECKS,
    *existing.CHECKS,
    *fabric.CHECKS,
    *fields.CHECKS,
    *foreign.CHECKS,
    *hosts.CHECKS,
    *image_builds.CHECKS,
    *metadata.CHECKS,
    *mounts.CHECKS,
    *network.CHECKS,
    *own_parts.CHECKS,
    *services.CHECKS,
    *storage.CHECKS,
)
