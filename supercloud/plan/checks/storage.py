"""Checks of storage."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..model import Plan


def storage_mount(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Two things mounted at one place, or one inside the other."""
    seen: dict[str, str] = {}
    for index, item in enumerate(plan.storage):
        mount = item.mount.rstrip("/") or "/" if item.mount else None
        if mount is None:
            continue
        for other, name in seen.items():
            if mount == other or mount.startswith(f"{other}/") or other.startswith(f"{mount}/"):
                yield Finding(
                    "storage-mount",
                    "error" if mount == other else "warning",
                    f"storage[{index}].mount",
                    f"{mount} and {other} of {name} are one inside the other",
                    "mount them side by side",
                )
        seen[mount] = item.name


def storage_throughput_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A file system for accelerators without any throughput asked for."""
    for index, item in enumerate(plan.storage):
        if item.kind != "object" and item.read is None and item.write is None and plan.accelerators:
            yield Finding(
                "storage-throughput-unknown",
                "note",
                f"storage[{index}]",
                f"{item.name} says nothing of throughput",
                "set tier: good, better or best, or throughput: {read: …, write: …}",
            )
