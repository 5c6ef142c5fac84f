"""Addresses of the nodes' links to fabrics: a block for each fabric, a part of it for each rail and plane.

On Ethernet every link is routed: two addresses, from the prefix of its leaf. On InfiniBand a rail is one
flat subnet.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Mapping, Sequence

from ....primitives.addresses import Block, compute_block_size, suggest_network
from ....spec import ClusterSpec
from ....topology.links import NodeLinks
from ...model.addressed_links import ServerLinks
from ...model.plan import FabricPlan
from ...model.problems import Problems
from ...model.subnet import Subnet
from .server_links import count_server_addresses, iter_server_ends

__all__ = ["split_block", "allocate_rail_blocks", "build_rail_subnets", "list_server_blocks", "compute_leaf_addresses"]


def compute_leaf_addresses(node_links: NodeLinks) -> int:
    """Addresses of one leaf: two for each port, and a power of two."""
    return 2 * _round_up_to_power(node_links.block_nodes * node_links.nics_per_leaf)


def _round_up_to_power(number: int) -> int:
    return 1 << (max(1, number) - 1).bit_length()


def split_block(block: Block, count: int) -> tuple[Block, ...]:
    """Divide a block into equal parts of a block, one for each plane and side."""
    length = block.prefixlen + _round_up_to_power(count).bit_length() - 1
    size = 1 << (32 - length)
    return tuple(ipaddress.IPv4Network((int(block.network_address) + index * size, length)) for index in range(count))


def _compute_rail_size(fabric: FabricPlan) -> tuple[int, int]:
    """Number of rails of a fabric over all planes, and the addresses per rail: a power of two."""
    hosts = fabric.require_wiring().node_links
    servers = count_server_addresses(fabric)
    if fabric.kind == "infiniband":
        rails, size = hosts.planes * hosts.nics, compute_block_size(hosts.nodes)
    else:
        rails, size = (
            hosts.planes * hosts.leaves_per_block,
            _round_up_to_power(hosts.leaves // hosts.leaves_per_block) * compute_leaf_addresses(hosts),
        )
    return rails, 2 * max(size, servers) if servers else size


def allocate_rail_blocks(
    spec: ClusterSpec, fabrics: list[FabricPlan], network: Block, problems: Problems
) -> dict[str, Block]:
    """A block for the rails of each fabric: the declared one, else one after the other, with space to grow."""
    found: dict[str, Block] = {}
    needs: dict[str, int] = {}
    for item in fabrics:
        position = [fabric.name for fabric in spec.fabrics].index(item.name)
        count, size = _compute_rail_size(item)
        needs[item.name] = _round_up_to_power(count) * size
        declared = spec.fabrics[position].subnet
        if declared is None:
            continue
        path = f"fabrics[{position}].subnet"
        try:
            found[item.name] = Block(declared)
        except ValueError as error:
            problems.add_error(
                "network-size",
                path,
                f"{declared!r} is not a valid IPv4 network: {error}",
                suggest_network(declared, "172.16.0.0/16"),
            )
            continue
        if found[item.name].num_addresses < needs[item.name]:
            fit = found[item.name].num_addresses // size
            problems.add_error(
                "network-size",
                path,
                f"{declared} has space for {fit} rails of {size} addresses, but {item.name} has {count} rails",
                f"specify a network of /{33 - needs[item.name].bit_length()} or larger",
            )
            del found[item.name]
    left = {name: size for name, size in needs.items() if name not in found}
    for room in (network.num_addresses >> shift for shift in range(3, 33)):  # space to grow: an eighth, or less
        position, blocks = 0, {}
        for name, needed in left.items():
            size = max(needed, room)
            start = -(-position // size) * size
            position = start + size
            if position <= network.num_addresses:
                length = 33 - size.bit_length()
                blocks[name] = ipaddress.IPv4Network((int(network.network_address) + start, length))
        if len(blocks) == len(left):
            return found | blocks
    wanted = ", ".join(f"{name} {size}" for name, size in left.items())
    problems.add_error(
        "network-size",
        "network.fabrics",
        f"{network} has {network.num_addresses} addresses, too few for the rails of: {wanted}",
        "specify a larger network, or a subnet for each fabric",
    )
    return found


def list_server_blocks(fabric: FabricPlan, block: Block) -> tuple[Block, ...]:
    """The blocks with an upper half for servers: the last of each plane, on InfiniBand that of each rail."""
    hosts = fabric.require_wiring().node_links
    if fabric.kind == "infiniband":
        return split_block(block, hosts.planes * hosts.nics)
    return split_block(block, hosts.planes * hosts.leaves_per_block)[
        hosts.leaves_per_block - 1 :: hosts.leaves_per_block
    ]


def build_rail_subnets(fabric: FabricPlan, block: Block, servers: Sequence[ServerLinks]) -> list[Subnet]:
    """A subnet per rail and plane; a fabric whose leaves connect all rails of a node has one per plane."""
    hosts = fabric.require_wiring().node_links
    flat = fabric.kind == "infiniband"
    per_plane = hosts.nics if flat else hosts.leaves_per_block
    taken = hosts.nodes if flat else 2 * hosts.nodes * hosts.nics_per_leaf
    parts = split_block(block, hosts.planes * per_plane)
    more = _count_server_addresses(fabric, servers, parts)
    return [
        Subnet(
            fabric.name
            + (f"-p{number // per_plane + 1}" if hosts.planes > 1 else "")
            + (f"-rail{number % per_plane}" if per_plane > 1 else ""),
            "rail",
            part,
            taken + more.get(number, 0),
            fabric.name,
            not flat,
        )
        for number, part in enumerate(parts)
    ]


def _count_server_addresses(
    fabric: FabricPlan, servers: Sequence[ServerLinks], blocks: Sequence[Block]
) -> Mapping[int, int]:
    """Addresses of servers in each part."""
    found: Counter[int] = Counter()
    for end in iter_server_ends(fabric, servers):
        if end.links.is_routed:
            per_plane = len(blocks) // len(end.links.blocks)
            found[(end.plane + 1) * per_plane - 1] += 2
        else:
            found[end.port % len(blocks)] += 1
    return found
