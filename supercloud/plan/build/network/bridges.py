"""Decisions about bridged networks: port bundles, VLANs of ports, pairs of leaves, root of the spanning tree.

Two leaves with links between them (``peer_links``) act as one switch towards devices that are connected to both. All
links between two such switches form one bundle (LACP); so do those of a host that end at one of them. Remaining loops,
such as uplinks to two spines, are blocked by the spanning tree. Ports come from the table of cables, so that the two
agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from ....primitives.quantity import Rate
from ....spec import Fabric as Declared
from ...model.network import SwitchRun
from ...model.plan import FabricPlan, Plan
from ..cabling.cabled import list_cabled_fabrics
from ..fabric.roles import is_routed
from .vlans import Vlan, build_vlans, list_own_vlans

if TYPE_CHECKING:
    from ...model.cables import CableTable

__all__ = [
    "PEER_CHANNEL",
    "BridgeSwitch",
    "HostBond",
    "BridgedNetwork",
    "Trunk",
    "list_bridged_fabrics",
    "build_bridged_networks",
]

# Numbers of bundles: up to this one they follow from ports and are equal on both switches of a pair.
_SINGLE_SWITCH_OFFSET = 1000
PEER_CHANNEL = 2000
# Priorities of bridges are multiples of 4096 (IEEE 802.1D); the default is 32768.
_PRIORITY_STEP = 4096


class _SwitchPort(NamedTuple):
    """A port of a switch."""

    switch: str
    number: int
    lane: int
    split: int


@dataclass(frozen=True)
class Trunk:
    """One or more ports of one switch that act as one interface."""

    kind: Literal["host", "switch", "peer", "exit"]
    ports: tuple[str, ...]
    description: str
    number: int
    """Number of the bundle, equal on both switches of a pair if it spans them; 0: a single port."""
    is_mlag: bool = False
    """Whether the other switch of the pair also has ports of it."""
    vlan: Vlan | None = None
    """Untagged VLAN. None: it carries tagged VLANs, or its VLAN is unknown."""
    tagged: tuple[Vlan, ...] = ()
    lanes: int = 0
    """Electrical lanes of each port, 0 if its cage is not split."""
    split: int = 1
    speed: Rate | None = None
    """Speed of its links, if it differs from the fabric's."""


@dataclass(frozen=True)
class BridgeSwitch:
    """One switch of a bridged network."""

    run: SwitchRun
    index: int
    name: str
    management: str
    peer: tuple[str, str] | None
    """Name and management address of the other switch of the pair."""
    pair: int
    """Number of its pair over all bridged networks, from 1; 0 without a pair."""
    is_first: bool
    """MAC address of the pair."""
    priority: int | None
    """Priority in the spanning tree; None is the default."""
    vlans: tuple[Vlan, ...]
    trunks: tuple[Trunk, ...]
    breakouts: Mapping[str, int]
    """Names of split cages -> number of parts."""
    management_vlan: Vlan | None
    """VLAN of its own management address, if no other network connects its management port."""


@dataclass(frozen=True)
class HostBond:
    """Machines whose links to a network are bonded."""

    group: str
    hosts: tuple[str, ...]
    ports: int
    mode: Literal["802.3ad", "active-backup"]


@dataclass(frozen=True)
class BridgedNetwork:
    """One bridged network."""

    fabric: FabricPlan
    vlans: tuple[Vlan, ...]
    """VLANs of its own hosts."""
    switches: tuple[BridgeSwitch, ...]
    bonds: tuple[HostBond, ...]
    hosts_without_vlan: tuple[str, ...]
    """Ports of machines without a subnet in the plan."""


@dataclass
class _NamedLink:
    """A link of the table of cables, with the names of its ends."""

    fabric: str
    upper: _SwitchPort
    lower: _SwitchPort | None
    host: str = ""
    host_port: str = ""
    group: str = ""
    is_exit: bool = False


