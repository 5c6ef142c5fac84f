"""EOS text compared with pyavd: Arista's schema accepts the facts, and its templates render the same lines."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import frr_tools

from supercloud.plan.build.network.bridges import build_bridged_networks
from supercloud.plan.model.bridges import BridgeSwitch, Trunk
from supercloud.plan.model.network import Underlay
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import loads
from supercloud.targets.site.dialects import SwitchView, eos, iter_switches
from supercloud.targets.site.roce.bundle import list_used_ports

HERE = Path(__file__).resolve().parent
SPEC = """\
name: eos
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools: [{name: train, machine: dgx-h100, nodes: 48, fabrics: [compute]}]
fabrics:
  - {name: compute, kind: roce, shape: rail-optimized, switch: arista-7060x6-64pe, routing: {bfd: true}, services: [
      {name: store, count: 4, links: 2}, {name: half, count: 4, links: 1, speed: 200 Gb/s}]}
"""


def build_facts(plan: Plan, view: SwitchView, underlay: Underlay) -> dict[str, Any]:
    """The facts of a routed switch as input for Arista's validated designs."""
    policy = underlay.qos_policy
    marks = policy.ecn[view.run.tier.name]
    used = list_used_ports(plan, view.run, underlay)
    ports: dict[str, dict[str, Any]] = {
        port: {"name": port, "mtu": policy.mtu, "service_profile": "ROCE"} for port in used
    }
    for node in view.host_ports:
        if node.split_count > 1:
            ports[node.port] = {"name": node.port, "mtu": policy.mtu, "service_profile": "ROCE"}
        ports[node.port] |= {
            "description": f"{node.host} nic {node.nic}",
            "switchport": {"enabled": False},
            "ip_address": f"{node.address}/31",
            "speed": "200g-2" if node.split_count > 1 else "400g-4",
        }
    for peer in view.peer_ports:
        ports[peer.port] |= {
            "description": f"{peer.switch} {peer.peer_port}",
            "switchport": {"enabled": False},
            "ipv6_enable": True,
            "speed": "400g-4",
        }
    lists = [
        {
            "name": "FABRIC",
            "sequence_numbers": [
                {"sequence": 10, "action": f"permit {underlay.block} le 31"},
                {"sequence": 20, "action": f"permit {underlay.loopbacks} ge 32"},
            ],
        }
    ]
    maps = [
        {
            "name": "FABRIC",
            "sequence_numbers": [{"sequence": 10, "type": "permit", "match": ["ip address prefix-list FABRIC"]}],
        }
    ]
    bgp: dict[str, Any] = {
        "as": str(view.asn),
        "router_id": view.loopback,
        "timers": {"keepalive_time": 3, "hold_time": 9},
        "maximum_paths": {"paths": view.paths, "ecmp": view.paths},
        "peer_groups": [{"name": "FABRIC", "bfd": True, "route_map_in": "FABRIC", "route_map_out": "FABRIC"}],
        "neighbor_interfaces": [
            {"name": peer.port, "peer_group": "FABRIC", "remote_as": str(peer.asn)} for peer in view.peer_ports
        ],
        "address_family_ipv4": {
            "networks": [{"prefix": f"{view.loopback}/32"}],
            "peer_groups": [
                {
                    "name": "FABRIC",
                    "activate": True,
                    "next_hop": {"address_family_ipv6": {"enabled": True, "originate": True}},
                }
            ],
        },
    }
    if view.prefix:
        nodes = [{"sequence": 10, "action": f"permit {view.prefix} le 31"}]
        if view.servers:
            nodes.append({"sequence": 20, "action": f"permit {view.servers} ge 31"})
        lists.append({"name": "NODES", "sequence_numbers": nodes})
        maps.append(
            {
                "name": "NODES",
                "sequence_numbers": [{"sequence": 10, "type": "permit", "match": ["ip address prefix-list NODES"]}],
            }
        )
        bgp["aggregate_addresses"] = [{"prefix": str(view.prefix), "summary_only": True}]
        bgp["redistribute"] = {"connected": {"enabled": True, "route_map": "NODES"}}
    return {
        "hostname": view.name,
        "service_routing_protocols_model": "multi-agent",
        "ip_routing_ipv6_interfaces": True,
        "ipv6_unicast_routing": True,
        "qos": {
            "map": {
                "dscp": [
                    f"{policy.dscp} to traffic-class {policy.priority}",
                    f"{policy.cnp_dscp} to traffic-class {policy.cnp_priority}",
                ]
            }
        },
        "priority_flow_control": {
            "watchdog": {"action": "drop", "timeout": "0.40", "recovery_time": "0.40", "polling_interval": "0.200"}
        },
        "qos_profiles": [
            {
                "name": "ROCE",
                "trust": "dscp",
                "priority_flow_control": {
                    "enabled": True,
                    "priorities": [{"priority": policy.priority, "no_drop": True}],
                },
                "uc_tx_queues": [
                    {
                        "id": policy.priority,
                        "priority": "no priority",
                        "bandwidth_percent": policy.weight,
                        "random_detect": {
                            "ecn": {
                                "threshold": {
                                    "units": "kbytes",
                                    "min": marks.min // 1000,
                                    "max": marks.max // 1000,
                                    "max_probability": marks.probability,
                                    "weight": 0,
                                }
                            }
                        },
                    },
                    {"id": policy.cnp_priority, "priority": "priority strict"},
                ],
            }
        ],
        "loopback_interfaces": [{"name": "Loopback0", "ip_address": f"{view.loopback}/32"}],
        "vrfs": [{"name": "MGMT", "ip_routing": False}],
        "static_routes": [{"vrf": "MGMT", "prefix": "0.0.0.0/0", "next_hop": view.run.management_gateway}],
        "management_interfaces": [
            {"name": "Management1", "vrf": "MGMT", "ip_address": f"{view.management}/{view.run.subnet.block.prefixlen}"}
        ],
        "management_ssh": {"vrfs": [{"name": "MGMT", "enable": True}]},
        "ethernet_interfaces": list(ports.values()),
        "prefix_lists": lists,
        "route_maps": maps,
        "router_bgp": bgp,
    }


