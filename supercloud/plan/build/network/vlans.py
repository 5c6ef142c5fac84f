"""VLANs of the bridged networks: one for each of their subnets, with a number that is stable under growth."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ...model.bridges import Vlan
from ...model.plan import FabricPlan, Plan
from ...model.subnet import Subnet

__all__ = ["FIRST_VLANS", "LAST_VLAN", "PEER_VLAN", "Vlan", "list_own_vlans", "build_vlans"]

PEER_VLAN = 4094
"""Used between the switches of a pair only."""
FIRST_VLANS = {
    "service": 100,
    "storage": 200,
    "switch": 500,
    "bmc": 600,
    "bmc-server": 1000,
    "bmc-machine": 1400,
    "in-band": 2000,
}
"""The first number of each family of subnets: growth at the end of a list moves no other."""
LAST_VLAN = 4093


def _find_vlan_family(subnet: Subnet, pools: Collection[str], servers: Collection[str]) -> str:
    """The family of numbers of a subnet's VLAN; empty for one that is not on a bridged network."""
    if subnet.role != "bmc":
        return subnet.role if subnet.role in FIRST_VLANS else ""
    owner = subnet.name.removeprefix("bmc-")
    return "bmc" if owner in pools else "bmc-server" if owner in servers else "bmc-machine"


def build_vlans(plan: Plan) -> Mapping[str, Vlan]:
    """Name of a subnet -> its VLAN: as declared in ``network.vlans``, else the next number of its family."""
    found: dict[str, Vlan] = {}
    counts: dict[str, int] = {}
    pools, servers = {pool.name for pool in plan.pools}, {group.name for group in plan.servers}
    for subnet in plan.networks.subnets if plan.networks else ():
        family = _find_vlan_family(subnet, pools, servers)
        if family:
            number = FIRST_VLANS[family] + counts.get(family, 0)
            counts[family] = counts.get(family, 0) + 1
            found[subnet.name] = Vlan(plan.spec.network.vlans.get(subnet.name, number), subnet.name, subnet)
    return found


def list_own_vlans(fabric: FabricPlan, vlans: Mapping[str, Vlan]) -> tuple[Vlan, ...]:
    """The subnets that a bridged network of their role has."""
    roles = ("bmc", "switch") if fabric.role == "management" else ("service", "in-band", "storage")
    return tuple(sorted(vlan for vlan in vlans.values() if vlan.subnet.role in roles))
