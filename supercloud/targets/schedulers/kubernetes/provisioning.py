"""Capacity that starts on request: Kueue requests all nodes of a gang from the autoscaler before it starts the gang."""

from __future__ import annotations

from collections.abc import Iterator

from ....plan.build.kubernetes.growth import find_provisioning_class
from ....plan.model.plan import Plan, PoolPlan
from .accessors import require_kubernetes_plan
from .manifest import Object, build_object

__all__ = ["format_check_name", "build_objects", "list_queued_pools"]

_CONTROLLER = "kueue.x-k8s.io/provisioning-request"


def list_queued_pools(plan: Plan) -> list[PoolPlan]:
    """Return pools whose nodes are requested for each job: from a queue of the cloud, or from the autoscaler."""
    return [pool for pool in plan.pools if find_provisioning_class(plan, pool) is not None]


def format_check_name(pool: PoolPlan) -> str:
    """Return the name of the admission check of a pool's capacity."""
    return f"capacity-{pool.name}"


def build_objects(plan: Plan) -> Iterator[Object]:
    """The check and its configuration for each such pool."""
    kueue = require_kubernetes_plan(plan).kueue
    if kueue is None:
        return
    for pool in list_queued_pools(plan):
        resource = pool.accelerator.kubernetes if pool.accelerator else None
        most = getattr(pool.capacity[0], "max_run", None) if pool.capacity else None
        spec: Object = {"provisioningClassName": find_provisioning_class(plan, pool)}
        if resource:
            spec["managedResources"] = [resource]
        if most:
            spec["parameters"] = {"maxRunDurationSeconds": str(most.ceil("s"))}
        name = format_check_name(pool)
        yield build_object(f"kueue.x-k8s.io/{kueue.apis.provisioning}", "ProvisioningRequestConfig", name, spec=spec)
        yield build_object(
            f"kueue.x-k8s.io/{kueue.apis.queues}",
            "AdmissionCheck",
            name,
            spec={
                "controllerName": _CONTROLLER,
                "parameters": {"apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": name},
            },
        )
