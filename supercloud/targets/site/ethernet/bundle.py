"""All files of the bundle: a folder a network, in it a folder a tier, and one for each group of hosts with bonds."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ....catalog import NetworkOs
from ....plan.build.network.address_servers import address_servers
from ....plan.build.network.bridge_needs import bridge_lack
from ....plan.build.network.bridges import Bridged, BridgeSwitch, bridges_of
from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle, File
from ....primitives.tables import csv_text
from ....primitives.templates import fill
from .dialects import eos, linux, nvue, sonic
from .hosts import bond_file

__all__ = ["DIALECTS", "render"]

Files = dict[str, File | str]

DIALECTS: Mapping[str, Callable[[BridgeSwitch, Bridged], Files]] = {
    "eos": eos,
    "frr": linux,
    "nvue": nvue,
    "sonic": sonic,
}


def render(plan: Plan) -> Bundle:
    """Every bridged network of a plan: its switches, the bonds of its hosts, its VLANs, and how to load it all."""
    assert plan.networks is not None
    networks = bridges_of(plan)
    files: Files = {}
    tiers: dict[str, list[tuple[object, str]]] = {}
    loads: dict[str, NetworkOs] = {}
    for network in networks:
        name = network.fabric.name
        for run in plan.networks.switches:
            if run.fabric != name:
                continue
            lack = bridge_lack(plan, network.fabric, run)
            tiers.setdefault(name, []).append((run, lack))
            if run.system and not lack:
                loads[run.system.dialect] = run.system
                for view in network.switches:
                    if view.run is run:
                        own = DIALECTS[run.system.dialect](view, network)
                        files |= {f"{name}/{run.tier.name}/{path}": file for path, file in own.items()}
        for bond in network.bonds:
            same = [item for item in network.bonds if item.group == bond.group]
            files[f"{name}/hosts/{bond.group}/bond.sh"] = bond_file(plan, network, same)
    vlans = sorted({vlan for network in networks for vlan in network.vlans}, key=lambda vlan: vlan.number)
    files["vlans.csv"] = csv_text(
        ("vlan", "name", "subnet", "gateway"),
        ((str(vlan.number), vlan.name, str(vlan.subnet.block), vlan.subnet.gateway or "") for vlan in vlans),
    )
    names = {network.fabric.name for network in networks}
    exits = sum(fabric.exits for fabric in plan.spec.fabrics if fabric.name in names)
    files["INSTALL.md"] = fill("ethernet/INSTALL.md.j2", plan=plan, networks=networks, vlans=vlans, tiers=tiers,
                               loads=dict(sorted(loads.items())), exits=exits,
                               servers=address_servers(plan))  # fmt: skip
    return Bundle(files)
