"""All files of the bundle: a folder per network, with a folder per tier and per group of hosts with bonds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....catalog import NetworkOs
from ....plan.build.network.address_servers import list_address_servers
from ....plan.build.network.bridge_needs import describe_missing_feature
from ....plan.build.network.bridges import build_bridged_networks
from ....plan.model.bridges import BridgedNetwork, Vlan
from ....plan.model.network import SwitchRun
from ....plan.model.plan import Plan
from ....primitives.bundle import Bundle
from ....primitives.tables import format_csv
from ....primitives.templates import render_template
from ..dialects import Files, SwitchDialect, Unsupported, select_dialects
from .hosts import render_bond_script

__all__ = ["render"]


@dataclass(frozen=True)
class _RenderedTier:
    """The files of a tier of switches; without them, the feature that it lacks."""

    run: SwitchRun
    lack: str
    files: Files
    load_template: str = ""
    """Instructions to load the files."""


def render(plan: Plan) -> Bundle:
    """Render every bridged network of a plan: switches, bonds of hosts, VLANs, and instructions to load them."""
    assert plan.networks is not None
    networks = build_bridged_networks(plan)
    files: Files = {}
    tiers: dict[str, list[_RenderedTier]] = {}
    names = {network.fabric.name for network in networks}
    runs = [run for run in plan.networks.switches if run.fabric in names]
    dialects = select_dialects(plan, runs)
    for network in networks:
        name = network.fabric.name
        rendered = [_render_tier(plan, network, run, dialects) for run in runs if run.fabric == name]
        for tier in rendered:
            tiers.setdefault(name, []).append(tier)
            files |= tier.files
        files |= _render_bonds(plan, network)
    vlans = _list_vlans(networks)
    files["vlans.csv"] = _render_vlan_table(vlans)
    files["INSTALL.md"] = render_template(
        "ethernet/INSTALL.md.j2",
        plan=plan,
        networks=networks,
        vlans=vlans,
        tiers={name: [(tier.run, tier.lack) for tier in found] for name, found in tiers.items()},
        loads=_list_load_templates([tier for found in tiers.values() for tier in found]),
        external_links=sum(fabric.external_links for fabric in plan.fabrics if fabric.name in names),
        servers=list_address_servers(plan),
    )
    return Bundle(files)


def _list_vlans(networks: Sequence[BridgedNetwork]) -> list[Vlan]:
    return sorted({vlan for network in networks for vlan in network.vlans}, key=lambda vlan: vlan.number)


def _render_vlan_table(vlans: Sequence[Vlan]) -> str:
    return format_csv(
        ("vlan", "name", "subnet", "gateway"),
        ((str(vlan.number), vlan.name, str(vlan.subnet.block), vlan.subnet.gateway or "") for vlan in vlans),
    )


def _render_bonds(plan: Plan, network: BridgedNetwork) -> Files:
    files: Files = {}
    for bond in network.bonds:
        same = [item for item in network.bonds if item.group == bond.group]
        files[f"{network.fabric.name}/hosts/{bond.group}/bond.sh"] = render_bond_script(plan, network, same)
    return files


def _list_load_templates(tiers: Sequence[_RenderedTier]) -> list[tuple[str, NetworkOs]]:
    """List the instructions to load the files, once for each dialect."""
    found: dict[str, tuple[str, NetworkOs]] = {}
    for tier in tiers:
        if tier.load_template and tier.run.network_os:
            found[tier.run.network_os.dialect] = tier.load_template, tier.run.network_os
    return [load for _, load in sorted(found.items())]


def _render_tier(
    plan: Plan, network: BridgedNetwork, run: SwitchRun, dialects: Mapping[str, SwitchDialect]
) -> _RenderedTier:
    lack = describe_missing_feature(plan, network.fabric, run)
    if run.network_os is None:
        return _RenderedTier(run, lack, {})
    bridged = dialects[run.network_os.dialect].bridged
    if isinstance(bridged, Unsupported):
        return _RenderedTier(run, bridged.reason, {})
    if lack:
        return _RenderedTier(run, lack, {})
    files: Files = {}
    for view in network.switches:
        if view.run is run:
            own = bridged.render_switch(view, network)
            files |= {f"{network.fabric.name}/{run.tier.name}/{path}": file for path, file in own.items()}
    return _RenderedTier(run, lack, files, bridged.load_template)
