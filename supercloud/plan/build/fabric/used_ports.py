"""Ports of each tier that are in use, towards the nodes and towards the core: the oversubscription as built."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from ....topology import Fabric as Wiring
from ....topology import Tier
from ...model.plan import FabricPlan

__all__ = ["UsedPorts", "format_ratio", "list_used_ports"]


@dataclass(frozen=True)
class UsedPorts:
    """Ports in use of the switch of a tier with the most of them towards the nodes."""

    tier: str
    down: int
    up: int

    @property
    def ratio(self) -> float:
        """Ports down per port up."""
        return self.down / self.up


def list_used_ports(fabric: FabricPlan) -> list[UsedPorts]:
    """The used ports of each tier that has uplinks, from the nodes upwards. Ports are counted, as in the rules of the
    shapes: links that are slower than the ports count as whole ones.
    """
    if not isinstance(fabric.wiring, Wiring):
        return []
    return [
        UsedPorts(tier.name, _count_ports_down(fabric.wiring, tier), tier.up) for tier in fabric.wiring.tiers if tier.up
    ]


def _count_ports_down(wiring: Wiring, tier: Tier) -> int:
    """Ports towards the nodes of the switch with the most of them; the links of a splitter share one."""
    import numpy as np

    links = [group.build_columns() for group in wiring.link_groups if group.target_kind == tier.name]
    ports = np.unique(np.concatenate([item.target * tier.radix + item.target_port for item in links]))
    return int(np.bincount(ports // tier.radix).max())


def format_ratio(ratio: float) -> str:
    """Ports down per port up, rounded up to hundredths so that a rounded ratio is never below the real one: 4:1."""
    return f"{ceil(round(ratio * 100, 9)) / 100:g}:1"
