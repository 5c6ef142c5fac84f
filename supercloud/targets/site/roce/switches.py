"""A switch as its configuration sees it: its ports, who is at the other end, what it announces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ....plan.model import Plan
from ....plan.network_model import SwitchRun, Underlay
from ....primitives.addresses import Block
from ....primitives.nodes import HostSet

__all__ = ["Peer", "SwitchView", "NodePort", "switches_of"]


class Peer(NamedTuple):
    """A link to another switch."""

    port: str
    asn: int
    switch: str
    their_port: str


class NodePort(NamedTuple):
    """A link to a node."""

    port: str
    address: str
    node: str
    nic: int


@dataclass(frozen=True, slots=True)
class SwitchView:
    """One switch of an underlay."""

    run: SwitchRun
    index: int
    name: str
    asn: int
    loopback: str
    management: str
    peers: list[Peer]
    nodes: list[NodePort]
    prefix: Block | None
    """What it announces for its nodes; leaves only."""
    paths: int
    """Equal-cost paths of a route at most."""


def switches_of(plan: Plan, underlay: Underlay) -> Iterator[SwitchView]:
    """Every switch of a fabric, tier by tier."""
    runs = {run.tier.name: run for run in underlay.switches}
    names = {tier: [run.name(index) for index in range(run.tier.count)] for tier, run in runs.items()}
    numbers = {tier: [run.as_number(index) for index in range(run.tier.count)] for tier, run in runs.items()}
    ports = {tier: [run.port(index) for index in range(run.tier.radix)] for tier, run in runs.items()}
    peers: dict[str, list[list[Peer]]] = {tier: [[] for _ in range(run.tier.count)] for tier, run in runs.items()}
    up: dict[str, int] = {}
    for group in underlay.wiring.link_groups:
        low, high = group.source_kind, group.target_kind
        if low not in runs or high not in runs:
            continue
        up[low] = runs[low].tier.up
        columns = group.columns()
        for one, one_port, other, other_port in zip(
            columns.source.tolist(), columns.source_port.tolist(), columns.target.tolist(),
            columns.target_port.tolist(), strict=True,
        ):  # fmt: skip
            here, there = ports[low][one_port], ports[high][other_port]
            peers[high][other].append(Peer(there, numbers[low][one], names[low][one], here))
            peers[low][one].append(Peer(here, numbers[high][other], names[high][other], there))
    members = HostSet(tuple(pool.hosts for pool in plan.pools if underlay.fabric in pool.fabrics))
    hosts = list(members)
    for tier, run in runs.items():
        limit = run.system.max_paths if run.system else 1
        for index in range(run.tier.count):
            leaf = tier == "leaf"
            found = peers[tier][index]
            nodes = list(_node_ports(underlay, index, ports[tier], hosts)) if leaf else []
            yield SwitchView(
                run, index, names[tier][index], numbers[tier][index], run.loopback(index),
                run.management_address(index), found, nodes,
                underlay.rails.prefix(index) if leaf else None, max(1, min(limit, up.get(tier, 0) or _parallel(found))),
            )  # fmt: skip


def _parallel(peers: list[Peer]) -> int:
    """The most links to one neighbour."""
    counts: dict[str, int] = {}
    for peer in peers:
        counts[peer.switch] = counts.get(peer.switch, 0) + 1
    return max(counts.values(), default=1)


def _node_ports(underlay: Underlay, leaf: int, ports: list[str], hosts: list[str]) -> Iterator[NodePort]:
    rails = underlay.rails
    wired = rails.hosts
    _, side, number = rails.leaf_place(leaf)
    unit, block = divmod(number, rails.per_unit)
    first = unit * wired.unit + block * wired.block
    start = rails.prefix(leaf).network_address
    for port in rails.ports(leaf):
        node, nic = divmod(port, wired.nics_per_side)
        yield NodePort(ports[port], str(start + 2 * port), hosts[first + node], side * wired.nics_per_side + nic)
