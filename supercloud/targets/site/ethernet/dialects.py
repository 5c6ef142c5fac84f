"""What a switch of a bridged network says, in the words of each operating system."""

from __future__ import annotations

import json
from typing import Any

from ....plan.build.network.bridges import PEER_CHANNEL, Bridged, BridgeSwitch
from ....plan.build.network.vlans import PEER_VLAN
from ....primitives.bundle import File
from ....primitives.templates import fill
from ..head import head, release_head
from ..sonic_ports import speed_of

__all__ = ["eos", "linux", "nvue", "sonic"]

Files = dict[str, File | str]
# NVIDIA reserves 44:38:39:ff:00:00 to 44:38:39:ff:ff:ff for pairs.
_PAIR_MAC = "44:38:39:ff:{:02x}:{:02x}"


def eos(view: BridgeSwitch, network: Bridged) -> Files:
    """Arista EOS."""
    speed = network.fabric.speed
    text = fill("ethernet/eos.cfg.j2", head=head(view.name, "!"), view=view, peer_vlan=PEER_VLAN,
                peer_channel=PEER_CHANNEL, gigabits=speed.to("Gb/s") if speed else 0)  # fmt: skip
    return {f"{view.name}.cfg": text}


def nvue(view: BridgeSwitch, network: Bridged) -> Files:
    """Cumulus Linux."""
    mac = _PAIR_MAC.format(*divmod(view.pair, 256))
    assert view.run.system is not None, "a plan with errors is not rendered"
    first = release_head(view.name, "#", view.run.system)
    text = fill("ethernet/nvue.yaml.j2", head=first, view=view, peer_vlan=PEER_VLAN, pair_mac=mac)
    return {f"{view.name}.yaml": text}


def linux(view: BridgeSwitch, network: Bridged) -> Files:
    """A bridge of the Linux kernel."""
    text = fill("ethernet/linux.sh.j2", head=head(view.name, "#"), view=view)
    return {f"{view.name}.sh": File(text, executable=True)}


def sonic(view: BridgeSwitch, network: Bridged) -> Files:
    """A fragment of SONiC's config_db.json: values are strings, the parts of a key are joined by ``|``."""
    length = view.run.subnet.block.prefixlen
    tables: dict[str, dict[str, Any]] = {
        "DEVICE_METADATA": {"localhost": {"hostname": view.name}},
        "PORT": {}, "PORTCHANNEL": {}, "PORTCHANNEL_MEMBER": {}, "VLAN": {}, "VLAN_MEMBER": {},
    }  # fmt: skip
    tables["VLAN"] = {f"Vlan{vlan.number}": {"vlanid": str(vlan.number), "description": vlan.name}
                      for vlan in view.vlans}  # fmt: skip
    for trunk in view.trunks:
        name = f"PortChannel{trunk.number}" if trunk.number else trunk.ports[0]
        for port in trunk.ports:
            tables["PORT"][port] = {"description": trunk.description, "admin_status": "up"} | speed_of(trunk.speed)
            if trunk.number:
                tables["PORTCHANNEL_MEMBER"][f"{name}|{port}"] = {}
        if trunk.number:
            fallback = "true" if trunk.kind == "host" else "false"
            tables["PORTCHANNEL"][name] = {"admin_status": "up", "min_links": "1", "fallback": fallback}
        members = [(trunk.vlan, "untagged")] if trunk.vlan else [(vlan, "tagged") for vlan in trunk.tagged]
        for vlan, mode in members:
            tables["VLAN_MEMBER"][f"Vlan{vlan.number}|{name}"] = {"tagging_mode": mode}
    address, gateway = f"{view.management}/{length}", view.run.management_gateway
    if view.inside:
        inside = f"Vlan{view.inside.number}"
        tables["VLAN_INTERFACE"] = {inside: {}, f"{inside}|{address}": {}}
        tables["STATIC_ROUTE"] = {"default|0.0.0.0/0": {"nexthop": gateway, "ifname": inside}}
    else:
        tables["MGMT_INTERFACE"] = {f"eth0|{address}": {"gwaddr": gateway}}
    known = {name: entries for name, entries in tables.items() if entries}
    return {f"{view.name}.json": json.dumps(known, indent=1, sort_keys=True) + "\n"}
