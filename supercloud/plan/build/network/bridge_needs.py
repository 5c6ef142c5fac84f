"""Requirements of a bridged network on the operating system of its switches, and missing capabilities."""

from __future__ import annotations

from ...model.network import SwitchRun
from ...model.plan import FabricPlan, Plan

__all__ = ["describe_missing_feature"]


def describe_missing_feature(plan: Plan, fabric: FabricPlan, run: SwitchRun) -> str:
    """The reason why the switches of a tier do not support it; empty if they do."""
    system, declared = run.network_os, next(item for item in plan.spec.fabrics if item.name == fabric.name)
    if system is None:
        return "the operating system is unknown"
    if declared.peer_links and run.tier.name == "leaf" and run.tier.count > 1 and not system.mlag:
        return f"{system.title} has no multi-chassis link aggregation, which pairs of leaves require"
    if not system.spanning_tree and _has_loops(plan, fabric):
        return f"{system.title} has no spanning tree, but there is more than one path to a switch"
    return ""


def _has_loops(plan: Plan, fabric: FabricPlan) -> bool:
    declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
    tops = fabric.tiers[-1].count if fabric.tiers else 0
    ways = tops if len(fabric.tiers) > 1 else 0
    if declared.upstream:
        upper = next((item for item in plan.fabrics if item.name == declared.upstream.fabric), None)
        ways = min(declared.upstream.links, upper.tiers[-1].count if upper and upper.tiers else 0)
    return ways > 1 or declared.external_links > 1
