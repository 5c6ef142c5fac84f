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
    is_exit: bool = False


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


def attach_host(
    context: BridgeContext,
    trunks: dict[str, list[Trunk]],
    host: str,
    links: Sequence[NamedLink],
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


def join_switches(
    context: BridgeContext,
    trunks: dict[str, list[Trunk]],
    links: Sequence[NamedLink],
    carried_vlans: Mapping[str, tuple[Vlan, ...]],
) -> None:
    """Links between switches: those of a pair, and one bundle for all links between any two others."""
    between: dict[tuple[tuple[str, int], tuple[str, int]], list[NamedLink]] = {}
    for link in links:
        assert link.lower is not None
        between.setdefault((context.find_bridge(link.lower.switch), context.find_bridge(link.upper.switch)), []).append(
            link
        )
    for (low, high), found in between.items():
        tagged = carried_vlans[context.runs[found[0].lower.switch][0].fabric]  # type: ignore[union-attr]
        sides: list[list[SwitchPort | None]] = [[link.lower for link in found], [*(link.upper for link in found)]]
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
