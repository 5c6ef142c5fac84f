"""Paths of declared items in the spec, as findings name them."""

from __future__ import annotations

from ..model.plan import Plan, PoolPlan

__all__ = ["find_pool_path"]


def find_pool_path(plan: Plan, pool: PoolPlan) -> str:
    """Path of a pool in the spec: ``pools[0]``."""
    return f"pools[{next(index for index, item in enumerate(plan.spec.pools) if item.name == pool.name)}]"
