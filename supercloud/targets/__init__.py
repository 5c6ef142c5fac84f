"""The targets, which render a plan as files.

A target is a function ``render(plan) -> Bundle``. To add one, write its module (or folder) and add it to ``TARGETS``;
if it does not apply to every plan, also to ``_CONDITIONS``. A target in ``schedulers/`` applies to plans with the
scheduler of its name. Modules are imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from ..errors import InputError, UnknownNameError, require_type
from ..plan.build.fabric.roles import is_routed
from ..plan.model.plan import Plan
from ..primitives.bundle import Bundle

__all__ = ["TARGETS", "render", "list_targets"]

TARGETS: dict[str, str] = {
    "bom": "supercloud.targets.site.bom:render",
    "boot": "supercloud.targets.boot:render",
    "cabling": "supercloud.targets.site.cabling:render",
    "diagram": "supercloud.targets.site.diagram:render",
    "ethernet": "supercloud.targets.site.ethernet:render",
    "hosts": "supercloud.targets.site.hosts:render",
    "images": "supercloud.targets.images:render",
    "infiniband": "supercloud.targets.site.infiniband:render",
    "kubernetes": "supercloud.targets.schedulers.kubernetes:render",
    "racks": "supercloud.targets.site.racks:render",
    "roce": "supercloud.targets.site.roce:render",
    "settings": "supercloud.targets.boot:render_settings",
    "slurm": "supercloud.targets.schedulers.slurm:render",
    "storage": "supercloud.targets.storage:render",
    "users": "supercloud.targets.users:render",
}

_SCHEDULERS = "supercloud.targets.schedulers."


def _has_bridged_fabrics(plan: Plan) -> bool:
    """Whether the plan has Ethernet switches whose links are not routed."""
    return any(
        item.tiers and item.kind != "infiniband" and not is_routed(item.kind, item.role) for item in plan.fabrics
    )


def _has_images(plan: Plan) -> bool:
    """Whether there are templates for images of the plan's cloud."""
    return bool(import_module("supercloud.targets.images").has_images(plan))


_CONDITIONS: dict[str, Callable[[Plan], bool]] = {
    "bom": lambda plan: plan.site.kind == "onprem",
    "boot": lambda plan: plan.cloud is not None and plan.scheduler.kind == "slurm",
    "users": lambda plan: plan.cloud is not None and plan.scheduler.kind == "slurm",
    "cabling": lambda plan: any(fabric.tiers for fabric in plan.fabrics),
    "diagram": lambda plan: any(fabric.tiers for fabric in plan.fabrics),
    "ethernet": _has_bridged_fabrics,
    "hosts": lambda plan: plan.networks is not None,
    "images": _has_images,
    "infiniband": lambda plan: any(fabric.tiers and fabric.kind == "infiniband" for fabric in plan.fabrics),
    "racks": lambda plan: plan.layout is not None,
    "roce": lambda plan: bool(plan.networks and plan.networks.underlays),
    "settings": lambda plan: plan.cloud is not None and plan.scheduler.kind == "slurm",
    "storage": lambda plan: bool(plan.servers),
}


def list_targets(plan: Plan) -> list[str]:
    """Return the names of the targets that apply to this plan."""
    return [name for name in TARGETS if _is_for(plan, name)]


def _is_for(plan: Plan, target: str) -> bool:
    """Whether a target applies to a plan."""
    if TARGETS[target].startswith(_SCHEDULERS):
        return plan.scheduler.kind == target
    return target not in _CONDITIONS or _CONDITIONS[target](plan)


def render(plan: Plan, target: str) -> Bundle:
    """Render a plan for a target.

    Args:
        plan: A plan without errors.
        target: Name of the target, such as ``slurm``, ``kubernetes`` or ``cabling``.

    Raises:
        InputError: With all errors of a plan that has errors, or if the target does not apply to the plan.
        UnknownNameError: If the target is unknown; with the nearest names.
    """
    require_type(plan, Plan, "render requires a plan", 'create one: resolve(load("cluster.yaml"))')
    if target not in TARGETS:
        raise UnknownNameError("target", target, TARGETS)
    if plan.errors:
        raise InputError(f"{plan.name} cannot be rendered: the plan has errors", plan.errors)
    if target not in list_targets(plan):
        raise InputError(
            f"{plan.name} has no files for the target {target!r}; its targets are {', '.join(list_targets(plan))}"
        )
    module, _, function = TARGETS[target].partition(":")
    return cast(Callable[[Plan], Bundle], getattr(import_module(module), function))(plan)
