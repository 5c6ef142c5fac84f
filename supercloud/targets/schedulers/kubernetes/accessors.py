"""Accessors of the plan for all modules of the Kubernetes target."""

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
    """Return releases, charts and devices."""
    assert plan.scheduler.kubernetes is not None, "a plan without Kubernetes"
    return plan.scheduler.kubernetes


def require_control_plane(plan: Plan) -> ControlPlane:
    """Return the control plane of a site without a managed one."""
    own = require_kubernetes_plan(plan).control_plane
    assert own is not None, "a cloud runs its control plane itself"
    return own


def require_kubernetes_spec(plan: Plan) -> KubernetesScheduler:
    """The scheduler as declared."""
    declared = plan.scheduler.settings
    assert isinstance(declared, KubernetesScheduler), "a plan without Kubernetes"
    return declared


def list_tenant_names(plan: Plan) -> tuple[str | None, ...]:
    """Return the names of all tenants; (None,) if there are none."""
    return tuple(tenant.name for tenant in plan.tenants) or (None,)


def list_accelerator_pools(plan: Plan, resource: str) -> tuple[PoolPlan, ...]:
    """Return the pools whose accelerators have a resource name."""
    return tuple(pool for pool in plan.pools if pool.accelerator and pool.accelerator.kubernetes == resource)


def has_device_claims(plan: Plan) -> bool:
    """Whether NVIDIA's GPUs are allocated by claims instead of the device plugin."""
    scheduler = plan.scheduler.settings
    return isinstance(scheduler, KubernetesScheduler) and scheduler.devices == "claims"


def has_host_driver(plan: Plan) -> bool:
    """Whether the host provides the driver of network adapters.

    On-prem, the interfaces' names, addresses and settings are configured on the host. A container that loads another
    driver removes them each time it starts, and has no tools to configure them.
    """
    return plan.site.kind == "onprem"


def build_claimed_classes(plan: Plan) -> dict[str, list[str]]:
    """Resource -> device classes of pools whose accelerators are claimed: they count against the resource's quota."""
    facts = require_kubernetes_plan(plan)
    if not (has_device_claims(plan) and facts.kueue and facts.kueue.abilities.claims):
        return {}
    found = {name: [format_device_class(pool) for pool in list_device_class_pools(plan, name)] for name in facts.stacks}
    return {name: classes for name, classes in found.items() if classes}


def list_device_class_pools(plan: Plan, resource: str) -> tuple[PoolPlan, ...]:
    """Return pools with a separate device class: the product name that their accelerators report is known."""
    stack = require_kubernetes_plan(plan).stacks[resource]
    pools = list_accelerator_pools(plan, resource) if stack.driver and stack.product_attribute else ()
    return tuple(pool for pool in pools if pool.accelerator and pool.accelerator.product_names)


def format_device_class(pool: PoolPlan) -> str:
    """Return the name of the class of a pool's whole accelerators."""
    return f"{pool.name}.supercloud.dev"


def list_channel_classes(plan: Plan) -> list[str]:
    """Return device classes of channels that Kueue must map to quota: else it admits no job that claims one."""
    facts = require_kubernetes_plan(plan)
    if not (facts.kueue and facts.kueue.abilities.claims and facts.release and facts.release.abilities.devices):
        return []
    known = {pool.accelerator.kubernetes for pool in plan.pools if pool.has_imex and pool.accelerator}
    return [stack.channel_class for name, stack in facts.stacks.items() if stack.channel_class and name in known]


def build_tolerations(plan: Plan, pool: PoolPlan) -> list[dict[str, str]]:
    """Build the tolerations of the pool's taints."""
    return [{"key": item["key"], "operator": "Exists", "effect": item["effect"]} for item in build_taints(plan, pool)]
