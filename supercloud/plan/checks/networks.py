"""Checks of addresses, AS numbers and lossless settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ...catalog import Catalog, NetworkOs
from ...errors import Finding
from ...primitives.addresses import Block
from ..build.fabric.roles import get_fabric_role, is_routed
from ..build.fabric.upstream import list_upstream, select_top_switches
from ..build.network.bridge_needs import describe_missing_feature
from ..build.network.vlans import LAST_VLAN, build_vlans, list_own_vlans
from ..model.network import SwitchRun
from ..model.plan import FabricPlan, Plan
from ..model.subnet import parse_block

# Subnets that a finding lists.
_MAX_LISTED = 4


def network_routed(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """In-band and management networks that are routed: their hosts have addresses from subnets that need bridging."""
    for index, item in enumerate(plan.spec.fabrics):
        role = get_fabric_role(item)
        if plan.site.kind == "onprem" and role in ("in-band", "management") and is_routed(item.kind, role):
            yield Finding(
                "network-routed",
                "error",
                f"fabrics[{index}].kind",
                f"{item.name} has the role {role}, whose hosts have one address each, by DHCP from a subnet that spans "
                f"the network; every link of kind {item.kind} is routed, so that no host would reach its gateway",
                "set kind: ethernet",
            )


def network_overlap(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Two networks with overlapping addresses."""
    spans = sorted(_iter_blocks(plan), key=lambda item: (int(item[1].network_address), -item[1].num_addresses))
    reported: set[tuple[str, str]] = set()
    widest = spans[0] if spans else None
    for span in spans[1:]:
        assert widest is not None
        path, block, what = span
        if block.overlaps(widest[1]) and widest[0] != path and (path, widest[0]) not in reported:
            reported.add((path, widest[0]))
            place, other = (span, widest) if _get_path_rank(path) >= _get_path_rank(widest[0]) else (widest, span)
            yield Finding(
                "network-overlap",
                "error",
                place[0],
                f"{place[1]} ({place[2]}) and {other[1]} ({other[2]}) overlap",
                f"change the network {place[1]}, or {other[0]}",
            )
        if block.broadcast_address > widest[1].broadcast_address:
            widest = span


def _get_path_rank(path: str) -> int:
    """Rank of the path to change: the most specific first."""
    return ("network.cidr", "network.management", "network.fabrics").index(path) if path.startswith("network") else 3


def _iter_blocks(plan: Plan) -> Iterator[tuple[str, Block, str]]:
    """(path, block, what it is for) of every network that must not overlap with others."""
    if plan.networks is None:
        return
    whole = parse_block(plan.network.cidr)
    if whole is not None:
        yield "network.cidr", whole, "the in-band network"
    given = {f"bmc-{pool.name}": index for index, pool in enumerate(plan.spec.pools) if pool.hosts.bmc}
    for subnet in plan.networks.subnets:
        if subnet.role in ("bmc", "switch", "loopback"):
            place = given.get(subnet.name)
            path = "network.management" if place is None else f"pools[{place}].hosts.bmc.subnet"
            yield path, subnet.block, subnet.name
    for index, fabric in enumerate(plan.spec.fabrics):
        for subnet in plan.networks.subnets:
            if subnet.role == "rail" and subnet.fabric == fabric.name:
                path = f"fabrics[{index}].subnet" if fabric.subnet else "network.fabrics"
                yield path, subnet.block, f"rails: {subnet.name}"


