"""Power drawn by the part of the machines that a job occupies."""

from __future__ import annotations

from ...plan.model.plan import Plan
from .answer import Placement

__all__ = ["compute_power_draw"]


def compute_power_draw(plan: Plan, placement: Placement) -> float | None:
    """Full power, by its share of the accelerators of its nodes; None if the machine's power is unknown.

    A job without accelerators is counted as its nodes: the part of them that it takes is decided by its engine.
    """
    pool = plan.get_pool(placement.pool)
    if pool.machine.power is None:
        return None
    share = 1.0
    if placement.accelerators_per_node and placement.node_accelerators and not placement.slice:
        share = placement.accelerators_per_node / placement.node_accelerators
    elif placement.slice:
        return None
    return placement.nodes * share * pool.machine.power.to("W")
