"""WEKA: backends and their containers, the cluster and its file system, clients; on Kubernetes the operator's objects.

Keys of the objects: github.com/weka/weka-operator, doc/cluster-provisioning.md and doc/api_dump/wekacluster.md.
"""

from __future__ import annotations

from typing import Any

from ...plan.model.storage import WekaDesign
from ...primitives.bundle import File
from .store import Store

__all__ = ["files"]

# Processors of a client that the mount takes for itself (NVIDIA's GPUDirect Storage guide shows 2).
_CLIENT_CORES = 2
# Cores of one container at most (resources_generator.py of WEKA's tools, --max-cores-per-container).
_CONTAINER_CORES = 19


def files(store: Store) -> dict[str, File | str]:
    """What backends and clients of one file system need."""
    design = store.item.design if isinstance(store.item.design, WekaDesign) else None
    backends = store.group("backend")
    values: dict[str, Any] = {
        "design": design,
        "backends": backends,
        "first": [store.host("backend", index) for index in range(min(2, backends.count))],
        "suffix": store.suffix,
        "client_cores": _CLIENT_CORES,
        "most": _CONTAINER_CORES,
    }
    found: dict[str, File | str] = {
        "fstab": store.fill("weka-fstab.j2", **values),
        "sysctl.conf": store.fill("weka-sysctl.conf.j2", **values),
    }
    if design:
        found["backend.sh"] = store.fill("weka-backend.sh.j2", executable=True, **values)
        found["cluster.sh"] = store.fill("weka-cluster.sh.j2", executable=True, **values)
        if store.plan.scheduler.kind == "kubernetes":
            found["operator.yaml"] = store.fill("weka-operator.yaml.j2", **values)
    return found
