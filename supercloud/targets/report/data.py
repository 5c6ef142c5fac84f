"""Data of the page's search: host ranges, link rules, and the racks with their contents.

Cables of nodes and between tiers are not listed: the page has the same arithmetic as ``supercloud.topology.links`` and
evaluates it on demand. Link groups of other kinds are tables, as are the cables of services and those between leaves or
networks.
"""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from ...plan.build.cabling.ends import DeviceLocator
from ...plan.model.plan import FabricPlan, Plan
from ...primitives.nodes import HostRange
from ...topology import Fabric as Wiring
from ...topology import LinkGroup
from ...topology.links import NodeLinks, RingLinks, TierLinks
from ...topology.reserved import ReservedLinks
from ..pictures import RackContents, draw_elevation
from .names import count_switch_digits, format_switch_name
from .ports import build_port_names, list_irregular_cables

__all__ = ["PAGE_NAMES", "build_page_data", "format_script_json"]

_RULE_NAMES: dict[type[LinkGroup], str] = {
    NodeLinks: "node",
    ReservedLinks: "reserved",
    TierLinks: "tier",
    RingLinks: "ring",
}
# Fields of the rules with a shorter name on the page (templates/report/wiring.js.j2).
PAGE_NAMES = {
    "unit_nodes": "unit",
    "block_nodes": "block",
    "leaves_per_block": "sides",
    "switches_per_plane": "per_plane",
    "section_switches": "section",
    "group_switches": "size",
    "is_strided": "strided",
    "upper_switches": "width",
    "is_closed": "closed",
}


def build_page_data(plan: Plan) -> dict[str, Any]:
    """Build the data of the page's script."""
    ranges = _build_ranges(plan)
    spots = DeviceLocator(plan)
    fabrics = [_build_fabric(fabric, plan, spots) for fabric in plan.fabrics if isinstance(fabric.wiring, Wiring)]
    racks = _build_racks(plan)
    return {
        "ranges": ranges,
        "fabrics": fabrics,
        "racks": racks,
        "rows": plan.layout.row_count if plan.layout else 0,
        "examples": list_examples(plan),
    }


def list_examples(plan: Plan) -> list[str]:
    """Return an example of each kind of searchable name."""
    found = [next(iter(pool.hosts)) for pool in plan.pools[:1]]
    for fabric in plan.fabrics[:1]:
        if isinstance(fabric.wiring, Wiring) and fabric.wiring.link_groups:
            if fabric.tiers:
                port = _find_first_port(plan, fabric)
                found.append(f"{format_switch_name(plan, fabric.name, fabric.tiers[0].name, 0)}:{port}")
            found.append(f"{fabric.name}:{_list_group_names(fabric.wiring)[0]}:1")
    if plan.layout and plan.layout.racks:
        found.append(plan.layout.racks[0].name)
    return found


def _find_first_port(plan: Plan, fabric: FabricPlan) -> str:
    """Return the printed name of the first port of a leaf."""
    return build_port_names(plan, fabric, DeviceLocator(plan))[fabric.tiers[0].name][0][0]


def format_script_json(data: object) -> str:
    """Format JSON that is safe inside a script element."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _build_ranges(plan: Plan) -> list[dict[str, Any]]:
    rows = [("node", pool.name, pool.machine.name, pool.hosts, pool.addresses) for pool in plan.pools]
    rows += [("server", group.name, group.machine.name, group.hosts, group.addresses) for group in plan.servers]
    return [
        {
            "what": what,
            "of": name,
            "name": name,
            "machine": machine,
            "prefix": hosts.prefix,
            "first": hosts.first,
            "width": hosts.width,
            "count": len(hosts),
            **({"runs": _build_name_runs(hosts)} if hosts.given else {}),
            "base": None if plan.cloud else int(addresses.block.network_address),
            "start": addresses.start,
            **({"addresses": addresses.list_runs()} if addresses.given else {}),
        }
        for what, name, machine, hosts, addresses in rows
    ]


def _build_name_runs(hosts: HostRange) -> list[list[Any]]:
    """Prefix, first number, number of hosts and digits of each run of given names; 0 digits: only a name."""
    return [[run.prefix, run.first, len(run), run.width] for run in hosts.list_runs()]


def _build_fabric(fabric: FabricPlan, plan: Plan, spots: DeviceLocator) -> dict[str, Any]:
    wiring = fabric.wiring
    assert isinstance(wiring, Wiring)
    members = [pool for pool in plan.pools if pool.name in fabric.pools]
    groups = zip(_list_group_names(wiring), wiring.link_groups, strict=True)
    return {
        "name": fabric.name,
        "speed": str(fabric.speed or ""),
        "members": [[pool.name, pool.nodes] for pool in members],
        "tiers": [[tier.name, tier.count, count_switch_digits(tier.count)] for tier in fabric.tiers],
        "models": {tier.name: tier.switch.name for tier in fabric.tiers},
        "chips": {tier.name: tier.switch.chips for tier in fabric.tiers},
        "groups": [_build_link_group(name, group) for name, group in groups],
        "ports": build_port_names(plan, fabric, spots),
        "further": list_irregular_cables(plan, fabric, spots),
    }


def _list_group_names(wiring: Wiring) -> list[str]:
    """Return names of the link groups; duplicates are numbered."""
    names = [group.name for group in wiring.link_groups]
    return [
        f"{name}-{names[: index + 1].count(name)}" if names.count(name) > 1 else name
        for index, name in enumerate(names)
    ]


def _build_link_group(name: str, group: LinkGroup) -> dict[str, Any]:
    rule = _RULE_NAMES.get(type(group))
    found = {"name": name, "source": group.source_kind, "target": group.target_kind, "count": group.count}
    if rule is None:
        return found | {"rule": "table", "links": [[*link[1:3], *link[4:7]] for link in group.iter_links()]}
    own = {
        PAGE_NAMES.get(item.name, item.name): getattr(group, item.name)
        for item in fields(group)
        if not item.name.endswith("_kind")
    }
    if isinstance(group, ReservedLinks):
        own = {"places": group.leaf_ports, "planes": group.planes, "leaves": group.leaves}
    return found | {"rule": rule} | own


def _build_racks(plan: Plan) -> list[dict[str, Any]]:
    if plan.layout is None:
        return []
    things = RackContents(plan)
    return [
        {
            "name": rack.name,
            "row": rack.row,
            "kind": rack.kind,
            "kw": round(rack.power.to("kW"), 2),
            "least": rack.is_power_lower_bound,
            "items": [[item.kind, item.group, item.first, item.count, item.unit, item.height] for item in rack.items],
            "svg": draw_elevation(things, rack).render_inline(),
        }
        for rack in plan.layout.racks
    ]
