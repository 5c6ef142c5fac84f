"""The data of a switch configuration: its ports, their peers, and the announced prefixes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ....plan.build.network.server_links import ServerEnd, iter_server_ends
from ....plan.model.network import SwitchRun, Underlay
from ....plan.model.plan import Plan
from ....primitives.addresses import Block
from ....primitives.nodes import HostSet
from ....primitives.quantity import Rate

__all__ = ["PeerPort", "SwitchView", "HostPort", "iter_switches"]


class PeerPort(NamedTuple):
    """A link to another switch."""

    port: str
    asn: int
    switch: str
    peer_port: str


class HostPort(NamedTuple):
    """A link to a node or a server."""

    port: str
    address: str
    host: str
    nic: int
    split_count: int = 1
    """Number of parts of its split port."""
    speed: Rate | None = None
    """Set if it differs from the fabric's speed."""


@dataclass(frozen=True, slots=True)
class SwitchView:
    """One switch of an underlay."""

    run: SwitchRun
    index: int
    name: str
    asn: int
    loopback: str
    management: str
    peer_ports: list[PeerPort]
    host_ports: list[HostPort]
    prefix: Block | None
    """Announced prefix of its nodes; leaves only."""
    servers: Block | None
    """Block of the addresses of its servers, which it announces individually; None without servers."""
    paths: int
    """Maximum number of equal-cost paths of a route."""
    breakouts: dict[str, int]
    """Split cages by name, with the number of parts."""

    def count_lanes(self, split: int = 1) -> int:
        """Return the electrical lanes of a port, or of one of its ``split`` parts; 0 if its cage is not split."""
        parts = self.run.ports_per_cage * split
        return (
            max(1, self.run.network_os.count_lanes(self.run.switch) // parts)
            if self.run.network_os and parts > 1
            else 0
        )


def iter_switches(plan: Plan, underlay: Underlay) -> Iterator[SwitchView]:
    """Yield every switch of a fabric, by tier."""
    runs = {run.tier.name: run for run in underlay.switches}
    names = {tier: [run.format_name(index) for index in range(run.tier.count)] for tier, run in runs.items()}
    numbers = {tier: [run.get_as_number(index) for index in range(run.tier.count)] for tier, run in runs.items()}
    ports = {tier: [run.format_port_name(index) for index in range(run.tier.radix)] for tier, run in runs.items()}
    places = {tier: {name: index for index, name in enumerate(found)} for tier, found in ports.items()}
    peers: dict[str, list[list[PeerPort]]] = {tier: [[] for _ in range(run.tier.count)] for tier, run in runs.items()}
    up: dict[str, int] = {}
    for group in underlay.wiring.link_groups:
        low, high = group.source_kind, group.target_kind
        if low not in runs or high not in runs:
            continue
        up[low] = runs[low].tier.up
        columns = group.build_columns()
        for one, one_port, other, other_port in zip(
            columns.source.tolist(),
            columns.source_port.tolist(),
            columns.target.tolist(),
            columns.target_port.tolist(),
            strict=True,
        ):
            here, there = ports[low][one_port], ports[high][other_port]
            peers[high][other].append(PeerPort(there, numbers[low][one], names[low][one], here))
            peers[low][one].append(PeerPort(here, numbers[high][other], names[high][other], there))
    fabric = next(item for item in plan.fabrics if item.name == underlay.fabric)
    ends: dict[int, list[ServerEnd]] = {}
    for end in iter_server_ends(fabric, underlay.servers):
        ends.setdefault(end.leaf, []).append(end)
    members = HostSet(tuple(pool.hosts for pool in plan.pools if underlay.fabric in pool.fabrics))
    hosts = list(members)
    speeds = {
        host: fabric.pool_speeds[pool.name]
        for pool in plan.pools
        if pool.name in fabric.pool_speeds
        for host in pool.hosts
    }
    for tier, run in runs.items():
        limit = run.network_os.max_paths if run.network_os else 1
        for index in range(run.tier.count):
            leaf = tier == "leaf"
            found = peers[tier][index]
            nodes = list(_iter_host_ports(underlay, index, ports[tier], hosts, speeds)) if leaf else []
            served = ends.get(index, []) if leaf else []
            nodes += [
                HostPort(
                    run.format_port_name(end.leaf_port, end.split, end.lane), end.gateway, end.host, end.port, end.split
                )
                for end in served
            ]
            used = sorted(
                places[tier][name]
                for name in [*(peer.port for peer in found), *(node.port for node in nodes)]
                if name in places[tier]
            )
            yield SwitchView(
                run,
                index,
                names[tier][index],
                numbers[tier][index],
                run.get_loopback(index),
                run.get_management_address(index),
                found,
                nodes,
                underlay.rails.get_leaf_block(index) if leaf else None,
                underlay.server_blocks[run.find_position(index)[0]] if served else None,
                max(1, min(limit, up.get(tier, 0) or _count_parallel_links(found))),
                _compute_breakouts(run, used, served),
            )


def _compute_breakouts(run: SwitchRun, used: Sequence[int], served: Sequence[ServerEnd]) -> dict[str, int]:
    """Return the split of the used cages: the same for all, unless a splitter needs more parts."""
    if not run.switch.cages or run.network_os is None:
        return {}
    found = {run.format_cage_name(index): run.ports_per_cage for index in used if run.ports_per_cage > 1}
    for end in served:
        if end.lane:
            found[run.format_cage_name(end.leaf_port)] = run.ports_per_cage * end.split
    return found


def _count_parallel_links(peers: list[PeerPort]) -> int:
    """Return the maximum number of links to one neighbour."""
    counts: dict[str, int] = {}
    for peer in peers:
        counts[peer.switch] = counts.get(peer.switch, 0) + 1
    return max(counts.values(), default=1)


def _iter_host_ports(
    underlay: Underlay, leaf: int, ports: list[str], hosts: list[str], speeds: Mapping[str, Rate]
) -> Iterator[HostPort]:
    rails = underlay.rails
    wired = rails.node_links
    _, side, number = rails.find_leaf_position(leaf)
    unit, block = divmod(number, rails.leaves_per_unit)
    first = unit * wired.unit_nodes + block * wired.block_nodes
    start = rails.get_leaf_block(leaf).network_address
    for port in rails.list_node_ports(leaf):
        node, nic = divmod(port, wired.nics_per_leaf)
        host = hosts[first + node]
        yield HostPort(
            ports[port], str(start + 2 * port), host, side * wired.nics_per_leaf + nic, speed=speeds.get(host)
        )
