"""INSTALL.md: what is in the bundle, and in which order it is loaded."""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.model import Plan
from ....plan.network.model import Underlay
from ....primitives.templates import fill
from .nodes import are_rails_joined

__all__ = ["install_text"]


def install_text(plan: Plan, underlays: Sequence[Underlay]) -> str:
    """How to load what was rendered, and how to see that it works."""
    systems = [run.system for underlay in underlays for run in underlay.switches if run.system]
    loads = {system.dialect: system for system in systems}
    return fill("roce/INSTALL.md.j2", plan=plan, underlays=underlays, loads=dict(sorted(loads.items())),
                joined={underlay.fabric: are_rails_joined(underlay) for underlay in underlays})  # fmt: skip
