"""What every part of the Kubernetes target asks of a plan."""

from __future__ import annotations

from ....catalog.kubernetes import ControlPlane
from ....plan.build.kubernetes.labels import pool_labels, taints_of
from ....plan.model.kubernetes import KubernetesPlan
from ....plan.model.plan import Plan, PoolPlan
from ....spec.scheduler import KubernetesScheduler

__all__ = ["accelerated", "channel_classes", "claimed", "claimed_classes", "declared_of", "facts_of",
           "own_of", "pool_labels", "taints_of", "tenant_names", "tolerations_of"]  # fmt: skip


def facts_of(plan: Plan) -> KubernetesPlan:
    """Releases, charts and devices."""
    assert plan.scheduler.kubernetes is not None, "a plan without Kubernetes"
    return plan.scheduler.kubernetes


def own_of(plan: Plan) -> ControlPlane:
    """The control plane of a site that brings none itself."""
    own = facts_of(plan).control_plane
    assert own is not None, "a cloud runs its control plane itself"
    return own


def declared_of(plan: Plan) -> KubernetesScheduler:
    """The scheduler as declared."""
    declared = plan.scheduler.spec
    assert isinstance(declared, KubernetesScheduler), "a plan without Kubernetes"
    return declared


def tenant_names(plan: Plan) -> tuple[str | None, ...]:
    """All tenants; where there are none, nobody in particular."""
    return tuple(tenant.name for tenant in plan.tenants) or (None,)


def accelerated(plan: Plan, resource: str) -> tuple[PoolPlan, ...]:
    """The pools whose accelerators go by a resource name."""
    return tuple(pool for pool in plan.pools if pool.accelerator and pool.accelerator.kubernetes == resource)


def claimed(plan: Plan) -> bool:
    """Whether NVIDIA's GPUs are handed out by claims instead of the device plugin."""
    scheduler = plan.scheduler.spec
    return isinstance(scheduler, KubernetesScheduler) and scheduler.devices == "claims"


def has_host_driver(plan: Plan) -> bool:
    """Whether the driver of network adapters is the host's own.

    On own machines the interfaces' names, addresses and settings are made on the host. A container that loads another
    driver takes them away each time it starts, and brings no tools to set them with.
    """
    return plan.site.kind == "onprem"


def claimed_classes(plan: Plan) -> dict[str, list[str]]:
    """Resource -> device classes of pools whose accelerators are claimed: their quota is that of the resource."""
    facts = facts_of(plan)
    if not (claimed(plan) and facts.kueue and facts.kueue.abilities.claims):
        return {}
    found = {name: [device_class_of(pool) for pool in classed(plan, name)] for name in facts.stacks}
    return {name: classes for name, classes in found.items() if classes}


def classed(plan: Plan, resource: str) -> tuple[PoolPlan, ...]:
    """Pools with a device class of their own: what their accelerators report as their product is known."""
    stack = facts_of(plan).stacks[resource]
    pools = accelerated(plan, resource) if stack.driver and stack.product_attribute else ()
    return tuple(pool for pool in pools if pool.accelerator and pool.accelerator.product_names)


def device_class_of(pool: PoolPlan) -> str:
    """The class of a pool's whole accelerators."""
    return f"{pool.name}.supercloud.dev"


def channel_classes(plan: Plan) -> list[str]:
    """Device classes of channels that Kueue has to map to quota: else it admits no job that claims one."""
    facts = facts_of(plan)
    if not (facts.kueue and facts.kueue.abilities.claims and facts.release and facts.release.abilities.devices):
        return []
    known = {pool.accelerator.kubernetes for pool in plan.pools if pool.imex and pool.accelerator}
    return [stack.channel_class for name, stack in facts.stacks.items() if stack.channel_class and name in known]


def tolerations_of(plan: Plan, pool: PoolPlan) -> list[dict[str, str]]:
    """What lets a pod onto them nevertheless."""
    return [{"key": item["key"], "operator": "Exists", "effect": item["effect"]} for item in taints_of(plan, pool)]
