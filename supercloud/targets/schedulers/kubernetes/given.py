"""What every part of the Kubernetes target asks of a plan."""

from __future__ import annotations

from ....catalog.kubernetes import ControlPlane
from ....plan.build.kubernetes.labels import build_pool_labels, build_taints
from ....plan.model.kubernetes import KubernetesPlan
from ....plan.model.plan import Plan, PoolPlan
from ....spec.scheduler import KubernetesScheduler

__all__ = [
    "list_accelerator_pools",
    "list_channel_classes",
    "has_device_claims",
    "build_claimed_classes",
    "require_kubernetes_spec",
    "require_kubernetes_plan",
    "require_control_plane",
    "build_pool_labels",
    "build_taints",
    "list_tenant_names",
    "build_tolerations",
]


def require_kubernetes_plan(plan: Plan) -> KubernetesPlan:
    """Releases, charts and devices."""
    assert plan.scheduler.kubernetes is not None, "a plan without Kubernetes"
    return plan.scheduler.kubernetes


def require_control_plane(plan: Plan) -> ControlPlane:
    """The control plane of a site that brings none itself."""
    own = require_kubernetes_plan(plan).control_plane
    assert own is not None, "a cloud runs its control plane itself"
    return own


def require_kubernetes_spec(plan: Plan) -> KubernetesScheduler:
    """The scheduler as declared."""
    declared = plan.scheduler.spec
    assert isinstance(declared, KubernetesScheduler), "a plan without Kubernetes"
    return declared


def list_tenant_names(plan: Plan) -> tuple[str | None, ...]:
    """All tenants; where there are none, nobody in particular."""
    return tuple(tenant.name for tenant in plan.tenants) or (None,)


def list_accelerator_pools(plan: Plan, resource: str) -> tuple[PoolPlan, ...]:
    """The pools whose accelerators go by a resource name."""
    return tuple(pool for pool in plan.pools if pool.accelerator and pool.accelerator.kubernetes == resource)


def has_device_claims(plan: Plan) -> bool:
    """Whether NVIDIA's GPUs are handed out by claims instead of the device plugin."""
    scheduler = plan.scheduler.spec
    return isinstance(scheduler, KubernetesScheduler) and scheduler.devices == "claims"


def has_host_driver(plan: Plan) -> bool:
    """Whether the driver of network adapters is the host's own.

    On own machines the interfaces' names, addresses and settings are made on the host. A container that loads another
    driver takes them away each time it starts, and brings no tools to set them with.
    """
    return plan.site.kind == "onprem"


def build_claimed_classes(plan: Plan) -> dict[str, list[str]]:
    """Resource -> device classes of pools whose accelerators are claimed: their quota is that of the resource."""
    facts = require_kubernetes_plan(plan)
    if not (has_device_claims(plan) and facts.kueue and facts.kueue.abilities.claims):
        return {}
    found = {name: [format_device_class(pool) for pool in list_device_class_pools(plan, name)] for name in facts.stacks}
    return {name: classes for name, classes in found.items() if classes}


def list_device_class_pools(plan: Plan, resource: str) -> tuple[PoolPlan, ...]:
    """Pools with a device class of their own: what their accelerators report as their product is known."""
    stack = require_kubernetes_plan(plan).stacks[resource]
    pools = list_accelerator_pools(plan, resource) if stack.driver and stack.product_attribute else ()
    return tuple(pool for pool in pools if pool.accelerator and pool.accelerator.product_names)


def format_device_class(pool: PoolPlan) -> str:
    """The class of a pool's whole accelerators."""
    return f"{pool.name}.supercloud.dev"


def list_channel_classes(plan: Plan) -> list[str]:
    """Device classes of channels that Kueue has to map to quota: else it admits no job that claims one."""
    facts = require_kubernetes_plan(plan)
    if not (facts.kueue and facts.kueue.abilities.claims and facts.release and facts.release.abilities.devices):
        return []
    known = {pool.accelerator.kubernetes for pool in plan.pools if pool.has_imex and pool.accelerator}
    return [stack.channel_class for name, stack in facts.stacks.items() if stack.channel_class and name in known]


def build_tolerations(plan: Plan, pool: PoolPlan) -> list[dict[str, str]]:
    """What lets a pod onto them nevertheless."""
    return [{"key": item["key"], "operator": "Exists", "effect": item["effect"]} for item in build_taints(plan, pool)]
