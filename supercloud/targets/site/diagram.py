"""A picture of every fabric: switches or groups of switches by tier, with the number of cables between them."""

from __future__ import annotations

from ...plan.model.plan import Plan
from ...primitives.bundle import Bundle
from ..pictures import draw_fabric

__all__ = ["render"]


def render(plan: Plan) -> Bundle:
    """Render one SVG file for each fabric with planned cables."""
    drawn = {f"{fabric.name}.svg": draw_fabric(plan, fabric) for fabric in plan.fabrics}
    return Bundle({name: text for name, text in drawn.items() if text})
