"""A cloud's file systems and buckets as volumes, one for each tenant, bound to its claim by name.

Identifiers exist only when the storage does. They stand in one file, ``handles.yaml``, which is filled in from the
stack's outputs; kustomize puts them into the volumes and leaves the file itself out of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog.kubernetes_parts import VolumeDriver
from ....plan.build.kubernetes.names import format_claim_name, format_namespace_name
from ....plan.model.cloud import CloudStorage
from ....plan.model.plan import Plan
from .given import list_tenant_names, require_kubernetes_plan
from .manifest import Object, build_object

__all__ = ["build_files", "build_replacements"]

_HANDLES_CONFIG_MAP = "storage-handles"
# Large enough for any file system: drivers of what exists already do not look at it.
_VOLUME_SIZE = "1Pi"
_UNKNOWN_HANDLE = "unknown"


def _list_mountable_storage(plan: Plan) -> list[tuple[CloudStorage, VolumeDriver]]:
    """What the provider runs and Kubernetes can mount."""
    drivers = require_kubernetes_plan(plan).volumes
    return [(item, drivers[item.kind]) for item in (plan.cloud.storage if plan.cloud else ()) if item.kind in drivers]


def build_files(plan: Plan) -> dict[str, list[Object]]:
    """The file to fill in, and the volumes; empty on-prem and without storage."""
    known = _list_mountable_storage(plan)
    if not known:
        return {}
    data = {
        f"{item.name}.{field}": _select_initial_value(plan, driver, field)
        for item, driver in known
        for field in _list_handle_fields(driver)
    }
    words = {
        f"{item.name}.{field}": what for item, driver in known for field, what in _list_handle_fields(driver).items()
    }
    handles = build_object(
        "v1",
        "ConfigMap",
        _HANDLES_CONFIG_MAP,
        "default",
        data=data,
        annotations={
            "config.kubernetes.io/local-config": "true",
            **{f"supercloud.dev/{key}": what for key, what in words.items()},
        },
    )
    return {
        "handles": [handles],
        "volumes": [part for item, driver in known for part in _build_volumes(plan, item, driver)],
    }


def _list_handle_fields(driver: VolumeDriver) -> dict[str, str]:
    """What has to be filled in, and what each is."""
    return ({"handle": driver.handle} if driver.handle else {}) | dict(driver.attributes)


def _select_initial_value(plan: Plan, driver: VolumeDriver, field: str) -> str:
    """What stands there before anybody knows: an export's root is the usual one, for a path must be one."""
    if driver.driver is None and field == driver.subfolder:
        return "" if plan.tenants else "/"
    return _UNKNOWN_HANDLE


def _format_volume_name(storage: CloudStorage, tenant: str | None) -> str:
    return f"{format_namespace_name(tenant)}-{format_claim_name(storage.name)}"


def _build_volumes(plan: Plan, storage: CloudStorage, driver: VolumeDriver) -> Iterator[Object]:
    for tenant in list_tenant_names(plan):
        name, claim, namespace = (
            _format_volume_name(storage, tenant),
            format_claim_name(storage.name),
            format_namespace_name(tenant),
        )
        # the part before the slash is filled in, the tenant's folder stays
        fields = {field: _select_initial_value(plan, driver, field) for field in driver.attributes}
        if driver.subfolder and tenant:
            fields[driver.subfolder] += f"/{tenant}"
        source: Object = {"nfs": fields}
        if driver.driver:
            handle = _UNKNOWN_HANDLE if driver.handle else name
            source = {"csi": {"driver": driver.driver, "volumeHandle": handle, "volumeAttributes": fields}}
        options = [text.format(tenant=tenant or "") for text in driver.options if tenant or "{tenant}" not in text]
        yield build_object(
            "v1",
            "PersistentVolume",
            name,
            spec={
                "capacity": {"storage": _VOLUME_SIZE},
                "accessModes": ["ReadWriteMany"],
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
                **({"mountOptions": options} if options else {}),
                "claimRef": {"namespace": namespace, "name": claim},
                **source,
            },
        )
        yield build_object(
            "v1",
            "PersistentVolumeClaim",
            claim,
            namespace,
            spec={
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": _VOLUME_SIZE}},
                "storageClassName": "",
                "volumeName": name,
            },
        )


def build_replacements(plan: Plan) -> list[Object]:
    """Where each identifier goes."""
    found: list[Object] = []
    for item, driver in _list_mountable_storage(plan):
        where = {"handle": "spec.csi.volumeHandle"} if driver.handle else {}
        root = "spec.csi.volumeAttributes" if driver.driver else "spec.nfs"
        where |= {field: f"{root}.{field}" for field in driver.attributes}
        for field, path in where.items():
            part = {"options": {"delimiter": "/", "index": 0}} if field == driver.subfolder and plan.tenants else {}
            found.append(
                {
                    "source": {
                        "kind": "ConfigMap",
                        "name": _HANDLES_CONFIG_MAP,
                        "fieldPath": f"data.[{item.name}.{field}]",
                    },
                    "targets": [
                        {
                            "select": {"kind": "PersistentVolume", "name": _format_volume_name(item, tenant)},
                            "fieldPaths": [path],
                            **part,
                        }
                        for tenant in list_tenant_names(plan)
                    ],
                }
            )
    return found
