"""SONiC: fragments of config_db.json, a QoS fragment for each tier, one for each switch, and FRR's file.

``config load`` merges them into the switch's initial configuration: the lanes of its ports and its buffer pools depend
on the hardware. Values are strings, the parts of a key are joined by ``|``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ....plan.model.bridges import BridgedNetwork, BridgeSwitch
from ....plan.model.network import SwitchRun, Underlay
from ....plan.model.qos import QosPolicy
from ....primitives.bundle import File
from ....primitives.quantity import Rate
from ....primitives.templates import render_template
from ..head import format_header
from .base import BridgedFiles, Files, RoutedFiles, SwitchDialect
from .frr import render_routing
from .views import SwitchView

__all__ = ["DIALECT"]

_MAP_NAME = "ROCE"


def render_routed_switch(switch: SwitchView, underlay: Underlay) -> Files:
    """Render the files of one switch of a routed fabric."""
    interfaces: dict[str, dict[str, str]] = {}
    ports: dict[str, dict[str, str]] = {}
    for node in switch.host_ports:
        ports[node.port] = {"description": f"{node.host} nic {node.nic}"} | _build_speed_field(node.speed)
        interfaces[node.port] = {}
        interfaces[f"{node.port}|{node.address}/31"] = {}
    for peer in switch.peer_ports:
        ports[peer.port] = {"description": f"{peer.switch} {peer.peer_port}"}
        interfaces[peer.port] = {"ipv6_use_link_local_only": "enable"}
    tables: dict[str, dict[str, Any]] = {
        "DEVICE_METADATA": {
            "localhost": {
                "hostname": switch.name,
                "bgp_asn": str(switch.asn),
                "type": {"leaf": "ToRRouter", "spine": "LeafRouter", "core": "SpineRouter"}[switch.run.tier.name],
                "docker_routing_config_mode": "split-unified",
            }
        },
        "INTERFACE": interfaces,
        "LOOPBACK_INTERFACE": {"Loopback0": {}, f"Loopback0|{switch.loopback}/32": {}},
        "MGMT_INTERFACE": {
            f"eth0|{switch.management}/{switch.run.subnet.block.prefixlen}": {"gwaddr": switch.run.management_gateway}
        },
        "PORT": ports,
    }
    tails = [node.port for node in switch.host_ports if node.split_count > 1]
    for name, entries in _build_port_tables(tails, underlay.qos_policy).items() if tails else ():
        for key, entry in entries.items():
            tables.setdefault(name, {})[key] = tables.get(name, {}).get(key, {}) | entry
    files: Files = {
        f"{switch.name}/switch.json": _format_tables(tables),
        f"{switch.name}/frr.conf": render_routing(switch, underlay, False),
    }
    if switch.breakouts:
        speed = underlay.speed.to("Gb/s") * switch.run.ports_per_cage
        slower = {node.port: _build_speed_field(node.speed)["speed"] for node in switch.host_ports if node.speed}
        text = render_template(
            "dialects/sonic/breakout.sh.j2",
            head=format_header(switch.name, "#"),
            cages=switch.breakouts,
            speed=speed,
            slower=slower,
        )
        files[f"{switch.name}/breakout.sh"] = File(text, executable=True)
    return files


def render_routed_tier(run: SwitchRun, underlay: Underlay, ports: Sequence[str]) -> Files:
    """Render the common files of all switches of a tier of a routed fabric."""
    policy, ecn = underlay.qos_policy, underlay.qos_policy.ecn[run.tier.name]
    data, cnp = str(policy.priority), str(policy.cnp_priority)
    classes = [str(number) for number in range(8)]
    colors = ("green", "yellow", "red")
    marks = {"ecn": "ecn_all"}
    for color in colors:
        marks |= {
            f"wred_{color}_enable": "true",
            f"{color}_min_threshold": str(ecn.min),
            f"{color}_max_threshold": str(ecn.max),
            f"{color}_drop_probability": str(ecn.probability),
        }
    # SONiC's default map assigns DSCP 26 to a lossy class: every value is set here
    dscp = {str(value): "0" for value in range(64)} | {str(policy.dscp): data, str(policy.cnp_dscp): cnp}
    of_ports = _build_port_tables(ports, policy)
    tables: dict[str, dict[str, Any]] = {
        "CABLE_LENGTH": of_ports["CABLE_LENGTH"],
        "DSCP_TO_TC_MAP": {_MAP_NAME: dscp},
        "MAP_PFC_PRIORITY_TO_QUEUE": {_MAP_NAME: {item: item for item in classes}},
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": str(policy.poll.ceil("ms"))}} | of_ports["PFC_WD"],
        "PORT": of_ports["PORT"],
        "PORT_QOS_MAP": {"global": {"dscp_to_tc_map": _MAP_NAME}} | of_ports["PORT_QOS_MAP"],
        "QUEUE": of_ports["QUEUE"],
        "SCHEDULER": {
            "roce.cnp": {"type": "STRICT"},
            "roce.data": {"type": "DWRR", "weight": str(policy.weight)},
            "roce.rest": {"type": "DWRR", "weight": str(100 - policy.weight)},
        },
        "TC_TO_PRIORITY_GROUP_MAP": {_MAP_NAME: {item: item if item == data else "0" for item in classes}},
        "TC_TO_QUEUE_MAP": {_MAP_NAME: {item: item for item in classes}},
        "WRED_PROFILE": {"ROCE_ECN": marks},
    }
    return {"qos.json": _format_tables(tables)}


def render_bridged_switch(switch: BridgeSwitch, network: BridgedNetwork) -> Files:
    """Render the fragment of one switch of a bridged network."""
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
            tables["PORT"][port] = {"description": trunk.description, "admin_status": "up"} | _build_speed_field(
                trunk.speed
            )
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


def _build_port_tables(ports: Sequence[str], policy: QosPolicy) -> dict[str, dict[str, Any]]:
    """Build the QoS settings of each port, by table."""
    data, cnp = str(policy.priority), str(policy.cnp_priority)
    queues: dict[str, dict[str, str]] = {}
    for port in ports:
        queues[f"{port}|0"] = {"scheduler": "roce.rest"}
        queues[f"{port}|{data}"] = {"scheduler": "roce.data", "wred_profile": "ROCE_ECN"}
        queues[f"{port}|{cnp}"] = {"scheduler": "roce.cnp"}
    milliseconds = {"detection_time": policy.detection, "restoration_time": policy.restoration}
    watch = {"action": "drop"} | {key: str(value.ceil("ms")) for key, value in milliseconds.items()}
    mapped = {
        "dscp_to_tc_map": _MAP_NAME,
        "tc_to_pg_map": _MAP_NAME,
        "tc_to_queue_map": _MAP_NAME,
        "pfc_to_queue_map": _MAP_NAME,
        "pfc_enable": data,
        "pfcwd_sw_enable": data,
    }
    return {
        "CABLE_LENGTH": {"AZURE": {port: f"{policy.cable.ceil('m')}m" for port in ports}},
        "PFC_WD": dict.fromkeys(ports, watch),
        "PORT": {port: {"admin_status": "up", "mtu": str(policy.mtu)} for port in ports},
        "PORT_QOS_MAP": dict.fromkeys(ports, mapped),
        "QUEUE": queues,
    }


def _build_speed_field(speed: Rate | None) -> dict[str, str]:
    """Build the speed field of table PORT for links slower than the others of their fabric: Mb/s as text; else
    nothing.
    """
    return {"speed": str(round(speed.to("Gb/s") * 1000))} if speed else {}


def _format_tables(tables: dict[str, dict[str, Any]]) -> str:
    """Format one line per entry: readable, and fast for a thousand switches."""
    parts = []
    for name, entries in tables.items():
        lines = ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in entries.items())
        parts.append(f' "{name}": {{\n{lines}\n }}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


DIALECT = SwitchDialect(
    routed=RoutedFiles(
        render_switch=render_routed_switch,
        render_tier=render_routed_tier,
        load_template="dialects/sonic/load-routed.md.j2",
    ),
    bridged=BridgedFiles(render_switch=render_bridged_switch, load_template="dialects/sonic/load-bridged.md.j2"),
    templates=("dialects/sonic/breakout.sh.j2", "dialects/frr/frr.conf.j2"),
)
