"""Lustre: LNet, targets formatted and mounted on the servers, mounts, tuning and file layouts of the clients.

mkfs.lustre: wiki.lustre.org, «Creating Lustre Object Storage Services», «Creating the Lustre Metadata Service».
"""

from __future__ import annotations

import re
from typing import Any

from ...plan.model.storage import LustreDesign
from ...primitives.bundle import File
from .store import StorageSystem

__all__ = ["render_files"]

# Lustre accepts names of at most 8 characters (mkfs.lustre(8)).
_MAX_NAME_LENGTH = 8
# MiB of a read or write request: the maximum of a target, whose default is lower (Lustre manual, Large Bulk IO).
_REQUEST_MIB = 16


def render_files(storage: StorageSystem) -> dict[str, File | str]:
    """Render the files of servers and clients of one file system."""
    net = "o2ib0" if storage.storage_plan.fabric and storage.fabric_kind in ("infiniband", "roce") else "tcp0"
    design = storage.storage_plan.design if isinstance(storage.storage_plan.design, LustreDesign) else None
    managers = [
        f"{storage.format_host('mds', index)}@{net}" for index in range(min(2, storage.get_server_group("mds").count))
    ]
    values: dict[str, Any] = {
        "net": net,
        "fsname": re.sub(r"[^a-z0-9_]", "", storage.storage_plan.name)[:_MAX_NAME_LENGTH],
        "managers": managers,
        "design": design,
        "mds": storage.get_server_group("mds"),
        "oss": storage.get_server_group("oss"),
        "suffix": storage.host_suffix,
        "rpc": _REQUEST_MIB,
        "wide": min(4, design.targets) if design else 1,
    }
    found: dict[str, File | str] = {
        **_render_lnet_files(storage, net),
        "fstab": storage.render_template("lustre-fstab.j2", **values),
        "client-tuning.sh": storage.render_template("lustre-client-tuning.sh.j2", executable=True, **values),
        "layout.sh": storage.render_template("lustre-layout.sh.j2", executable=True, **values),
    }
    if design:
        found["format.sh"] = storage.render_template("lustre-format.sh.j2", executable=True, **values)
        found["mount-targets.sh"] = storage.render_template("lustre-mount-targets.sh.j2", executable=True, **values)
    return found


def _render_lnet_files(storage: StorageSystem, net: str) -> dict[str, File | str]:
    """Render LNet's networks, with separate files for servers if clients have other interfaces: LNet does not start
    with an interface that the host lacks, and does not use one that is not listed.
    """
    item, found = storage.storage_plan, storage.interfaces

    def render_file(names: tuple[str, ...], hosts: str) -> File:
        return storage.render_template("lustre-lnet.conf.j2", net=net, names=names, hosts=hosts)

    if found.is_uniform:
        return {"lnet.conf": render_file(found.clients, f"servers and clients of {item.name}")}
    files: dict[str, File | str] = {"lnet.conf": render_file(found.clients, f"clients of {item.name}")}
    for group in item.servers:
        files[f"lnet-{group.role}.conf"] = render_file(found.servers[group.role], str(group.hosts))
    return files
