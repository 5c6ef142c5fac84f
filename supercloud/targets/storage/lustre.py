"""Lustre: LNet, targets formatted and mounted on the servers, mounts, tuning and file layouts of the clients.

mkfs.lustre: wiki.lustre.org, «Creating Lustre Object Storage Services», «Creating the Lustre Metadata Service».
"""

from __future__ import annotations

import re
from typing import Any

from ...plan.model.storage import LustreDesign
from ...primitives.bundle import File
from .store import Store

__all__ = ["files"]

# Lustre takes names of at most 8 letters (mkfs.lustre(8)).
_NAME = 8
# MiB of a read or write request: the most that a target takes, by default it takes less (Lustre manual, Large Bulk IO).
_REQUEST = 16


def files(store: Store) -> dict[str, File | str]:
    """What servers and clients of one file system need."""
    net = "o2ib0" if store.item.fabric and store.kind in ("infiniband", "roce") else "tcp0"
    design = store.item.design if isinstance(store.item.design, LustreDesign) else None
    managers = [f"{store.host('mds', index)}@{net}" for index in range(min(2, store.group("mds").count))]
    values: dict[str, Any] = {
        "net": net,
        "fsname": re.sub(r"[^a-z0-9_]", "", store.item.name)[:_NAME],
        "managers": managers,
        "design": design,
        "mds": store.group("mds"),
        "oss": store.group("oss"),
        "suffix": store.suffix,
        "rpc": _REQUEST,
        "wide": min(4, design.targets) if design else 1,
    }
    found: dict[str, File | str] = {
        "lnet.conf": store.fill("lustre-lnet.conf.j2", **values),
        "fstab": store.fill("lustre-fstab.j2", **values),
        "client-tuning.sh": store.fill("lustre-client-tuning.sh.j2", executable=True, **values),
        "layout.sh": store.fill("lustre-layout.sh.j2", executable=True, **values),
    }
    if design:
        found["format.sh"] = store.fill("lustre-format.sh.j2", executable=True, **values)
        found["mount-targets.sh"] = store.fill("lustre-mount-targets.sh.j2", executable=True, **values)
    return found
