"""Nodes that are reserved for tenants."""

from __future__ import annotations

from ..context import PlacementContext
from ..refusal import StepRefusal

__all__ = ["check_node_tenant"]


def check_node_tenant(context: PlacementContext) -> StepRefusal | None:
    """Check that nodes reserved for tenants are of the job's tenant, where no Slurm partition enforces it."""
    tenants = context.pool.tenants
    if context.plan.scheduler.kind != "slurm" and tenants and context.job.tenant not in tenants:
        return StepRefusal(
            f"its nodes are in the InfiniBand partition of tenant {' and '.join(tenants)}; only its jobs run there",
            f"set tenant to {tenants[0]}",
            {"tenant": tenants[0]},
        )
    return None