def list_lines(text: str) -> set[tuple[str, str]]:
    """(section, line) for every line that is not a comment."""
    found = set()
    path: list[str] = []
    for line in text.splitlines():
        output = line.strip()
        if not output or output.startswith("!") or output == "end":
            continue
        depth = (len(line) - len(line.lstrip())) // 3
        path = [*path[:depth], output]
        found.add((" > ".join(path[:-1]), output))
    return found


def test_eos_configuration_matches_arista_avd() -> None:
    plan = resolve(loads(SPEC))
    assert plan.networks is not None
    (underlay,) = plan.networks.underlays
    views = list(iter_switches(plan, underlay))
    assert {node.split_count for node in views[0].host_ports} == {1, 2}
    for view in (views[0], views[-1]):
        (own,) = eos.render_routed_switch(view, underlay).values()
        (shared,) = eos.render_routed_tier(view.run, underlay, list_used_ports(plan, view.run, underlay)).values()
        done = subprocess.run(
            [str(frr_tools.install_python_tools() / "python"), str(HERE / "frr_avd.py")],
            input=json.dumps(build_facts(plan, view, underlay)),
            capture_output=True,
            text=True,
            check=True,
        )
        answer = json.loads(done.stdout)
        assert answer["violations"] == []
        ours, theirs = list_lines(own) | list_lines(shared), list_lines(answer["text"])
        assert ours - theirs == set()
        assert theirs - ours == set()


BRIDGED = """\
name: eos-bridged
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "25.11"}
pools: [{name: train, machine: dgx-h100, nodes: 48, fabrics: [in-band, management]}]
fabrics:
  - {name: in-band, kind: ethernet, shape: rail-optimized, switch: nvidia-sn4600c, os: eos, leaf_up: 4,
     spines: 2, peer_links: 2, external_links: 2, services: [{name: nfs, count: 2, links: 2}]}
  - {name: management, kind: ethernet, shape: fat-tree, switch: nvidia-sn2201, os: eos,
     upstream: {fabric: in-band, links: 2}}
"""


def build_port_facts(trunk: Trunk) -> dict[str, Any]:
    if trunk.vlan:
        return {"switchport": {"enabled": True, "mode": "access", "access_vlan": trunk.vlan.number}}
    allowed = ",".join(str(vlan.number) for vlan in trunk.tagged)
    return {"switchport": {"enabled": True, "mode": "trunk", "trunk": {"allowed_vlan": allowed}}}


