"""The hosts' side of a bridged network: links that act as one."""

from __future__ import annotations

from collections.abc import Sequence

from ....plan.fabric.roles import adapter_of
from ....plan.model import Plan
from ....plan.network.bridges import Bridged, HostBond
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
    position = [fabric.name for fabric in plan.spec.fabrics].index(network.fabric.name)
    options = _OPTIONS[bond.mode]
    devices = _devices(plan, network, bond)
    links = [(f"{network.fabric.role}{number}", devices[number] if number < len(devices) else "-")
             for number in range(bond.ports)]  # fmt: skip
    text = fill(
        "ethernet/bond.sh.j2", head=head(f"{network.fabric.name} on {bond.group}", "#"), bond=bond,
        fabric=network.fabric, name=f"bond{position}", links=links,
        options=" ".join(f"{key} {value}" for key, value in options.items()),
        netdev="".join(_NETWORKD[key].format(value) + "\\n" for key, value in options.items()),
    )  # fmt: skip
    return File(text, executable=True)


def _devices(plan: Plan, network: Bridged, bond: HostBond) -> tuple[str, ...]:
    """RDMA devices behind the links, where the catalog knows them."""
    fabric = network.fabric
    for pool in plan.pools:
        if pool.name == bond.group:
            adapter = adapter_of(pool.machine, fabric.role, fabric.kind, fabric.speed)
            return adapter.devices if adapter and len(adapter.devices) >= bond.ports else ()
    return next((item.devices for item in fabric.services if item.name == bond.group), ())
