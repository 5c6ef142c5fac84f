"""WEKA: backends and their containers, the cluster and its file system, clients; on Kubernetes the operator's objects.

Keys of the objects: github.com/weka/weka-operator, doc/cluster-provisioning.md and doc/api_dump/wekacluster.md.
"""

from __future__ import annotations

from typing import Any

from ...plan.model.storage import WekaDesign
from ...primitives.bundle import File
from .store import StorageSystem

__all__ = ["render_files"]


def render_files(storage: StorageSystem) -> dict[str, File | str]:
    """Render the files of backends and clients of one file system."""
    design = storage.storage_plan.design if isinstance(storage.storage_plan.design, WekaDesign) else None
    backends = storage.get_server_group("backend")
    values: dict[str, Any] = {
        "design": design,
        "backends": backends,
        "first": [storage.format_host("backend", index) for index in range(min(2, backends.count))],
        "suffix": storage.host_suffix,
        "client_cores": storage.storage_plan.client_cores,
        "most": _get_container_cores(design) if design else None,
    }
    found: dict[str, File | str] = {
        **_render_mount(storage, values),
        "sysctl.conf": storage.render_template("weka-sysctl.conf.j2", **values),
    }
    if design:
        found["backend.sh"] = storage.render_template("weka-backend.sh.j2", executable=True, **values)
        found["cluster.sh"] = storage.render_template("weka-cluster.sh.j2", executable=True, **values)
        if storage.plan.scheduler.kind == "kubernetes" and design.operator_image:
            found["operator.yaml"] = storage.render_template("weka-operator.yaml.j2", **values)
    return found


def _get_container_cores(design: WekaDesign) -> int:
    """Maximum number of cores of a container: without a limit of the product, all of the backend."""
    return design.container_cores or max(design.drive_cores, design.compute_cores or 1)


def _render_mount(storage: StorageSystem, values: dict[str, Any]) -> dict[str, File | str]:
    """Render the line of clients for /etc/fstab; under Slurm a script that prints it, with the cores reserved there."""
    if storage.plan.scheduler.kind == "slurm" and storage.interfaces.clients:
        skipped = sum(item.client_cores for item in storage.plan.storage[: storage.index])  # those of other clients
        script = storage.render_template("weka-client-fstab.sh.j2", executable=True, skipped=skipped, **values)
        return {"client-fstab.sh": script}
    return {"fstab": storage.render_template("weka-fstab.j2", **values)}
