"""Decisions about bridged networks: port bundles, VLANs of ports, pairs of leaves, root of the spanning tree.

Two leaves with links between them (``peer_links``) act as one switch towards devices that are connected to both. All
links between two such switches form one bundle (LACP); so do those of a host that end at one of them. Remaining loops,
such as uplinks to two spines, are blocked by the spanning tree. Ports come from the table of cables, so that the two
agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ...model.bridges import BridgedNetwork, BridgeSwitch, HostBond, Trunk
from ...model.network import SwitchRun
from ...model.plan import FabricPlan, Plan
from ..cabling.cabled import list_cabled_fabrics
from ..fabric.roles import is_routed
from .trunks import BridgeContext, NamedLink, SwitchPort, attach_host, compute_breakouts, join_switches
from .vlans import Vlan, build_vlans, list_own_vlans

if TYPE_CHECKING:
    from ...model.cables import CableTable

__all__ = ["build_bridged_networks", "list_bridged_fabrics"]

# Priorities of bridges are multiples of 4096 (IEEE 802.1D); the default is 32768.
_PRIORITY_STEP = 4096


def list_bridged_fabrics(plan: Plan) -> tuple[FabricPlan, ...]:
    """The Ethernet networks with self-managed switches that are not routed."""
    return tuple(
        item for item in list_cabled_fabrics(plan) if item.kind != "infiniband" and not is_routed(item.kind, item.role)
    )


def build_bridged_networks(plan: Plan) -> tuple[BridgedNetwork, ...]:
    """Build every bridged network of a plan, with all of its switches."""
    from ..cabling.cables import build_cable_table
    from ..cabling.ends import DeviceLocator

    fabrics = list_bridged_fabrics(plan)
    context = _build_context(plan, fabrics)
    locator = DeviceLocator(plan)
    links = [link for item in fabrics for link in _iter_links(context, build_cable_table(plan, item, locator))]
    vlans = build_vlans(plan)
    own = {item.name: list_own_vlans(item, vlans) for item in fabrics}
    carried = {item.name: _list_carried_vlans(context, own, item.name) for item in fabrics}
    trunks: dict[str, list[Trunk]] = {name: [] for name in context.runs}
    host_vlans = _find_host_vlans(plan, vlans)
    bonds = {item.name: _attach_hosts(context, trunks, item, links, host_vlans) for item in fabrics}
    join_switches(context, trunks, [(link.lower, link.upper) for link in links if link.lower], carried)
    _add_external_links(context, trunks, links, carried)
    switches = _build_switches(context, links, trunks, carried)
    return tuple(
        BridgedNetwork(item, own[item.name], _select_switches(switches, item, vlans), *bonds[item.name])
        for item in fabrics
    )


def _build_context(plan: Plan, fabrics: Sequence[FabricPlan]) -> BridgeContext:
    """All switches of bridged networks, by name."""
    networks = plan.networks
    assert networks is not None
    context = BridgeContext(plan, declared={item.name: item for item in plan.spec.fabrics})
    names = {item.name for item in fabrics}
    for run in networks.switches:
        if run.fabric in names:
            context.runs |= {run.format_name(index): (run, index) for index in range(run.tier.count)}
    return context


def _select_switches(
    switches: Sequence[BridgeSwitch], fabric: FabricPlan, vlans: Mapping[str, Vlan]
) -> tuple[BridgeSwitch, ...]:
    """The switches of a network; on the management network each has the VLAN of its own management."""
    own = tuple(switch for switch in switches if switch.run.fabric == fabric.name)
    if fabric.role != "management":
        return own
    return tuple(replace(switch, management_vlan=vlans.get(switch.run.subnet.name)) for switch in own)


def _attach_hosts(
    context: BridgeContext,
    trunks: dict[str, list[Trunk]],
    fabric: FabricPlan,
    links: Sequence[NamedLink],
    host_vlans: Mapping[tuple[str, str], Vlan],
) -> tuple[tuple[HostBond, ...], tuple[str, ...]]:
    """Add the trunks of a network's hosts; returns their bonds, and the hosts whose VLAN is unknown."""
    hosts: dict[tuple[str, str], list[NamedLink]] = {}
    for link in links:
        if link.fabric == fabric.name and link.host:
            hosts.setdefault((link.group, link.host), []).append(link)
    modes: dict[tuple[str, int, str], list[str]] = {}
    without_vlan: set[str] = set()
    for (group, host), ends in hosts.items():
        vlan = host_vlans.get((fabric.role, group))
        if vlan is None:
            without_vlan.add(host)
        mode = attach_host(context, trunks, host, ends, vlan, fabric.pool_speeds.get(group))
        if mode:
            modes.setdefault((group, len(ends), mode), []).append(host)
    bonds = tuple(
        HostBond(group, tuple(names), ports, mode)  # type: ignore[arg-type]
        for (group, ports, mode), names in modes.items()
    )
    return bonds, tuple(sorted(without_vlan))


def _add_external_links(
    context: BridgeContext,
    trunks: dict[str, list[Trunk]],
    links: Sequence[NamedLink],
    carried_vlans: Mapping[str, tuple[Vlan, ...]],
) -> None:
    """Add the ports to the router of the building."""
    for link in links:
        if link.is_external:
            run, _ = context.runs[link.upper.switch]
            port = context.format_port_name(link.upper)
            trunks[link.upper.switch].append(
                Trunk("exit", (port,), "to the building", 0, tagged=carried_vlans[run.fabric])
            )


