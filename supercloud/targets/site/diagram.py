"""A picture of every fabric: switches or groups of them, tier by tier, with the cables between them counted."""

from __future__ import annotations

from ...plan.model.plan import Plan
from ...primitives.bundle import Bundle
from ..pictures import diagram

__all__ = ["render"]


def render(plan: Plan) -> Bundle:
    """One SVG file for each fabric whose wires are ours."""
    drawn = {f"{fabric.name}.svg": diagram(plan, fabric) for fabric in plan.fabrics}
    return Bundle({name: text for name, text in drawn.items() if text})
