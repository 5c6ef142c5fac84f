"""Plan in, artefacts out: what a target makes of a plan, and which targets there are.

A target is a function ``render(plan) -> Bundle``. To add one, write its module (or folder) and give it a line in
``TARGETS``; where it does not fit every plan, also a line in ``_FITS``. Modules are imported when they are used.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from ..errors import InputError, UnknownName
from ..plan.model import Plan
from ..primitives.bundle import Bundle

__all__ = ["TARGETS", "render", "targets_for"]

TARGETS: dict[str, str] = {
    "slurm": "supercloud.targets.schedulers.slurm:render",
}

_FITS: dict[str, Callable[[Plan], bool]] = {
    "slurm": lambda plan: plan.scheduler.kind == "slurm",
}


def targets_for(plan: Plan) -> list[str]:
    """Names of the targets that have something to make of this plan."""
    return [name for name in TARGETS if name not in _FITS or _FITS[name](plan)]


def render(plan: Plan, target: str) -> Bundle:
    """What a target makes of a plan. A plan with errors is not rendered: they are raised, all at once."""
    if target not in TARGETS:
        raise UnknownName("target", target, TARGETS)
    if plan.errors:
        raise InputError(f"{plan.name} cannot be rendered: the plan has errors", plan.errors)
    if target not in targets_for(plan):
        raise InputError(f"{plan.name} has nothing for the target {target!r}; it has {', '.join(targets_for(plan))}")
    module, _, function = TARGETS[target].partition(":")
    return cast(Callable[[Plan], Bundle], getattr(import_module(module), function))(plan)
