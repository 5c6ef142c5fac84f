"""Checks of the bonds of hosts on bridged networks."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..build.network.bonds import find_bond_groups, format_bond_interface, get_product_name, list_bond_devices
from ..build.network.bridges import list_bridged_fabrics
from ..model.plan import Plan

__all__ = ["CHECKS"]


def network_bonds(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Hosts whose links form a bond and whose RDMA devices are not in the catalog."""
    positions = {fabric.name: index for index, fabric in enumerate(plan.spec.fabrics)}
    for fabric in list_bridged_fabrics(plan) if plan.networks else ():
        machines: dict[str, int] = {}
        for group, links in find_bond_groups(fabric).items():
            if not list_bond_devices(plan, fabric, group, links):
                name = get_product_name(plan, fabric, group)
                machines[name] = max(links, machines.get(name, 0))
        if machines:
            named = ", ".join(format_bond_interface(fabric, link) for link in range(max(machines.values())))
            yield Finding(
                "network-bonds",
                "note",
                f"fabrics[{positions[fabric.name]}]",
                f"the RDMA devices of {', '.join(sorted(machines))} on {fabric.name} are unknown: bond.sh uses "
                f"the interfaces named {named} there, and fails if one of them is missing",
                "name them (systemd.link), or put adapters[].devices into a catalog overlay",
            )


CHECKS = (network_bonds,)
