"""Ports of InfiniBand switches that have to be split before cables can connect two links to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....plan.build.cabling.cabled import list_cabled_fabrics
from ....plan.build.cabling.cables import build_cable_table
from ....plan.model.fabric import FabricPlan
from ....plan.model.plan import Plan
from ....primitives.nodes import fold

__all__ = ["SplitPorts", "list_split_ports"]


class SplitPorts(NamedTuple):
    """Ports of one switch, or of equal switches."""

    switches: str
    ports: str
    """Names before they are split, or ``all``."""


def list_split_ports(plan: Plan, fabric: FabricPlan) -> list[SplitPorts]:
    """List the split ports of a fabric: all those of a tier in a mode with more ports, and those with a splitter."""
    found = [
        SplitPorts(f"the {tier.name} switches", "all")
        for tier in fabric.tiers
        if tier.switch.modes and tier.radix > tier.switch.modes[0].ports
    ]
    if all(item.name != fabric.name for item in list_cabled_fabrics(plan)):
        return found
    table = build_cable_table(plan, fabric)
    rows = np.flatnonzero(table.links.lane)
    if not rows.size:
        return found
    ports: dict[str, dict[str, None]] = {}
    for switch, port in zip(table.get_device_names("target")[rows], table.get_port_names("target")[rows], strict=True):
        ports.setdefault(switch, {})[port] = None
    alike: dict[str, list[str]] = {}
    for switch, names in ports.items():
        alike.setdefault(", ".join(names), []).append(switch)
    return found + [SplitPorts(fold(switches), names) for names, switches in alike.items()]