def network_asn_overlap(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Two fabrics with the same AS numbers: if they are connected, one rejects the routes of the other."""
    underlays = plan.networks.underlays if plan.networks else ()
    positions = {fabric.name: index for index, fabric in enumerate(plan.spec.fabrics)}
    for number, one in enumerate(underlays):
        for other in underlays[:number]:
            if one.as_numbers[0] <= other.as_numbers[1] and other.as_numbers[0] <= one.as_numbers[1]:
                yield Finding(
                    "network-asn-overlap",
                    "warning",
                    f"fabrics[{positions[one.fabric]}].routing.asn_range",
                    f"{one.as_numbers[0]}-{one.as_numbers[1]} of {one.fabric} and "
                    f"{other.as_numbers[0]}-{other.as_numbers[1]} of {other.fabric} "
                    "overlap",
                    "set a separate range for each fabric",
                )


def network_paths(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """More equal-cost paths than the switch's operating system uses for a route."""
    for underlay in plan.networks.underlays if plan.networks else ():
        for run in underlay.switches:
            if run.network_os and run.tier.up > run.network_os.max_paths:
                index = [fabric.name for fabric in plan.spec.fabrics].index(underlay.fabric)
                yield Finding(
                    "network-paths",
                    "warning",
                    f"fabrics[{index}]",
                    f"{run.tier.up} uplinks of a {run.tier.name}, {run.network_os.name} uses "
                    f"{run.network_os.max_paths}",
                    "use fewer and faster uplinks, or another operating system",
                )


def network_edge(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Cables that leave a routed fabric, or bypass it: its routing ends at its own switches."""
    leaves = {fabric.name: fabric.count_switches("leaf") for fabric in plan.fabrics}
    for index, fabric in enumerate(plan.spec.fabrics):
        if plan.networks is None or plan.networks.find_underlay(fabric.name) is None:
            continue
        downstream = {
            item.name: item.upstream.links * leaves.get(item.name, 0)
            for item in plan.spec.fabrics
            if item.upstream and item.upstream.fabric == fabric.name
        }
        rows = [
            ("external_links", fabric.external_links, "the building"),
            ("peer_links", fabric.peer_links * (leaves.get(fabric.name, 0) // 2), "the other leaf of a pair"),
            (
                "upstream",
                fabric.upstream.links * leaves.get(fabric.name, 0) if fabric.upstream else 0,
                fabric.upstream.fabric if fabric.upstream else "",
            ),
        ]
        rows += [("", links, name) for name, links in downstream.items()]
        for key, links, where in rows:
            if links:
                yield Finding(
                    "network-edge",
                    "warning",
                    f"fabrics[{index}]" + (f".{key}" if key else ""),
                    f"{links} links of {fabric.name} lead to {where}: they are cabled, but their ports have neither "
                    "addresses nor BGP sessions, because the announced routes are not declared",
                    "configure both ends by hand, filter the received routes, and suppress this with a reason",
                )


def network_bridging(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Switches of a bridged network whose operating system lacks a function that the network requires."""
    bridged = _find_bridged_fabrics(plan)
    positions = {fabric.name: index for index, fabric in enumerate(plan.spec.fabrics)}
    for run in plan.networks.switches if plan.networks else ():
        if run.fabric in bridged and (lack := describe_missing_feature(plan, bridged[run.fabric], run)):
            yield Finding(
                "network-bridging",
                "warning",
                f"fabrics[{positions[run.fabric]}]",
                f"no configuration is rendered for {run.tier.count} {run.tier.name} switches of {run.fabric}: {lack}",
                _suggest_systems(plan, catalog, bridged[run.fabric], run),
            )


def _suggest_systems(plan: Plan, catalog: Catalog, fabric: FabricPlan, run: SwitchRun) -> str:
    """The operating systems of the catalog for switches of a tier that have all functions that it requires."""
    fitting = [
        system.name
        for system in catalog.iter_entries(NetworkOs)
        if system.is_for(run.switch) and not describe_missing_feature(plan, fabric, replace(run, network_os=system))
    ]
    by_hand = "configure them by hand and suppress this"
    return f"set os: {' or '.join(fitting)} if the switch runs it, or {by_hand}" if fitting else by_hand


def _find_bridged_fabrics(plan: Plan) -> dict[str, FabricPlan]:
    """The networks whose switches only bridge, by name."""
    return {
        item.name: item
        for item in plan.fabrics
        if item.tiers and item.kind != "infiniband" and not is_routed(item.kind, item.role)
    }


def network_external_links(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Bridged networks of several subnets, or planes of them, without a router: their switches only bridge."""
    bridged, vlans = _find_bridged_fabrics(plan), build_vlans(plan)
    declared = {fabric.name: fabric for fabric in plan.spec.fabrics}
    separate: dict[str, list[str]] = {}
    for name in bridged:
        way = list_upstream([declared[item] for item in bridged], name)  # up to the network where its VLANs end
        if not any(declared[item].external_links for item in way):
            separate.setdefault(way[-1], []).append(name)
    for last, names in separate.items():
        subnets = sorted({vlan for name in names for vlan in list_own_vlans(bridged[name], vlans)})
        if len(subnets) > 1:
            listed = ", ".join(vlan.name for vlan in subnets[:_MAX_LISTED]) + (
                ", …" if len(subnets) > _MAX_LISTED else ""
            )
            yield Finding(
                "network-external-links",
                "warning",
                f"fabrics[{list(declared).index(last)}].external_links",
                f"no link of {' and '.join(names)} leads to a router: the {len(subnets)} subnets ({listed}) are VLANs "
                "of their own, and machines in different subnets cannot reach each other",
                "set external_links to the number of links to the building's router, which has the gateways' addresses"
                f"{_describe_least_external_links(bridged[last])}, or cable a router by hand and suppress this "
                "with a reason",
            )
    yield from _iter_missed_planes(plan, bridged)


def _describe_least_external_links(fabric: FabricPlan) -> str:
    return f" ({fabric.planes} at least, one for each plane)" if fabric.planes > 1 else ""


def _iter_missed_planes(plan: Plan, bridged: dict[str, FabricPlan]) -> Iterator[Finding]:
    """Planes of bridged networks that have no external link, or no link of a network below. Nodes use one plane at
    a time, and planes are connected outside only: a node whose link in another plane fails has no gateway there.
    """
    for index, declared in enumerate(plan.spec.fabrics):
        fabric = bridged.get(declared.name)
        if fabric and declared.external_links and (missed := _list_missed_planes(fabric, declared.external_links)):
            yield Finding(
                "network-external-links",
                "warning",
                f"fabrics[{index}].external_links",
                f"no link of {missed} of {fabric.name} leads to a router: a node that uses its link in that plane, "
                "as it does when its other links fail, can reach neither its gateway nor the nodes that use another "
                "plane",
                f"set external_links: {fabric.planes}, or cable a router to each plane by hand and suppress this "
                "with a reason",
            )
        upper = bridged.get(declared.upstream.fabric) if declared.upstream else None
        if fabric and upper and declared.upstream:
            leaves, switch = fabric.tiers[0].count, fabric.tiers[0].switch
            if missed := _list_missed_planes(upper, leaves * declared.upstream.links):
                links = -(-upper.planes // leaves)
                larger = f" and use leaves with {links} uplink ports" if links > switch.uplink_ports else ""
                yield Finding(
                    "network-external-links",
                    "warning",
                    f"fabrics[{index}].upstream.links",
                    f"no link of {fabric.name} leads to {missed} of {upper.name}: if the other planes fail, "
                    f"{fabric.name} is not reachable",
                    f"set upstream: {{fabric: {upper.name}, links: {links}}}{larger}, or suppress this with a reason",
                )


def _list_missed_planes(fabric: FabricPlan, links: int) -> str:
    """The planes, in words, whose topmost switches have none of that many links; empty if there are none."""
    per_plane = fabric.tiers[-1].count // max(1, fabric.planes)
    reached = {switch // per_plane for switch in select_top_switches(fabric, links).tolist()}
    missed = [str(plane + 1) for plane in range(fabric.planes) if plane not in reached]
    return f"plane{'s' * (len(missed) > 1)} {', '.join(missed)}" if missed else ""


def network_system(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Operating systems on switches of a vendor that they do not support."""
    positions = {fabric.name: index for index, fabric in enumerate(plan.spec.fabrics)}
    for run in plan.networks.switches if plan.networks else ():
        if run.network_os is None or run.network_os.is_for(run.switch):
            continue
        declared = plan.spec.fabrics[positions[run.fabric]]
        key = f"systems.{run.tier.name}" if declared.systems else "os"
        known = catalog.iter_entries(NetworkOs)
        able = ", ".join(item.name for item in known if item.is_for(run.switch))
        yield Finding(
            "network-system",
            "warning",
            f"fabrics[{positions[run.fabric]}].{key}",
            f"{run.network_os.title} runs on switches of {', '.join(run.network_os.vendors)}, the {run.tier.name} "
            f"switches are {run.switch.name} of {run.switch.vendor}",
            f"use {able or 'another switch'}, omit it to use the preinstalled operating system, or extend "
            f"vendors of {run.network_os.name} in a catalog overlay",
        )


def network_vlans(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """VLANs of unknown subnets, and two subnets in one VLAN."""
    vlans = build_vlans(plan)
    for name in plan.spec.network.vlans:
        if name not in vlans:
            close = ", ".join(vlans) or "no bridged network"
            yield Finding(
                "network-vlans",
                "error",
                f"network.vlans.{name}",
                f"unknown bridged subnet {name!r}",
                f"the plan has {close}",
            )
    first: dict[int, str] = {}
    for vlan in vlans.values():
        if vlan.number > LAST_VLAN:
            yield Finding(
                "network-vlans",
                "error",
                "network.vlans",
                f"{vlan.name} would be in VLAN {vlan.number}: the last number is {LAST_VLAN}",
                f"set its number: vlans: {{{vlan.name}: …}}",
            )
        other = first.setdefault(vlan.number, vlan.name)
        if other != vlan.name:
            yield Finding(
                "network-vlans",
                "error",
                "network.vlans",
                f"{other} and {vlan.name} are both in VLAN {vlan.number}",
                "set a separate VLAN for each subnet",
            )


def network_lossless(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Lossless settings that contradict each other."""
    for underlay in plan.networks.underlays if plan.networks else ():
        path = f"fabrics[{[fabric.name for fabric in plan.spec.fabrics].index(underlay.fabric)}].qos"
        policy = underlay.qos_policy
        if policy.dscp == policy.cnp_dscp:
            yield Finding(
                "network-lossless",
                "error",
                f"{path}.cnp_dscp",
                f"data and congestion notifications both have DSCP {policy.dscp}",
                "set different values",
            )
        if policy.priority == policy.cnp_priority:
            yield Finding(
                "network-lossless",
                "error",
                f"{path}.cnp_priority",
                f"data and congestion notifications both have priority {policy.priority}",
                "set different values",
            )
        if policy.host_mtu > policy.mtu:
            yield Finding(
                "network-lossless",
                "error",
                f"{path}.host_mtu",
                f"nodes send frames of {policy.host_mtu} bytes, links between switches support {policy.mtu}",
                f"set host_mtu to at most {policy.mtu}",
            )
        for marks in set(policy.ecn.values()):
            if marks.min >= marks.max:
                yield Finding(
                    "network-lossless",
                    "error",
                    f"{path}.ecn.min",
                    f"ECN marking from {marks.min} to {marks.max} bytes",
                    "set min below max",
                )


def network_unused(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Settings of routed Ethernet on a fabric of another kind."""
    for index, fabric in enumerate(plan.spec.fabrics):
        if is_routed(fabric.kind, get_fabric_role(fabric)):
            continue
        bridged = fabric.kind == "ethernet"
        for key in ("routing", "qos", "subnet") if bridged else ("os", "systems", "routing", "qos"):
            if key in fabric.model_fields_set:
                yield Finding(
                    "network-unused",
                    "warning",
                    f"fabrics[{index}].{key}",
                    f"{fabric.name} is bridged, as {get_fabric_role(fabric)} networks are: {key!r} applies to routed "
                    "networks only"
                    if bridged
                    else f"{fabric.name} is {fabric.kind}: {key!r} applies to roce and ethernet only",
                    "remove it, or make the fabric 'kind: roce'" if bridged else "remove it",
                )


CHECKS = (
    network_asn_overlap,
    network_bridging,
    network_lossless,
    network_edge,
    network_external_links,
    network_overlap,
    network_paths,
    network_routed,
    network_system,
    network_unused,
    network_vlans,
)
