"""The blocks of all addresses outside of the in-band network: nothing in one block moves when another one grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ....errors import InputError
from ....primitives.addresses import Block, allocate_blocks, compute_block_size, suggest_network
from ....spec import ClusterSpec
from ...model.plan import FabricPlan, NetworkPlan
from ...model.problems import Problems
from ...model.subnet import parse_block
from ..fabric.roles import is_routed
from ..inputs import BuildInputs
from .address_allocator import AddressAllocator
from .rails import allocate_rail_blocks

__all__ = ["AddressSpaces", "SwitchBlocks", "allocate_bmc_blocks", "allocate_blocks_in_turn", "allocate_switch_blocks"]

# Private networks (RFC 1918, and RFC 6598 for site-internal traffic); the first free one is used.
_PRIVATE_RANGES = {
    "fabrics": ("172.16.0.0/12", "10.0.0.0/8", "192.168.0.0/16"),
    "management": ("100.64.0.0/10", "192.168.0.0/16", "172.16.0.0/12"),
}
# Leaves have half of a fabric's block, spines and cores a quarter each: growth of one does not move the others.
_TIER_SHARES = {"leaf": 2, "spine": 4, "core": 4}
_MAX_MANAGEMENT_PREFIX = 22


@dataclass(frozen=True)
class AddressSpaces:
    """The network of the fabrics' links, and the management network with its four parts."""

    fabrics: Block
    management: Block
    bmcs: Block
    switches: Block
    loopbacks: Block
    others: Block
    """Management ports of servers, service machines and distribution units."""

    @classmethod
    def from_spec(cls, spec: ClusterSpec, network: NetworkPlan, problems: Problems) -> AddressSpaces:
        """The declared networks, else private ones that overlap neither each other nor the in-band network."""
        cidr = parse_block(network.cidr)
        fabrics = _select_network_block(spec.network.fabrics, "fabrics", [cidr], problems)
        management = _select_network_block(spec.network.management, "management", [cidr, fabrics], problems)
        if management.prefixlen <= _MAX_MANAGEMENT_PREFIX:
            return cls(fabrics, management, *management.subnets(prefixlen_diff=2))
        problems.add_error(
            "network-size",
            "network.management",
            f"{management} has {management.num_addresses} addresses, but management requires at least 1024",
            "specify a larger network",
        )
        return cls(fabrics, management, management, management, management, management)


@dataclass(frozen=True)
class SwitchBlocks:
    """Fabric -> the block of each kind of its addresses."""

    management: Mapping[str, Block]
    """Management ports of its switches."""
    loopbacks: Mapping[str, Block]
    """Loopbacks of its switches; of routed fabrics only."""
    rails: Mapping[str, Block]
    """Links of its nodes and servers; fabrics that are bridged, or for which no block is free, are omitted."""


def allocate_switch_blocks(inputs: BuildInputs, switched: Sequence[FabricPlan], spaces: AddressSpaces) -> SwitchBlocks:
    """The blocks of all fabrics with switches."""
    problems = inputs.problems
    sizes = {item.name: _compute_switch_addresses(item) for item in switched}
    management = _allocate_management_blocks(spaces.switches, sizes, "switches", problems)
    routed = {item.name: sizes[item.name] for item in switched if is_routed(item.kind, item.role)}
    loopbacks = _allocate_management_blocks(spaces.loopbacks, routed, "loopbacks", problems)
    addressed = [item for item in switched if item.name in routed or item.kind == "infiniband"]
    rails = allocate_rail_blocks(inputs.spec, addressed, spaces.fabrics, problems)
    return SwitchBlocks(management, loopbacks, rails)


def _compute_switch_addresses(fabric: FabricPlan) -> int:
    """Addresses for one per switch, with which each tier fits its part of the fabric's block."""
    return max(_TIER_SHARES[tier.name] * compute_block_size(tier.count) for tier in fabric.tiers)


def allocate_bmc_blocks(
    spaces: AddressSpaces, needs: Mapping[str, int], taken: Sequence[Block], problems: Problems
) -> dict[str, Block]:
    """Pool -> the block of the BMCs of its nodes; none overlaps a block that is ``taken``."""
    return _allocate_management_blocks(spaces.bmcs, needs, "BMCs", problems, taken)


def allocate_blocks_in_turn(
    allocator: AddressAllocator, needs: Mapping[str, int], problems: Problems
) -> dict[str, Block]:
    """A block for each of a list that grows at its end, in sequence."""
    found: dict[str, Block] = {}
    for name, count in needs.items():
        block = allocator.allocate(count)
        if block is None:
            problems.add_error(
                "network-size",
                "network.management",
                f"{allocator.cidr} has no free block for the BMCs of {name}",
                "specify a larger network",
            )
        found[name] = block or Block("0.0.0.0/0")
    return found


def _select_network_block(declared: str | None, name: str, used: list[Block | None], problems: Problems) -> Block:
    """The network that the user specified, or the first private one that no other uses."""
    choices = [Block(item) for item in _PRIVATE_RANGES[name]]
    free = next((item for item in choices if not any(other and item.overlaps(other) for other in used)), choices[0])
    if declared is None:
        return free
    try:
        return Block(declared)
    except ValueError as error:
        problems.add_error(
            "network-size",
            f"network.{name}",
            f"{declared!r} is not a valid IPv4 network: {error}",
            suggest_network(declared, str(free)),
        )
        return free


def _allocate_management_blocks(
    network: Block, needs: Mapping[str, int], subject: str, problems: Problems, taken: Sequence[Block] = ()
) -> dict[str, Block]:
    """A part of the management network, divided by a number of addresses for each name."""
    try:
        return allocate_blocks(str(network), needs, taken)
    except InputError as error:
        problems.add_error(
            "network-size", "network.management", f"the part for {subject}: {error}", "specify a larger network"
        )
        return allocate_blocks("0.0.0.0/0", needs)  # so that everything else can still be checked
