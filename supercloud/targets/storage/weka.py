"""WEKA: backends and their containers, the cluster and its file system, clients; on Kubernetes the operator's objects.

Keys of the objects: github.com/weka/weka-operator, doc/cluster-provisioning.md and doc/api_dump/wekacluster.md.
"""

from __future__ import annotations

from typing import Any

from ...plan.model.storage import WekaDesign
from ...primitives.bundle import File
from .store import StorageSystem

__all__ = ["render_files"]

# Cores of a client that the mount reserves (NVIDIA's GPUDirect Storage guide shows 2).
_CLIENT_CORES = 2
# Maximum cores of one container (resources_generator.py of WEKA's tools, --max-cores-per-container).
_MAX_CONTAINER_CORES = 19


def render_files(storage: StorageSystem) -> dict[str, File | str]:
    """Render the files of backends and clients of one file system."""
    design = storage.storage_plan.design if isinstance(storage.storage_plan.design, WekaDesign) else None
    backends = storage.get_server_group("backend")
    values: dict[str, Any] = {
        "design": design,
        "backends": backends,
        "first": [storage.format_host("backend", index) for index in range(min(2, backends.count))],
        "suffix": storage.host_suffix,
        "client_cores": _CLIENT_CORES,
        "most": _MAX_CONTAINER_CORES,
    }
    found: dict[str, File | str] = {
        "fstab": storage.render_template("weka-fstab.j2", **values),
        "sysctl.conf": storage.render_template("weka-sysctl.conf.j2", **values),
    }
    if design:
        found["backend.sh"] = storage.render_template("weka-backend.sh.j2", executable=True, **values)
        found["cluster.sh"] = storage.render_template("weka-cluster.sh.j2", executable=True, **values)
        if storage.plan.scheduler.kind == "kubernetes":
            found["operator.yaml"] = storage.render_template("weka-operator.yaml.j2", **values)
    return found
