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


@dataclass(frozen=True)
class _Tier:
    """The switches of a tier: names, numbers and ports, formatted once."""

    run: SwitchRun
    names: list[str]
    numbers: list[int]
    """Autonomous system numbers."""
    ports: list[str]
    peers: list[list[PeerPort]]
    """Per switch, to be filled."""

    @classmethod
    def build(cls, run: SwitchRun) -> _Tier:
        """Return the tier without links."""
        switches = range(run.tier.count)
        return cls(
            run,
            [run.format_name(index) for index in switches],
            [run.get_as_number(index) for index in switches],
            [run.format_port_name(index) for index in range(run.tier.radix)],
            [[] for _ in switches],
        )


def iter_switches(plan: Plan, underlay: Underlay) -> Iterator[SwitchView]:
    """Yield every switch of a fabric, by tier."""
    tiers = {run.tier.name: _Tier.build(run) for run in underlay.switches}
    linked_up = _connect_switches(tiers, underlay)
    leaves = _LeafHosts.build(plan, underlay)
    for name, tier in tiers.items():
        run, uplinks = tier.run, tier.run.tier.up if name in linked_up else 0
        places = {port: index for index, port in enumerate(tier.ports)}
        for index, peers in enumerate(tier.peers):
            served = leaves.ends.get(index, []) if name == "leaf" else []
            nodes = leaves.list_ports(tier, index) if name == "leaf" else []
            used = _list_places(places, peers, nodes)
            yield SwitchView(
                run,
                index,
                tier.names[index],
                tier.numbers[index],
                run.get_loopback(index),
                run.get_management_address(index),
                peers,
                nodes,
                underlay.rails.get_leaf_block(index) if name == "leaf" else None,
                underlay.server_blocks[run.find_position(index)[0]] if served else None,
                _compute_paths(run, uplinks or _count_parallel_links(peers)),
                _compute_breakouts(run, used, served),
            )


def _list_places(places: Mapping[str, int], peers: Sequence[PeerPort], hosts: Sequence[HostPort]) -> list[int]:
    """Return the positions of the used ports; parts of a split port have none."""
    names = [*(port.port for port in peers), *(port.port for port in hosts)]
    return sorted(places[name] for name in names if name in places)


@dataclass(frozen=True)
class _LeafHosts:
    """The nodes and servers on the leaves of a fabric."""

    underlay: Underlay
    nodes: list[str]
    speeds: Mapping[str, Rate]
    """Nodes whose links do not have the fabric's speed, and the speed of these."""
    ends: Mapping[int, list[ServerEnd]]
    """Leaf -> the ports of servers on it."""

    @classmethod
    def build(cls, plan: Plan, underlay: Underlay) -> _LeafHosts:
        """Return the hosts of all leaves."""
        fabric = next(item for item in plan.fabrics if item.name == underlay.fabric)
        ends: dict[int, list[ServerEnd]] = {}
        for end in iter_server_ends(fabric, underlay.servers):
            ends.setdefault(end.leaf, []).append(end)
        pools = [pool for pool in plan.pools if underlay.fabric in pool.fabrics]
        own = [pool for pool in plan.pools if pool.name in fabric.pool_speeds]
        speeds = {host: fabric.pool_speeds[pool.name] for pool in own for host in pool.hosts}
        return cls(underlay, list(HostSet(tuple(pool.hosts for pool in pools))), speeds, ends)

    def list_ports(self, tier: _Tier, leaf: int) -> list[HostPort]:
        """Return the ports of a leaf: first those of nodes, then those of servers."""
        nodes = _iter_host_ports(self.underlay, leaf, tier.ports, self.nodes, self.speeds)
        return [*nodes, *(_build_server_port(tier.run, end) for end in self.ends.get(leaf, ()))]


def _connect_switches(tiers: Mapping[str, _Tier], underlay: Underlay) -> set[str]:
    """Add the links between tiers to their switches; return the names of the tiers with uplinks."""
    linked_up = set()
    for group in underlay.wiring.link_groups:
        low, high = tiers.get(group.source_kind), tiers.get(group.target_kind)
        if low is None or high is None:
            continue
        linked_up.add(group.source_kind)
        columns = group.build_columns()
        for one, one_port, other, other_port in zip(
            columns.source.tolist(),
            columns.source_port.tolist(),
            columns.target.tolist(),
            columns.target_port.tolist(),
            strict=True,
        ):
            here, there = low.ports[one_port], high.ports[other_port]
            high.peers[other].append(PeerPort(there, low.numbers[one], low.names[one], here))
            low.peers[one].append(PeerPort(here, high.numbers[other], high.names[other], there))
    return linked_up


def _build_server_port(run: SwitchRun, end: ServerEnd) -> HostPort:
    port = run.format_port_name(end.leaf_port, end.split, end.lane)
    return HostPort(port, end.gateway, end.host, end.port, end.split)


def _compute_paths(run: SwitchRun, links: int) -> int:
    limit = run.network_os.max_paths if run.network_os else 1
    return max(1, min(limit, links))


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
    """Return the maximum number of links to one neighbor."""
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