def build_bridged_facts(view: BridgeSwitch) -> dict[str, Any]:
    """The facts of a bridged switch as input for Arista's validated designs."""
    edge = {"spanning_tree_portfast": "edge", "spanning_tree_bpduguard": "enabled"}
    ports: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    for trunk in view.trunks:
        host = edge if trunk.kind == "host" else {}
        for port in trunk.ports:
            row: dict[str, Any] = {"name": port, "description": trunk.description} | host
            if not trunk.number or host:
                row |= build_port_facts(trunk)
            if trunk.number:
                row["channel_group"] = {"id": trunk.number, "mode": "active"}
            ports.append(row)
        if trunk.number:
            row = {"name": f"Port-Channel{trunk.number}", "description": trunk.description} | host
            if trunk.kind == "peer":
                row["switchport"] = {"enabled": True, "mode": "trunk", "trunk": {"groups": ["MLAG"]}}
            else:
                row |= build_port_facts(trunk)
            if host:
                row |= {"lacp_fallback_mode": "individual", "lacp_fallback_timeout": 5}
            if trunk.is_mlag:
                row["mlag"] = trunk.number
            channels.append(row)
    length = view.run.subnet.block.prefixlen
    tree: dict[str, Any] = {"mode": "rstp"}
    if view.priority is not None:
        tree["rstp_priority"] = view.priority
    route = {"prefix": "0.0.0.0/0", "next_hop": view.run.management_gateway}
    facts: dict[str, Any] = {
        "hostname": view.name,
        "spanning_tree": tree,
        "ethernet_interfaces": ports,
        "port_channel_interfaces": channels,
        "vlans": [{"id": vlan.number, "name": vlan.name} for vlan in view.vlans],
        "static_routes": [route],
        "vlan_interfaces": [],
    }
    if view.management_vlan:
        facts["vlan_interfaces"].append(
            {
                "name": f"Vlan{view.management_vlan.number}",
                "description": view.management_vlan.name,
                "ip_address": f"{view.management}/{length}",
            }
        )
    else:
        route["vrf"] = "MGMT"
        facts |= {
            "vrfs": [{"name": "MGMT", "ip_routing": False}],
            "management_ssh": {"vrfs": [{"name": "MGMT", "enable": True}]},
            "management_interfaces": [
                {"name": "Management1", "vrf": "MGMT", "ip_address": f"{view.management}/{length}"}
            ],
        }
    if view.peer:
        tree["no_spanning_tree_vlan"] = "4094"
        ours, theirs = ("169.254.0.0", "169.254.0.1") if view.is_first else ("169.254.0.1", "169.254.0.0")
        facts["vlans"].append({"id": 4094, "name": "MLAG", "trunk_groups": ["MLAG"]})
        facts["vlan_interfaces"].append(
            {"name": "Vlan4094", "description": "MLAG", "no_autostate": True, "ip_address": f"{ours}/31"}
        )
        facts["mlag_configuration"] = {
            "domain_id": f"in-band-{view.pair}",
            "local_interface": "Vlan4094",
            "peer_address": theirs,
            "peer_address_heartbeat": {"peer_ip": view.peer[1], "vrf": "MGMT"},
            "peer_link": "Port-Channel2000",
            "reload_delay_mlag": "300",
            "reload_delay_non_mlag": "330",
        }
    return facts


def test_bridged_eos_configuration_matches_arista_avd() -> None:
    plan = resolve(loads(BRIDGED))
    assert not plan.errors, plan.errors
    for network in build_bridged_networks(plan):
        for view in (network.switches[0], network.switches[-1]):
            (own,) = eos.render_bridged_switch(view, network).values()
            assert isinstance(own, str)
            done = subprocess.run(
                [str(frr_tools.install_python_tools() / "python"), str(HERE / "frr_avd.py")],
                input=json.dumps(build_bridged_facts(view)),
                capture_output=True,
                text=True,
                check=True,
            )
            answer = json.loads(done.stdout)
            assert answer["violations"] == []
            ours, theirs = list_lines(own), list_lines(answer["text"])
            assert ours - theirs == set()
            assert theirs - ours == set()
