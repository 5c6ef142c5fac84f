"""Addresses for machines other than nodes, from the top of a network downwards."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from ....primitives.addresses import Block, compute_block_size
from ...model.plan import NetworkPlan, PoolPlan

__all__ = ["AddressAllocator"]

_DEFAULT_CAPACITY = 1024


class AddressAllocator:
    """Addresses for storage servers, from the top of a network downwards: nodes or pools added do not renumber them."""

    def __init__(self, network: Block, used: Sequence[Block] = (), taken: Sequence[Block] = ()) -> None:
        self.cidr = str(network)
        self.end = int(network.broadcast_address) + 1
        self.taken = taken
        """Blocks anywhere in the network that others have."""
        self.floor = max((int(block.broadcast_address) + 1 for block in used), default=int(network.network_address))

    @classmethod
    def from_network(cls, network: NetworkPlan, pools: tuple[PoolPlan, ...]) -> AddressAllocator:
        """On the in-band network, above service hosts and pools."""
        try:
            whole = ipaddress.IPv4Network(network.cidr)
        except ValueError:  # reported elsewhere
            whole = ipaddress.IPv4Network("0.0.0.0/0")
        blocks = [pool.addresses.block for pool in pools if not pool.addresses.given]
        given = [pool.addresses.block for pool in pools if pool.addresses.given]
        return cls(whole, [network.management, *blocks], given)

    def allocate(self, hosts: int) -> ipaddress.IPv4Network | None:
        """Allocate the next block for a number of hosts; None if the network is full."""
        least = compute_block_size(max(hosts, 1))
        for size in (max(least, _DEFAULT_CAPACITY), least):
            start = self._select_free_start((self.end - size) // size * size, size)
            if start >= self.floor:
                self.end = start
                return ipaddress.IPv4Network((start, 32 - (size.bit_length() - 1)))
        return None

    def _select_free_start(self, start: int, size: int) -> int:
        """The next start downwards of a block of a size that overlaps no block that is taken."""
        for block in sorted(self.taken, key=lambda item: -int(item.network_address)):
            first = int(block.network_address)
            if first < start + size and start < first + block.num_addresses:
                start = (first - size) // size * size
        return start
