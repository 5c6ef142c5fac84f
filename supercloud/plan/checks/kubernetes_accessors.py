"""Accessors of the parts of a plan that checks of Kubernetes read."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog.kubernetes_parts import DeviceStack
from ..model.kubernetes import KubernetesPlan
from ..model.plan import Plan, PoolPlan

__all__ = ["find_device_stack", "iter_kubernetes_plans"]


def iter_kubernetes_plans(plan: Plan) -> Iterator[KubernetesPlan]:
    """The Kubernetes plan, if Kubernetes is the scheduler."""
    if plan.scheduler.kubernetes:
        yield plan.scheduler.kubernetes


def find_device_stack(facts: KubernetesPlan, pool: PoolPlan) -> DeviceStack | None:
    """The software that exposes the accelerators of a pool; None without accelerators, and if it is unknown."""
    return facts.stacks.get(pool.accelerator.kubernetes or "") if pool.accelerator else None
