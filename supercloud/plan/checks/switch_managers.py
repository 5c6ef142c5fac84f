"""Checks of subnet managers that run on switches."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ...primitives.counts import format_count
from ...spec import Fabric as Declared
from ..build.fabric.switch_manager import count_infiniband_nodes, count_subnets
from ..model.plan import FabricPlan, Plan
from .subnet import iter_subnets

__all__ = ["CHECKS", "can_use_switch_manager"]

_OTHERS = "set subnet_manager: opensm or nvidia"


def subnet_manager_switch(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A subnet manager on switches that cannot run it, or with settings that it does not have."""
    for path, fabric, declared in iter_subnets(plan):
        if declared.subnet_manager != "switch":
            continue
        for key, problem, hint in _iter_problems(fabric, declared):
            yield Finding("subnet-manager-switch", "error", f"{path}.{key}", problem, hint)


def can_use_switch_manager(fabric: FabricPlan, declared: Declared) -> bool:
    """Whether the switches of a fabric can run its subnet manager, with all of its settings."""
    return not any(_iter_problems(fabric, declared))


def _iter_problems(fabric: FabricPlan, declared: Declared) -> Iterator[tuple[str, str, str]]:
    """The field, the problem and the fix."""
    if fabric.kind != "infiniband":
        yield "subnet_manager", f"{fabric.name} is {fabric.kind}: it has no subnet manager", "omit it"
        return
    if not fabric.tiers:
        return
    model = fabric.tiers[-1].switch
    most, nodes = model.subnet_manager_nodes, count_infiniband_nodes(fabric)
    if not model.managed or most is None:
        why = "is externally managed and has no subnet manager" if model.managed is False else "has no known one"
        yield "subnet_manager", f"{model.name}, the topmost switch of {fabric.name}, {why}", _OTHERS
    elif nodes > most:
        yield (
            "subnet_manager",
            f"{fabric.name} has {nodes} InfiniBand nodes (adapters and switches): the subnet manager of {model.name} "
            f"supports {most}",
            _OTHERS,
        )
    if (subnets := count_subnets(fabric)) > 1:
        yield (
            "subnet_manager",
            f"{fabric.name} consists of {subnets} separate subnets (planes or rails); managers on switches are planned "
            "for one subnet",
            _OTHERS,
        )
    if declared.partitions:
        yield (
            "partitions",
            f"{format_count(len(declared.partitions), 'partition')} of {fabric.name} cannot be set on its switches: "
            "the commands for members are not in the catalog",
            _OTHERS,
        )
    if declared.m_key:
        yield "m_key", "the file with the M_Key is for the hosts of OpenSM, not for switches", "omit it"
    if declared.manager:
        yield (
            "manager",
            f"{fabric.name} reserves leaf ports for hosts, but its switches run the manager",
            "omit manager",
        )


CHECKS = (subnet_manager_switch,)
