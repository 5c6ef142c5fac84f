"""A picture of every fabric: switches or groups of them, tier by tier, with the cables between them counted."""

from ....plan.model import Plan
from ....primitives.bundle import Bundle
from .svg import diagram

__all__ = ["diagram", "render"]


def render(plan: Plan) -> Bundle:
    """One SVG file for each fabric with switches."""
    return Bundle({f"{fabric.name}.svg": diagram(plan, fabric) for fabric in plan.fabrics if fabric.tiers})
