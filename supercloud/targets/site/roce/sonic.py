"""SONiC: fragments of config_db.json, one of quality of service for each tier, one for each switch, and FRR's file.

``config load`` merges them into what the switch came with: the lanes of its ports and the pools of its buffers are
facts of the box. Values are strings, the parts of a key are joined by ``|``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ....plan.model.network import Lossless, SwitchRun, Underlay
from ....primitives.bundle import File
from ....primitives.templates import fill
from ..head import head
from ..sonic_ports import speed_of
from .frr import routing
from .switches import SwitchView

__all__ = ["own", "shared"]

_MAP = "ROCE"


def own(view: SwitchView, underlay: Underlay) -> dict[str, File | str]:
    """What differs from switch to switch."""
    interfaces: dict[str, dict[str, str]] = {}
    ports: dict[str, dict[str, str]] = {}
    for node in view.nodes:
        ports[node.port] = {"description": f"{node.node} nic {node.nic}"} | speed_of(node.speed)
        interfaces[node.port] = {}
        interfaces[f"{node.port}|{node.address}/31"] = {}
    for peer in view.peers:
        ports[peer.port] = {"description": f"{peer.switch} {peer.their_port}"}
        interfaces[peer.port] = {"ipv6_use_link_local_only": "enable"}
    tables: dict[str, dict[str, Any]] = {
        "DEVICE_METADATA": {"localhost": {
            "hostname": view.name,
            "bgp_asn": str(view.asn),
            "type": {"leaf": "ToRRouter", "spine": "LeafRouter", "core": "SpineRouter"}[view.run.tier.name],
            "docker_routing_config_mode": "split-unified",
        }},
        "INTERFACE": interfaces,
        "LOOPBACK_INTERFACE": {"Loopback0": {}, f"Loopback0|{view.loopback}/32": {}},
        "MGMT_INTERFACE": {f"eth0|{view.management}/{view.run.subnet.block.prefixlen}": {
            "gwaddr": view.run.management_gateway}},
        "PORT": ports,
    }  # fmt: skip
    tails = [node.port for node in view.nodes if node.split > 1]
    for name, entries in _port_tables(tails, underlay.lossless).items() if tails else ():
        for key, entry in entries.items():
            tables.setdefault(name, {})[key] = tables.get(name, {}).get(key, {}) | entry
    files: dict[str, File | str] = {
        f"{view.name}/switch.json": _text(tables), f"{view.name}/frr.conf": routing(view, underlay, False),
    }  # fmt: skip
    if view.breakouts:
        speed = underlay.speed.to("Gb/s") * view.run.parts
        slower = {node.port: speed_of(node.speed)["speed"] for node in view.nodes if node.speed}
        text = fill("roce/sonic-breakout.sh.j2", head=head(view.name, "#"), cages=view.breakouts, speed=speed,
                    slower=slower)  # fmt: skip
        files[f"{view.name}/breakout.sh"] = File(text, executable=True)
    return files


def shared(run: SwitchRun, underlay: Underlay, ports: Sequence[str]) -> dict[str, File | str]:
    """What all switches of a tier have in common."""
    contract, ecn = underlay.lossless, underlay.lossless.ecn[run.tier.name]
    data, cnp = str(contract.priority), str(contract.cnp_priority)
    classes = [str(number) for number in range(8)]
    colours = ("green", "yellow", "red")
    marks = {"ecn": "ecn_all"}
    for colour in colours:
        marks |= {
            f"wred_{colour}_enable": "true",
            f"{colour}_min_threshold": str(ecn.min),
            f"{colour}_max_threshold": str(ecn.max),
            f"{colour}_drop_probability": str(ecn.probability),
        }
    # the map that comes with SONiC sends DSCP 26 to a lossy class: every value is said here
    dscp = {str(value): "0" for value in range(64)} | {str(contract.dscp): data, str(contract.cnp_dscp): cnp}
    of_ports = _port_tables(ports, contract)
    tables: dict[str, dict[str, Any]] = {
        "CABLE_LENGTH": of_ports["CABLE_LENGTH"],
        "DSCP_TO_TC_MAP": {_MAP: dscp},
        "MAP_PFC_PRIORITY_TO_QUEUE": {_MAP: {item: item for item in classes}},
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": str(contract.poll.ceil("ms"))}} | of_ports["PFC_WD"],
        "PORT": of_ports["PORT"],
        "PORT_QOS_MAP": {"global": {"dscp_to_tc_map": _MAP}} | of_ports["PORT_QOS_MAP"],
        "QUEUE": of_ports["QUEUE"],
        "SCHEDULER": {
            "roce.cnp": {"type": "STRICT"},
            "roce.data": {"type": "DWRR", "weight": str(contract.weight)},
            "roce.rest": {"type": "DWRR", "weight": str(100 - contract.weight)},
        },
        "TC_TO_PRIORITY_GROUP_MAP": {_MAP: {item: item if item == data else "0" for item in classes}},
        "TC_TO_QUEUE_MAP": {_MAP: {item: item for item in classes}},
        "WRED_PROFILE": {"ROCE_ECN": marks},
    }  # fmt: skip
    return {"qos.json": _text(tables)}


def _port_tables(ports: Sequence[str], contract: Lossless) -> dict[str, dict[str, Any]]:
    """What the contract says of each port, table by table."""
    data, cnp = str(contract.priority), str(contract.cnp_priority)
    queues: dict[str, dict[str, str]] = {}
    for port in ports:
        queues[f"{port}|0"] = {"scheduler": "roce.rest"}
        queues[f"{port}|{data}"] = {"scheduler": "roce.data", "wred_profile": "ROCE_ECN"}
        queues[f"{port}|{cnp}"] = {"scheduler": "roce.cnp"}
    milliseconds = {"detection_time": contract.detection, "restoration_time": contract.restoration}
    watch = {"action": "drop"} | {key: str(value.ceil("ms")) for key, value in milliseconds.items()}
    mapped = {
        "dscp_to_tc_map": _MAP, "tc_to_pg_map": _MAP, "tc_to_queue_map": _MAP, "pfc_to_queue_map": _MAP,
        "pfc_enable": data, "pfcwd_sw_enable": data,
    }  # fmt: skip
    return {
        "CABLE_LENGTH": {"AZURE": {port: f"{contract.cable.ceil('m')}m" for port in ports}},
        "PFC_WD": {port: watch for port in ports},
        "PORT": {port: {"admin_status": "up", "mtu": str(contract.mtu)} for port in ports},
        "PORT_QOS_MAP": {port: mapped for port in ports},
        "QUEUE": queues,
    }


def _text(tables: dict[str, dict[str, Any]]) -> str:
    """A line an entry: readable, and quick to write for a thousand switches."""
    parts = []
    for name, entries in tables.items():
        lines = ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in entries.items())
        parts.append(f' "{name}": {{\n{lines}\n }}')
    return "{\n" + ",\n".join(parts) + "\n}\n"
