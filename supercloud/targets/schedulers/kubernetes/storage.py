"""On-prem file systems as volumes: one for each tenant and file system, bound to the tenant's claim by name.

The hosts mount them (see the storage target), and a tenant sees its own directory. If the product's driver is known,
a separate storage class provisions further volumes on demand, for the administrator: tenants cannot create claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ....plan.build.kubernetes.labels import is_mounted
from ....plan.build.kubernetes.names import format_claim_name, format_mount_label, format_namespace_name
from ....plan.build.storage.clients import list_unreached_pools
from ....plan.model.plan import Plan, StoragePlan
from ....primitives.quantity import Size
from .accessors import list_tenant_names, require_kubernetes_plan
from .manifest import Object, build_object

__all__ = ["list_mounted_storage", "build_objects", "list_partly_mounted"]

_DEFAULT_SIZE = Size("1 TiB")


def list_mounted_storage(plan: Plan) -> list[StoragePlan]:
    """Return the storage that nodes mount as a directory."""
    return [item for item in plan.storage if is_mounted(item)]


def list_partly_mounted(plan: Plan) -> dict[str, str]:
    """Return file systems that only some nodes mount -> the label of those nodes."""
    return {
        item.name: format_mount_label(item.name)
        for index, item in enumerate(plan.storage)
        if is_mounted(item) and list_unreached_pools(plan, index)
    }


def build_objects(plan: Plan) -> Iterator[Object]:
    """Yield a class without provisioner, then a volume and its claim for each tenant; object stores as settings."""
    if plan.site.kind != "onprem":
        return
    for item in list_mounted_storage(plan):
        # expansion: without it the API server rejects larger claims when the store grows
        yield build_object(
            "storage.k8s.io/v1",
            "StorageClass",
            format_claim_name(item.name),
            provisioner="kubernetes.io/no-provisioner",
            reclaimPolicy="Retain",
            volumeBindingMode="Immediate",
            allowVolumeExpansion=True,
        )
        if driver := require_kubernetes_plan(plan).volumes.get(item.kind):
            parameters = {key: value.format(storage=item.name) for key, value in driver.parameters.items()}
            yield build_object(
                "storage.k8s.io/v1",
                "StorageClass",
                f"{format_claim_name(item.name)}-on-demand",
                provisioner=driver.driver,
                parameters=parameters,
                reclaimPolicy="Delete",
                volumeBindingMode="Immediate",
                allowVolumeExpansion=True,
            )
        for tenant in list_tenant_names(plan):
            yield from _build_volume(item, tenant)
    for item in plan.storage:
        if item.kind == "object":
            for tenant in list_tenant_names(plan):
                yield _build_bucket_settings(plan, item, tenant)


def _build_node_affinity(item: StoragePlan) -> dict[str, Any]:
    """Return the node affinity of a volume: on nodes that do not mount it, a pod would write to the local disk.

    It is immutable in the API server, so that it uses a label and not the pools, which change with the cluster.
    """
    match = {"key": format_mount_label(item.name), "operator": "In", "values": ["true"]}
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [match]}]}}}


def _build_volume(storage: StoragePlan, tenant: str | None) -> Iterator[Object]:
    claim, namespace = format_claim_name(storage.name), format_namespace_name(tenant)
    size = f"{(storage.capacity or _DEFAULT_SIZE).floor('GiB')}Gi"
    mount = storage.mount or f"/{storage.name}"
    path = f"{mount}/{tenant}" if tenant else mount
    yield build_object(
        "v1",
        "PersistentVolume",
        f"{namespace}-{claim}",
        spec={
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": claim,
            "claimRef": {"namespace": namespace, "name": claim},
            # the kubelet must not create it: where the file system is not mounted, pods would write to the root disk
            "hostPath": {"path": path, "type": "Directory"},
        }
        | _build_node_affinity(storage),
    )
    yield build_object(
        "v1",
        "PersistentVolumeClaim",
        claim,
        namespace,
        spec={
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": size}},
            "storageClassName": claim,
            "volumeName": f"{namespace}-{claim}",
        },
    )


def _build_bucket_settings(plan: Plan, storage: StoragePlan, tenant: str | None) -> Object:
    """Build the endpoint of the store and the tenant's bucket; the keys are in a Secret of the tenant."""
    group = storage.servers[0] if storage.servers else None
    host = f"{next(iter(group.hosts))}.{plan.network.domain}" if group else f"{storage.name}.{plan.network.domain}"
    return build_object(
        "v1",
        "ConfigMap",
        f"object-{storage.name}",
        format_namespace_name(tenant),
        data={
            "AWS_ENDPOINT_URL": f"https://{host}:9000",
            "BUCKET": f"{plan.name}-{storage.name}-{tenant}" if tenant else f"{plan.name}-{storage.name}",
        },
    )
