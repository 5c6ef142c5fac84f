"""The hosts' side of a bridged network: links that act as one."""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.build.network.address_servers import address_servers
from ....plan.build.network.bonds import bond_devices, bond_interface, bond_name, machine_of
from ....plan.build.network.bridges import Bridged, HostBond
from ....plan.model.plan import Plan
from ....primitives.bundle import File
from ....primitives.templates import fill
from ..head import head

__all__ = ["bond_file"]

_LACP = {"mode": "802.3ad", "miimon": "100", "lacp_rate": "fast", "xmit_hash_policy": "layer3+4"}
_BACKUP = {"mode": "active-backup", "miimon": "100"}
_OPTIONS = {"802.3ad": _LACP, "active-backup": _BACKUP}
# The same options as systemd.netdev(5) writes them.
_NETWORKD = {"mode": "Mode={}", "miimon": "MIIMonitorSec={}ms", "lacp_rate": "LACPTransmitRate={}",
             "xmit_hash_policy": "TransmitHashPolicy={}"}  # fmt: skip


def bond_file(plan: Plan, network: Bridged, bonds: Sequence[HostBond]) -> File:
    """One script for a group: where its hosts differ, the mode that suits them all."""
    bond = next((item for item in bonds if item.mode == "active-backup"), bonds[0])
    options = _OPTIONS[bond.mode]
    devices = bond_devices(plan, network.fabric, bond.group, bond.ports)
    links = [(bond_interface(network.fabric, number), devices[number] if devices else "-")
             for number in range(bond.ports)]  # fmt: skip
    hosts = {host for item in bonds for host in item.hosts}
    servers = [item for item in address_servers(plan) if item.name in hosts and network.fabric.role == "in-band"]
    text = fill(
        "ethernet/bond.sh.j2", head=head(f"{network.fabric.name} on {bond.group}", "#"), bond=bond,
        fabric=network.fabric, name=bond_name(plan, network.fabric), links=links,
        servers=servers, others=len(hosts) > len(servers), machine=machine_of(plan, network.fabric, bond.group),
        options=" ".join(f"{key} {value}" for key, value in options.items()),
        netdev="".join(_NETWORKD[key].format(value) + "\\n" for key, value in options.items()),
    )  # fmt: skip
    return File(text, executable=True)
