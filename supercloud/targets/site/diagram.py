"""A picture of every fabric: switches or groups of them, tier by tier, with the cables between them counted."""

from __future__ import annotations

from ...plan.model.plan import Plan
from ...primitives.bundle import Bundle
from ..pictures import draw_fabric

__all__ = ["render"]


def render(plan: Plan) -> Bundle:
    """One SVG file for each fabric whose wires are ours."""
    drawn = {f"{fabric.name}.svg": draw_fabric(plan, fabric) for fabric in plan.fabrics}
    return Bundle({name: text for name, text in drawn.items() if text})
