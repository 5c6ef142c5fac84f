"""Configuration of switches of bridged networks for each operating system."""

from __future__ import annotations

import json
from typing import Any

from ....plan.build.network.bridges import PEER_CHANNEL, BridgedNetwork, BridgeSwitch
from ....plan.build.network.vlans import PEER_VLAN
from ....primitives.bundle import File
from ....primitives.templates import render_template
from ..head import format_header, format_release_header
from ..sonic_ports import speed_of

__all__ = ["render_eos", "render_linux", "render_nvue", "render_sonic"]

Files = dict[str, File | str]
# NVIDIA reserves 44:38:39:ff:00:00 to 44:38:39:ff:ff:ff for pairs.
_PAIR_MAC_FORMAT = "44:38:39:ff:{:02x}:{:02x}"


def render_eos(switch: BridgeSwitch, network: BridgedNetwork) -> Files:
    """Render Arista EOS."""
    speed = network.fabric.speed
    text = render_template(
        "ethernet/eos.cfg.j2",
        head=format_header(switch.name, "!"),
        view=switch,
        peer_vlan=PEER_VLAN,
        peer_channel=PEER_CHANNEL,
        gigabits=speed.to("Gb/s") if speed else 0,
    )
    return {f"{switch.name}.cfg": text}


def render_nvue(switch: BridgeSwitch, network: BridgedNetwork) -> Files:
    """Render Cumulus Linux."""
    mac = _PAIR_MAC_FORMAT.format(*divmod(switch.pair, 256))
    assert switch.run.network_os is not None, "a plan with errors is not rendered"
    first = format_release_header(switch.name, "#", switch.run.network_os)
    text = render_template("ethernet/nvue.yaml.j2", head=first, view=switch, peer_vlan=PEER_VLAN, pair_mac=mac)
    return {f"{switch.name}.yaml": text}


def render_linux(switch: BridgeSwitch, network: BridgedNetwork) -> Files:
    """Render a bridge of the Linux kernel."""
    text = render_template("ethernet/linux.sh.j2", head=format_header(switch.name, "#"), view=switch)
    return {f"{switch.name}.sh": File(text, executable=True)}


def render_sonic(switch: BridgeSwitch, network: BridgedNetwork) -> Files:
    """Render a fragment of SONiC's config_db.json: values are strings, the parts of a key are joined by ``|``."""
    length = switch.run.subnet.block.prefixlen
    tables: dict[str, dict[str, Any]] = {
        "DEVICE_METADATA": {"localhost": {"hostname": switch.name}},
        "PORT": {},
        "PORTCHANNEL": {},
        "PORTCHANNEL_MEMBER": {},
        "VLAN": {},
        "VLAN_MEMBER": {},
    }
    tables["VLAN"] = {
        f"Vlan{vlan.number}": {"vlanid": str(vlan.number), "description": vlan.name} for vlan in switch.vlans
    }
    for trunk in switch.trunks:
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
    address, gateway = f"{switch.management}/{length}", switch.run.management_gateway
    if switch.management_vlan:
        inside = f"Vlan{switch.management_vlan.number}"
        tables["VLAN_INTERFACE"] = {inside: {}, f"{inside}|{address}": {}}
        tables["STATIC_ROUTE"] = {"default|0.0.0.0/0": {"nexthop": gateway, "ifname": inside}}
    else:
        tables["MGMT_INTERFACE"] = {f"eth0|{address}": {"gwaddr": gateway}}
    known = {name: entries for name, entries in tables.items() if entries}
    return {f"{switch.name}.json": json.dumps(known, indent=1, sort_keys=True) + "\n"}
