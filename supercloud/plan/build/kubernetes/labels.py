"""Labels and taints of a pool's nodes in Kubernetes: the creator of the nodes sets them, the bundle relies on them."""

from __future__ import annotations

from ...model.plan import Plan, PoolPlan, StoragePlan
from ..storage.clients import is_client
from .names import ACCELERATOR_LABEL, POOL_LABEL, format_mount_label

__all__ = ["FEATURE_PREFIX", "MACHINE_LABEL", "is_mounted", "build_pool_labels", "build_taints", "list_weka_stores"]

MACHINE_LABEL = "supercloud.dev/machine"
"""Node label: the catalog's name of its machine."""
FEATURE_PREFIX = "feature.supercloud.dev/"
"""Prefix of the node label for each feature of its pool."""


def build_pool_labels(plan: Plan, pool: PoolPlan) -> dict[str, str]:
    """Labels that all nodes of a pool have in common.

    The location of a node has separate labels: on-prem those of the wiring, in a cloud those of the provider.
    """
    labels = {POOL_LABEL: pool.name, MACHINE_LABEL: pool.machine.name}
    if pool.accelerator:
        labels[ACCELERATOR_LABEL] = pool.accelerator.name
        if pool.slicing and pool.slicing.mig:
            labels["nvidia.com/mig.config"] = pool.name
        if pool.slicing and pool.slicing.shards:
            labels["nvidia.com/device-plugin.config"] = pool.name
    declared = next(item for item in plan.spec.pools if item.name == pool.name)
    return (
        labels | {f"{FEATURE_PREFIX}{name}": "true" for name in sorted(declared.features)} | _mount_labels(plan, pool)
    )


def _mount_labels(plan: Plan, pool: PoolPlan) -> dict[str, str]:
    """Labels of the file systems that the nodes mount. An unmounted file system has a value, too, as no component
    removes a label from a node whose pool no longer reaches it.
    """
    if plan.site.kind != "onprem":
        return {}
    return {
        format_mount_label(item.name): str(is_client(plan, index, pool)).lower()
        for index, item in enumerate(plan.storage)
        if is_mounted(item)
    }


def is_mounted(storage: StoragePlan) -> bool:
    """Whether nodes mount it as a directory."""
    return bool(storage.mount) and storage.kind != "object"


def list_weka_stores(plan: Plan) -> list[int]:
    """Indices of the WEKA file systems in the plan: one provisioner of volumes serves all of them."""
    return [index for index, item in enumerate(plan.storage) if item.kind == "weka" and is_mounted(item)]


def build_taints(plan: Plan, pool: PoolPlan) -> list[dict[str, str]]:
    """Taint that keeps pods without accelerators off nodes that have them: key, value and effect."""
    facts = plan.scheduler.kubernetes
    resource = pool.accelerator.kubernetes if pool.accelerator else None
    stack = facts.stacks.get(resource) if facts and resource else None
    return [{"key": stack.taint, "value": "present", "effect": "NoSchedule"}] if stack and stack.taint else []
