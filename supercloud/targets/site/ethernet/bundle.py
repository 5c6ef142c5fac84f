"""All files of the bundle: a folder per network, with a folder per tier and per group of hosts with bonds."""

from __future__ import annotations

from ....catalog import NetworkOs
from ....plan.build.network.address_servers import address_servers
from ....plan.build.network.bridge_needs import describe_missing_feature
from ....plan.build.network.bridges import build_bridged_networks
from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle
from ....primitives.tables import format_csv
from ....primitives.templates import render_template
from ..dialects import Files, Unsupported, select_dialects
from .hosts import render_bond_script

__all__ = ["render"]


def render(plan: Plan) -> Bundle:
    """Render every bridged network of a plan: switches, bonds of hosts, VLANs, and instructions to load them."""
    assert plan.networks is not None
    networks = build_bridged_networks(plan)
    files: Files = {}
    tiers: dict[str, list[tuple[object, str]]] = {}
    loads: dict[str, tuple[str, NetworkOs]] = {}
    names = {network.fabric.name for network in networks}
    dialects = select_dialects(plan, [run for run in plan.networks.switches if run.fabric in names])
    for network in networks:
        name = network.fabric.name
        for run in plan.networks.switches:
            if run.fabric != name:
                continue
            lack = describe_missing_feature(plan, network.fabric, run)
            bridged = dialects[run.network_os.dialect].bridged if run.network_os else None
            if isinstance(bridged, Unsupported):
                lack = bridged.reason
            elif bridged and run.network_os and not lack:
                loads[run.network_os.dialect] = bridged.load_template, run.network_os
                for view in network.switches:
                    if view.run is run:
                        own = bridged.render_switch(view, network)
                        files |= {f"{name}/{run.tier.name}/{path}": file for path, file in own.items()}
            tiers.setdefault(name, []).append((run, lack))
        for bond in network.bonds:
            same = [item for item in network.bonds if item.group == bond.group]
            files[f"{name}/hosts/{bond.group}/bond.sh"] = render_bond_script(plan, network, same)
    vlans = sorted({vlan for network in networks for vlan in network.vlans}, key=lambda vlan: vlan.number)
    files["vlans.csv"] = format_csv(
        ("vlan", "name", "subnet", "gateway"),
        ((str(vlan.number), vlan.name, str(vlan.subnet.block), vlan.subnet.gateway or "") for vlan in vlans),
    )
    exits = sum(fabric.exits for fabric in plan.spec.fabrics if fabric.name in names)
    files["INSTALL.md"] = render_template(
        "ethernet/INSTALL.md.j2",
        plan=plan,
        networks=networks,
        vlans=vlans,
        tiers=tiers,
        loads=[load for _, load in sorted(loads.items())],
        exits=exits,
        servers=address_servers(plan),
    )
    return Bundle(files)
