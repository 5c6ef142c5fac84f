"""The hosts' side of a bridged network: bonds."""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.build.network.address_servers import list_address_servers
from ....plan.build.network.bonds import format_bond_interface, format_bond_name, get_product_name, list_bond_devices
from ....plan.model.bridges import BridgedNetwork, HostBond
from ....plan.model.plan import Plan
from ....primitives.bundle import File
from ....primitives.templates import render_template
from ..head import format_header

__all__ = ["render_bond_script"]

_LACP_OPTIONS = {"mode": "802.3ad", "miimon": "100", "lacp_rate": "fast", "xmit_hash_policy": "layer3+4"}
_BACKUP_OPTIONS = {"mode": "active-backup", "miimon": "100"}
_BOND_OPTIONS = {"802.3ad": _LACP_OPTIONS, "active-backup": _BACKUP_OPTIONS}
# The same options in the notation of systemd.netdev(5).
_NETWORKD_FORMATS = {
    "mode": "Mode={}",
    "miimon": "MIIMonitorSec={}ms",
    "lacp_rate": "LACPTransmitRate={}",
    "xmit_hash_policy": "TransmitHashPolicy={}",
}


def render_bond_script(plan: Plan, network: BridgedNetwork, bonds: Sequence[HostBond]) -> File:
    """Render one script for a group: if its hosts differ, with the mode that suits all of them."""
    bond = next((item for item in bonds if item.mode == "active-backup"), bonds[0])
    options = _BOND_OPTIONS[bond.mode]
    devices = list_bond_devices(plan, network.fabric, bond.group, bond.ports)
    links = [
        (format_bond_interface(network.fabric, number), devices[number] if devices else "-")
        for number in range(bond.ports)
    ]
    hosts = {host for item in bonds for host in item.hosts}
    servers = [item for item in list_address_servers(plan) if item.name in hosts and network.fabric.role == "in-band"]
    text = render_template(
        "ethernet/bond.sh.j2",
        head=format_header(f"{network.fabric.name} on {bond.group}", "#"),
        bond=bond,
        fabric=network.fabric,
        name=format_bond_name(plan, network.fabric),
        links=links,
        servers=servers,
        others=len(hosts) > len(servers),
        machine=get_product_name(plan, network.fabric, bond.group),
        options=" ".join(f"{key} {value}" for key, value in options.items()),
        netdev="".join(_NETWORKD_FORMATS[key].format(value) + "\\n" for key, value in options.items()),
    )
    return File(text, executable=True)