def _build_switches(
    context: BridgeContext,
    links: Sequence[NamedLink],
    trunks: Mapping[str, Sequence[Trunk]],
    carried_vlans: Mapping[str, tuple[Vlan, ...]],
) -> list[BridgeSwitch]:
    """All bridged switches, without the VLAN of their management."""
    used: dict[str, list[SwitchPort]] = {}
    for link in links:
        for end in (link.upper, link.lower):
            if end:
                used.setdefault(end.switch, []).append(end)
    fabrics = {item.name: item for item in context.plan.fabrics}
    pairs = sorted({context.find_bridge(name) for name in context.runs if context.find_peer(name)})
    switches = []
    for name, (run, index) in context.runs.items():
        peer = context.find_peer(name)
        switches.append(
            BridgeSwitch(
                run=run,
                index=index,
                name=name,
                management=run.get_management_address(index),
                peer=(peer, run.get_management_address(context.runs[peer][1])) if peer else None,
                pair=pairs.index(context.find_bridge(name)) + 1 if peer else 0,
                is_first=index % 2 == 0,
                priority=_compute_priority(context, fabrics[run.fabric], run, index),
                vlans=carried_vlans[run.fabric],
                trunks=tuple(sorted(trunks[name], key=lambda trunk: _build_natural_sort_key(trunk.ports[0]))),
                breakouts=compute_breakouts(context, used.get(name, ())),
                management_vlan=None,
            )
        )
    return switches


def _iter_links(context: BridgeContext, table: CableTable) -> Iterator[NamedLink]:
    splits = {service.name: service.split for service in table.fabric.services}
    pools = {item.hosts.get_name(0): item.name for item in context.plan.pools}
    one, other, ports = (
        table.get_device_names("source"),
        table.get_device_names("target"),
        table.get_port_names("source"),
    )
    rows = zip(
        table.links.source_set.tolist(),
        one,
        table.links.source_port.tolist(),
        ports,
        table.links.target_set.tolist(),
        other,
        table.links.target_port.tolist(),
        table.links.lane.tolist(),
        strict=True,
    )
    for one_set, a, a_port, a_name, other_set, b, b_port, lane in rows:
        near, far = table.devices[one_set], table.devices[other_set]
        name = table.fabric.name
        if far.kind == "building":
            yield NamedLink(name, SwitchPort(a, a_port, 0, 1), None, is_external=True)
        elif near.side == "switch":
            yield NamedLink(name, SwitchPort(b, b_port, 0, 1), SwitchPort(a, a_port, 0, 1))
        elif far.side == "switch":
            pool = pools.get(near.names[0], near.kind) if near.kind == "node" else near.kind
            end = SwitchPort(b, b_port, lane, splits.get(near.kind, 1) if lane else 1)
            yield NamedLink(name, end, None, a, str(a_name), pool)


def _build_natural_sort_key(port: str) -> list[tuple[int, str]]:
    """Natural sort order of ports: swp2 comes before swp10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", port)]


def _list_carried_vlans(
    context: BridgeContext, vlans_by_fabric: Mapping[str, tuple[Vlan, ...]], fabric: str
) -> tuple[Vlan, ...]:
    """The VLANs of a network and of those whose upstream fabric it is."""
    found, left = set(vlans_by_fabric[fabric]), [fabric]
    seen: set[str] = set()
    while left:
        name = left.pop()
        seen.add(name)
        for other, declared in context.declared.items():
            if (
                other in vlans_by_fabric
                and other not in seen
                and declared.upstream
                and declared.upstream.fabric == name
            ):
                found |= set(vlans_by_fabric[other])
                left.append(other)
    return tuple(sorted(found, key=lambda vlan: vlan.number))


def _compute_priority(context: BridgeContext, fabric: FabricPlan, run: SwitchRun, index: int) -> int | None:
    """The first topmost switch, or pair, is the root of the spanning tree; the second is the backup root."""
    if context.declared[fabric.name].upstream or run.tier.name != fabric.tiers[-1].name:
        return None
    places = list(dict.fromkeys(context.find_bridge(run.format_name(item)) for item in range(run.tier.count)))
    rank = places.index(context.find_bridge(run.format_name(index)))
    return (rank + 1) * _PRIORITY_STEP if rank < 2 else None


def _find_host_vlans(plan: Plan, vlans: Mapping[str, Vlan]) -> dict[tuple[str, str], Vlan]:
    """(role of a network, pool or group) -> the VLAN of its machines in it."""
    networks = plan.networks
    assert networks is not None
    names: dict[tuple[str, str], str] = {}
    by_block = {(subnet.role, subnet.block): subnet.name for subnet in networks.subnets}
    bmcs = {run.group: run.addresses.block for run in networks.bmcs}
    for pool in plan.pools:
        names["in-band", pool.name] = by_block["in-band", pool.addresses.block]
        names["management", pool.name] = by_block["bmc", bmcs[pool.name]]
    blocks = {subnet.block: subnet.name for subnet in networks.subnets if subnet.role == "storage"}
    for group in plan.servers:
        names["in-band", group.name] = blocks.get(group.addresses.block, "")
        names["management", group.name] = f"bmc-{group.name}"
    for machine in networks.machines:
        if machine.addresses:
            names["in-band", machine.name] = "service"
        names["management", machine.name] = f"bmc-{machine.name}"
    names["management", "pdu"] = "bmc-pdu"
    for run in networks.switches:
        names["management", f"{run.fabric}-{run.tier.name}"] = run.subnet.name
    return {key: vlans[name] for key, name in names.items() if name in vlans}
