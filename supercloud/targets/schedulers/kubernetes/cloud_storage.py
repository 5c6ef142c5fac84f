"""A cloud's file systems and buckets as volumes, one for each tenant, bound to its claim by name.

Identifiers exist only after the storage is created. They are in one file, ``handles.yaml``, to be filled in from the
stack's outputs; kustomize copies them to the volumes and does not apply the file itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog.kubernetes_parts import VolumeDriver
from ....plan.build.kubernetes.names import format_claim_name, format_namespace_name
from ....plan.model.cloud import CloudStorage
from ....plan.model.plan import Plan
from .accessors import list_tenant_names, require_kubernetes_plan
from .manifest import Object, build_object

__all__ = ["build_files", "build_replacements"]

_HANDLES_CONFIG_MAP = "storage-handles"
# Large enough for any file system: drivers ignore the size of existing volumes.
_VOLUME_SIZE = "1Pi"
_UNKNOWN_HANDLE = "unknown"


def _list_mountable_storage(plan: Plan) -> list[tuple[CloudStorage, VolumeDriver]]:
    """Return the provider's storage that Kubernetes can mount."""
    drivers = require_kubernetes_plan(plan).volumes
    return [(item, drivers[item.kind]) for item in (plan.cloud.storage if plan.cloud else ()) if item.kind in drivers]


def build_files(plan: Plan) -> dict[str, list[Object]]:
    """Build the file to fill in, and the volumes; empty on-prem and without storage."""
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
    """Return the fields to fill in, with their descriptions."""
    return ({"handle": driver.handle} if driver.handle else {}) | dict(driver.attributes)


def _select_initial_value(plan: Plan, driver: VolumeDriver, field: str) -> str:
    """Return the initial value of a field: for an export the usual root, as it must be a valid path."""
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
        # the part before the slash is replaced, the tenant's directory is kept
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
    """Build the kustomize replacements that copy each identifier."""
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
