"""The subnet manager that switches bring: which switches run it, and how many nodes it manages."""

from __future__ import annotations

from ....topology import Fabric as Wiring
from ...model.plan import FabricPlan
from .device_names import list_switch_names

__all__ = ["count_infiniband_nodes", "count_subnets", "list_manager_switches"]

# One is the master, the other takes over; NVIDIA recommends no more of them in a fabric.
_MANAGERS = 2


def count_subnets(fabric: FabricPlan) -> int:
    """Count the separate subnets of a fabric: planes, and rails that are not connected."""
    wiring = fabric.wiring
    apart = isinstance(wiring, Wiring) and wiring.has_disjoint_rails
    return fabric.planes * (fabric.rails if apart else 1)


def list_manager_switches(fabric: FabricPlan) -> list[str]:
    """Names of the switches that run the subnet manager, the master first: the first of the topmost tier."""
    top = fabric.tiers[-1]
    return list_switch_names(fabric.name, top.name, top.count)[:_MANAGERS]


def count_infiniband_nodes(fabric: FabricPlan) -> int:
    """InfiniBand nodes: switches, and adapters on leaf ports, each of them counted for every one of its links."""
    links = fabric.link_counts.get("node_leaf", 0) + fabric.link_counts.get("manager", 0)
    return links + sum(tier.count for tier in fabric.tiers)
