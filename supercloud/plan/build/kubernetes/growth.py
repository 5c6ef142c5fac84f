"""Growth of pools of a managed Kubernetes: the autoscaler, and the requests with which jobs wait for nodes."""

from __future__ import annotations

from ....catalog.kubernetes_service import Autoscaler
from ...model.cloud import NodeGroup
from ...model.plan import Plan, PoolPlan

__all__ = ["find_autoscaler", "find_provisioning_class", "list_resized_groups"]


def find_autoscaler(plan: Plan) -> Autoscaler | None:
    """Return the autoscaler of the service; None if no pool can grow, or if the service resizes groups itself."""
    facts = plan.scheduler.kubernetes
    if facts is None or facts.service is None or not any(pool.can_grow for pool in plan.pools):
        return None
    return facts.service.autoscaler


def list_resized_groups(plan: Plan) -> list[NodeGroup]:
    """Return the groups that the autoscaler resizes: those of pools that can grow."""
    if find_autoscaler(plan) is None or plan.cloud is None:
        return []
    return [group for group in plan.cloud.groups if plan.get_pool(group.pool).can_grow]


def find_provisioning_class(plan: Plan, pool: PoolPlan) -> str | None:
    """Return the class of requests for all nodes of a job; None if the pool's nodes run already, or start one by one.

    Locality is assigned to nodes that exist: without a request no job that is larger than the running nodes would
    start.
    """
    facts = plan.scheduler.kubernetes
    if facts is None or facts.service is None:
        return None
    if pool.capacity and pool.capacity[0].kind == "flex-start":
        return facts.service.provisioning_class
    return facts.service.autoscaler.provisioning_class if facts.service.autoscaler and pool.can_grow else None