@dataclass
class _BridgeContext:
    """All bridged networks of a plan, by switch."""

    plan: Plan
    runs: dict[str, tuple[SwitchRun, int]] = field(default_factory=dict)
    declared: dict[str, Declared] = field(default_factory=dict)

    def find_bridge(self, switch: str) -> tuple[str, int]:
        """The logical switch of a switch: both switches of a pair are one."""
        run, index = self.runs[switch]
        tier = run.tier
        paired = self.declared[run.fabric].peer_links and tier.name == "leaf" and index // 2 * 2 + 1 < tier.count
        return f"{run.fabric}-{tier.name}", (index // 2 * 2 if paired else index)

    def find_peer(self, switch: str) -> str | None:
        """The other switch of the pair."""
        run, index = self.runs[switch]
        other = index ^ 1
        if other >= run.tier.count:
            return None
        name = run.format_name(other)
        return name if self.find_bridge(name) == self.find_bridge(switch) else None

    def format_port_name(self, end: _SwitchPort) -> str:
        run, _ = self.runs[end.switch]
        return run.format_port_name(end.number, end.split, end.lane)

    def compute_port_number(self, end: _SwitchPort) -> int:
        """Port number in the number of a bundle."""
        run, _ = self.runs[end.switch]
        return end.number + 1 + end.lane * (run.tier.radix + run.switch.uplink_ports)


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
    networks = plan.networks
    assert networks is not None
    names = {item.name for item in fabrics}
    site = _BridgeContext(plan, declared={item.name: item for item in plan.spec.fabrics})
    for run in networks.switches:
        if run.fabric in names:
            site.runs |= {run.format_name(index): (run, index) for index in range(run.tier.count)}
    spots = DeviceLocator(plan)
    links = [link for fabric in fabrics for link in _iter_links(site, build_cable_table(plan, fabric, spots))]
    vlans = build_vlans(plan)
    of_host = _find_host_vlans(plan, vlans)
    own = {item.name: list_own_vlans(item, vlans) for item in fabrics}
    trunks: dict[str, list[Trunk]] = {name: [] for name in site.runs}
    bonds: dict[str, list[HostBond]] = {name: [] for name in names}
    unknown: dict[str, list[str]] = {name: [] for name in names}
    for item in fabrics:
        role = item.role
        hosts: dict[tuple[str, str], list[_NamedLink]] = {}
        for link in links:
            if link.fabric == item.name and link.host:
                hosts.setdefault((link.group, link.host), []).append(link)
        modes: dict[tuple[str, int, str], list[str]] = {}
        for (group, host), ends in hosts.items():
            vlan = of_host.get((role, group))
            if vlan is None:
                unknown[item.name].append(host)
            mode = _attach_host(site, trunks, host, ends, vlan, item.pool_speeds.get(group))
            if mode:
                modes.setdefault((group, len(ends), mode), []).append(host)
        bonds[item.name] = [
            HostBond(group, tuple(found), ports, mode)  # type: ignore[arg-type]
            for (group, ports, mode), found in modes.items()
        ]
    carried = {name: _list_carried_vlans(site, own, name) for name in names}
    _join_switches(site, trunks, [link for link in links if link.lower], carried)
    for link in links:
        if link.is_exit:
            run, _ = site.runs[link.upper.switch]
            trunks[link.upper.switch].append(
                Trunk("exit", (site.format_port_name(link.upper),), "to the building", 0, tagged=carried[run.fabric])
            )
    pairs = sorted({site.find_bridge(name) for name in site.runs if site.find_peer(name)})
    used: dict[str, list[_SwitchPort]] = {}
    for link in links:
        for end in (link.upper, link.lower):
            if end:
                used.setdefault(end.switch, []).append(end)
    managed = any(item.role == "management" for item in fabrics)
    found = []
    for item in fabrics:
        switches = []
        for name, (run, index) in site.runs.items():
            if run.fabric != item.name:
                continue
            mate = site.find_peer(name)
            inside = vlans.get(run.subnet.name) if managed and item.role == "management" else None
            switches.append(
                BridgeSwitch(
                    run,
                    index,
                    name,
                    run.get_management_address(index),
                    (mate, run.get_management_address(site.runs[mate][1])) if mate else None,
                    pairs.index(site.find_bridge(name)) + 1 if mate else 0,
                    index % 2 == 0,
                    _compute_priority(site, item, run, index),
                    carried[item.name],
                    tuple(sorted(trunks[name], key=lambda trunk: _build_natural_sort_key(trunk.ports[0]))),
                    _compute_breakouts(site, used.get(name, ())),
                    inside,
                )
            )
        found.append(
            BridgedNetwork(
                item, own[item.name], tuple(switches), tuple(bonds[item.name]), tuple(sorted(set(unknown[item.name])))
            )
        )
    return tuple(found)


def _iter_links(context: _BridgeContext, table: CableTable) -> Iterator[_NamedLink]:
    splits = {service.name: service.split for service in table.fabric.services}
    one, other, ports = (
        table.get_device_names("source"),
        table.get_device_names("target"),
        table.get_port_names("source"),
    )
    rows = zip(
        table.source_set.tolist(),
        one,
        table.source_port.tolist(),
        ports,
        table.target_set.tolist(),
        other,
        table.target_port.tolist(),
        table.lane.tolist(),
        strict=True,
    )
    for one_set, a, a_port, a_name, other_set, b, b_port, lane in rows:
        near, far = table.devices[one_set], table.devices[other_set]
        name = table.fabric.name
        if far.kind == "building":
            yield _NamedLink(name, _SwitchPort(a, a_port, 0, 1), None, is_exit=True)
        elif near.side == "switch":
            yield _NamedLink(name, _SwitchPort(b, b_port, 0, 1), _SwitchPort(a, a_port, 0, 1))
        elif far.side == "switch":
            group = near.names[0].rpartition("-")[0] if near.kind == "node" else near.kind
            pool = next((item.name for item in context.plan.pools if item.hosts.prefix == f"{group}-"), group)
            end = _SwitchPort(b, b_port, lane, splits.get(near.kind, 1) if lane else 1)
            yield _NamedLink(name, end, None, a, str(a_name), pool)


def _attach_host(
    context: _BridgeContext,
    trunks: dict[str, list[Trunk]],
    host: str,
    links: Sequence[_NamedLink],
    vlan: Vlan | None,
    speed: Rate | None,
) -> str:
    """A host's ports on its switches; the host's bonding mode, empty for a single link."""
    ends = [link.upper for link in links]
    places = {context.find_bridge(end.switch) for end in ends}
    bundled = len(ends) > 1 and len(places) == 1
    switches = sorted({end.switch for end in ends}, key=lambda name: context.runs[name][1])
    first = min((end for end in ends if end.switch == switches[0]), key=context.compute_port_number)
    spans = bundled and len(switches) > 1
    number = (context.compute_port_number(first) + (0 if spans else _SINGLE_SWITCH_OFFSET)) if bundled else 0
    for switch in switches:
        here = sorted((end for end in ends if end.switch == switch), key=context.compute_port_number)
        for group in [here] if bundled else [[end] for end in here]:
            names = tuple(context.format_port_name(end) for end in group)
            what = host if bundled else f"{host} {next(x.host_port for x in links if x.upper == group[0])}"
            trunks[switch].append(
                Trunk(
                    "host",
                    names,
                    what,
                    number,
                    spans,
                    vlan,
                    lanes=_count_lanes(context, group[0]),
                    split=group[0].split,
                    speed=speed,
                )
            )
    return ("802.3ad" if bundled else "active-backup") if len(ends) > 1 else ""


def _join_switches(
    context: _BridgeContext,
    trunks: dict[str, list[Trunk]],
    links: Sequence[_NamedLink],
    carried_vlans: Mapping[str, tuple[Vlan, ...]],
) -> None:
    """Links between switches: those of a pair, and one bundle for all links between any two others."""
    between: dict[tuple[tuple[str, int], tuple[str, int]], list[_NamedLink]] = {}
    for link in links:
        assert link.lower is not None
        between.setdefault((context.find_bridge(link.lower.switch), context.find_bridge(link.upper.switch)), []).append(
            link
        )
    for (low, high), found in between.items():
        tagged = carried_vlans[context.runs[found[0].lower.switch][0].fabric]  # type: ignore[union-attr]
        sides: list[list[_SwitchPort | None]] = [[link.lower for link in found], [*(link.upper for link in found)]]
        if low == high:  # both switches of a pair are on both sides
            sides = [[*sides[0], *sides[1]]] * 2
        for ends, others in (sides, sides[::-1]):
            real = [end for end in ends if end is not None]
            switches = sorted({end.switch for end in real}, key=lambda name: context.runs[name][1])
            spans = low != high and len(switches) > 1
            first = min((end for end in real if end.switch == switches[0]), key=context.compute_port_number)
            for switch in switches:
                here = sorted((end for end in real if end.switch == switch), key=context.compute_port_number)
                far = sorted(
                    {end.switch for end in others if end} - {switch}
                    if low == high
                    else {end.switch for end in others if end}
                )
                number = (
                    PEER_CHANNEL
                    if low == high
                    else context.compute_port_number(first) + (0 if spans else _SINGLE_SWITCH_OFFSET)
                )
                trunks[switch].append(
                    Trunk(
                        "peer" if low == high else "switch",
                        tuple(context.format_port_name(end) for end in here),
                        " and ".join(far),
                        number if low == high or len(found) > 1 else 0,
                        spans,
                        tagged=tagged,
                        lanes=_count_lanes(context, here[0]),
                    )
                )
            if low == high:
                break


def _build_natural_sort_key(port: str) -> list[tuple[int, str]]:
    """Natural sort order of ports: swp2 comes before swp10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", port)]


def _count_lanes(context: _BridgeContext, end: _SwitchPort) -> int:
    run, _ = context.runs[end.switch]
    parts = run.ports_per_cage * end.split
    if end.number >= run.tier.radix or parts == 1 or run.network_os is None:
        return 0
    return max(1, run.network_os.count_lanes(run.switch) // parts)


def _compute_breakouts(context: _BridgeContext, ends: Sequence[_SwitchPort]) -> Mapping[str, int]:
    found: dict[str, int] = {}
    for end in sorted(ends):
        run, _ = context.runs[end.switch]
        parts = run.ports_per_cage * end.split
        if run.switch.cages and run.network_os and end.number < run.tier.radix and parts > 1:
            cage = run.format_cage_name(end.number)
            found[cage] = max(parts, found.get(cage, 1))
    return found


def _list_carried_vlans(
    context: _BridgeContext, vlans_by_fabric: Mapping[str, tuple[Vlan, ...]], fabric: str
) -> tuple[Vlan, ...]:
    """The VLANs of a network and of those that join it."""
    found, left = set(vlans_by_fabric[fabric]), [fabric]
    seen: set[str] = set()
    while left:
        name = left.pop()
        seen.add(name)
        for other, declared in context.declared.items():
            if other in vlans_by_fabric and other not in seen and declared.joins and declared.joins.fabric == name:
                found |= set(vlans_by_fabric[other])
                left.append(other)
    return tuple(sorted(found, key=lambda vlan: vlan.number))


def _compute_priority(context: _BridgeContext, fabric: FabricPlan, run: SwitchRun, index: int) -> int | None:
    """The first topmost switch, or pair, is the root of the spanning tree; the second is the backup root."""
    if context.declared[fabric.name].joins or run.tier.name != fabric.tiers[-1].name:
        return None
    places = list(dict.fromkeys(context.find_bridge(run.format_name(item)) for item in range(run.tier.count)))
    rank = places.index(context.find_bridge(run.format_name(index)))
    return (rank + 1) * _PRIORITY_STEP if rank < 2 else None


def _find_host_vlans(plan: Plan, vlans: Mapping[str, Vlan]) -> dict[tuple[str, str], Vlan]:
    """(role of a network, pool or group) -> the VLAN of its machines in it."""
    networks = plan.networks
    assert networks is not None
    names: dict[tuple[str, str], str] = {}
    for pool in plan.pools:
        names["in-band", pool.name] = f"in-band-{pool.name}"
        names["management", pool.name] = f"bmc-{pool.name}"
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
