"""Trunks of bridged switches: the ports of hosts, and bundles of the links between switches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ....primitives.quantity import Rate
from ....spec import Fabric as Declared
from ...model.bridges import Trunk, Vlan
from ...model.network import SwitchRun
from ...model.plan import Plan

__all__ = [
    "PEER_CHANNEL",
    "BridgeContext",
    "NamedLink",
    "SwitchPort",
    "attach_host",
    "compute_breakouts",
    "join_switches",
]

# Numbers of bundles: up to this one they follow from ports and are equal on both switches of a pair.
_SINGLE_SWITCH_OFFSET = 1000
PEER_CHANNEL = 2000


class SwitchPort(NamedTuple):
    """A port of a switch."""

    switch: str
    number: int
    lane: int
    split: int


@dataclass
class NamedLink:
    """A link of the table of cables, with the names of its ends."""

    fabric: str
    upper: SwitchPort
    lower: SwitchPort | None
    host: str = ""
    host_port: str = ""
    group: str = ""
    is_external: bool = False


@dataclass
class BridgeContext:
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

    def format_port_name(self, end: SwitchPort) -> str:
        """The name that the switch's system gives to a port."""
        run, _ = self.runs[end.switch]
        return run.format_port_name(end.number, end.split, end.lane)

    def compute_port_number(self, end: SwitchPort) -> int:
        """Port number in the number of a bundle."""
        run, _ = self.runs[end.switch]
        return end.number + 1 + end.lane * (run.tier.radix + run.switch.uplink_ports)

    def format_port_names(self, ends: Sequence[SwitchPort]) -> tuple[str, ...]:
        """The names of several ports."""
        return tuple(self.format_port_name(end) for end in ends)

    def group_by_switch(self, ends: Sequence[SwitchPort]) -> dict[str, list[SwitchPort]]:
        """Switch -> its ports among these, both in ascending order."""
        found: dict[str, list[SwitchPort]] = {}
        for end in sorted(ends, key=lambda end: (self.runs[end.switch][1], self.compute_port_number(end))):
            found.setdefault(end.switch, []).append(end)
        return found

    def compute_bundle_number(self, by_switch: Mapping[str, Sequence[SwitchPort]], spans: bool) -> int:
        """Number of a bundle, from its first port; ``spans``: it is the same on both switches of a pair."""
        first = next(iter(by_switch.values()))[0]
        return self.compute_port_number(first) + (0 if spans else _SINGLE_SWITCH_OFFSET)


def attach_host(
    context: BridgeContext,
    trunks: dict[str, list[Trunk]],
    host: str,
    links: Sequence[NamedLink],
    vlan: Vlan | None,
    speed: Rate | None,
) -> str:
    """A host's ports on its switches; the host's bonding mode, empty for a single link."""
    by_switch = context.group_by_switch([link.upper for link in links])
    has_bundle = len(links) > 1 and len({context.find_bridge(switch) for switch in by_switch}) == 1
    spans = has_bundle and len(by_switch) > 1
    number = context.compute_bundle_number(by_switch, spans) if has_bundle else 0
    port_names = {link.upper: link.host_port for link in reversed(links)}
    for switch, ends in by_switch.items():
        for group in [ends] if has_bundle else [[end] for end in ends]:
            trunks[switch].append(
                Trunk(
                    "host",
                    context.format_port_names(group),
                    host if has_bundle else f"{host} {port_names[group[0]]}",
                    number,
                    spans,
                    vlan,
                    lanes=_count_lanes(context, group[0]),
                    split=group[0].split,
                    speed=speed,
                )
            )
    if len(links) == 1:
        return ""
    return "802.3ad" if has_bundle else "active-backup"


def join_switches(
    context: BridgeContext,
    trunks: dict[str, list[Trunk]],
    links: Sequence[tuple[SwitchPort, SwitchPort]],
    carried_vlans: Mapping[str, tuple[Vlan, ...]],
) -> None:
    """Links between switches, each with its lower and its upper end: those of a pair, and one bundle for all links
    between any two others.
    """
    between: dict[tuple[tuple[str, int], tuple[str, int]], list[tuple[SwitchPort, SwitchPort]]] = {}
    for lower, upper in links:
        bridges = (context.find_bridge(lower.switch), context.find_bridge(upper.switch))
        between.setdefault(bridges, []).append((lower, upper))
    for (low, high), found in between.items():
        lowers, uppers = [lower for lower, _ in found], [upper for _, upper in found]
        tagged = carried_vlans[context.runs[lowers[0].switch][0].fabric]
        if low == high:
            _join_peers(context, trunks, [*lowers, *uppers], tagged)
            continue
        for ends, others in ((lowers, uppers), (uppers, lowers)):
            _aggregate_links(context, trunks, ends, others, tagged)


def _join_peers(
    context: BridgeContext, trunks: dict[str, list[Trunk]], ends: Sequence[SwitchPort], tagged: tuple[Vlan, ...]
) -> None:
    """The links between the two switches of a pair."""
    by_switch = context.group_by_switch(ends)
    for switch, here in by_switch.items():
        far = " and ".join(sorted(by_switch.keys() - {switch}))
        names, lanes = context.format_port_names(here), _count_lanes(context, here[0])
        trunks[switch].append(Trunk("peer", names, far, PEER_CHANNEL, False, tagged=tagged, lanes=lanes))


def _aggregate_links(
    context: BridgeContext,
    trunks: dict[str, list[Trunk]],
    ends: Sequence[SwitchPort],
    others: Sequence[SwitchPort],
    tagged: tuple[Vlan, ...],
) -> None:
    """All links from one switch or pair to another, at one side: ``others`` are the ports at the other side."""
    by_switch = context.group_by_switch(ends)
    spans = len(by_switch) > 1
    number = context.compute_bundle_number(by_switch, spans) if len(ends) > 1 else 0
    far = " and ".join(sorted({end.switch for end in others}))
    for switch, here in by_switch.items():
        names, lanes = context.format_port_names(here), _count_lanes(context, here[0])
        trunks[switch].append(Trunk("switch", names, far, number, spans, tagged=tagged, lanes=lanes))


def _count_lanes(context: BridgeContext, end: SwitchPort) -> int:
    run, _ = context.runs[end.switch]
    parts = run.ports_per_cage * end.split
    if end.number >= run.tier.radix or parts == 1 or run.network_os is None:
        return 0
    return max(1, run.network_os.count_lanes(run.switch) // parts)


def compute_breakouts(context: BridgeContext, ends: Sequence[SwitchPort]) -> Mapping[str, int]:
    """Names of the split cages of a switch -> the number of parts of each."""
    found: dict[str, int] = {}
    for end in sorted(ends):
        run, _ = context.runs[end.switch]
        parts = run.ports_per_cage * end.split
        if run.switch.cages and run.network_os and end.number < run.tier.radix and parts > 1:
            cage = run.format_cage_name(end.number)
            found[cage] = max(parts, found.get(cage, 1))
    return found
