"""Address assignment: blocks of one network, and host runs inside a block.

Hosts of a run are numbered .1 to .250 in each 256 addresses: .0 and .255 confuse old equipment, and the five below
.255 are reserved for gateways and virtual addresses. So a run is arithmetic, and its text is short whatever its length.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ..errors import InputError
from .address_lists import GivenAddresses

__all__ = ["AddressRun", "Block", "compute_block_size", "allocate_blocks", "count_block_hosts", "suggest_network"]

Block = ipaddress.IPv4Network

_HOSTS_PER_256 = 250


@dataclass(frozen=True, slots=True)
class AddressRun:
    """``count`` hosts from number ``start`` of a block, or of a list of given addresses in it."""

    block: Block
    start: int
    count: int
    given: GivenAddresses | None = None
    HOSTS_PER_256: ClassVar[int] = _HOSTS_PER_256
    """Hosts that are numbered in each 256 addresses."""

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < self.count:
            raise IndexError(index)
        number = self.start + index
        if self.given:
            return str(ipaddress.IPv4Address(self.given.get_address(number)))
        return str(self.block.network_address + number // _HOSTS_PER_256 * 256 + number % _HOSTS_PER_256 + 1)

    def __contains__(self, address: object) -> bool:
        """Whether a text is one of its addresses."""
        try:
            value = int(ipaddress.IPv4Address(address))
        except (ValueError, TypeError):
            return False
        if self.given:
            index = self.given.find_index(value)
            return index is not None and self.start <= index < self.start + self.count
        high, low = divmod(value - int(self.block.network_address), 256)
        return 1 <= low <= _HOSTS_PER_256 and self.start <= high * _HOSTS_PER_256 + low - 1 < self.start + self.count

    def slice(self, start: int, stop: int) -> AddressRun:
        """Addresses ``start`` to ``stop`` (not included)."""
        return AddressRun(self.block, self.start + start, stop - start, self.given)

    def list_runs(self) -> tuple[tuple[int, int], ...]:
        """First address, as a number, and number of addresses of each run of given ones."""
        return self.given.slice(self.start, self.start + self.count) if self.given else ()

    def __str__(self) -> str:
        """The run in bracket notation: ``10.1.0.[1-250],10.1.1.[1-6]``."""
        if self.given:
            return ",".join(text for first, count in self.list_runs() for text in _format_addresses(first, count))
        texts = []
        number, end = self.start, self.start + self.count
        while number < end:
            stop = min(end, (number // _HOSTS_PER_256 + 1) * _HOSTS_PER_256)
            head = str(self.block.network_address + number // _HOSTS_PER_256 * 256).rsplit(".", 1)[0]
            low, high = number % _HOSTS_PER_256 + 1, (stop - 1) % _HOSTS_PER_256 + 1
            texts.append(f"{head}.{low}" if low == high else f"{head}.[{low}-{high}]")
            number = stop
        return ",".join(texts)


def _format_addresses(first: int, count: int) -> Iterator[str]:
    """Consecutive addresses in bracket notation."""
    end = first + count
    while first < end:
        stop = min(end, (first // 256 + 1) * 256)
        head = str(ipaddress.IPv4Address(first)).rsplit(".", 1)[0]
        low, high = first % 256, (stop - 1) % 256
        yield f"{head}.{low}" if low == high else f"{head}.[{low}-{high}]"
        first = stop


def compute_block_size(hosts: int) -> int:
    """The size of the smallest block that holds so many hosts of one run: a power of two, at least 256."""
    blocks = -(-hosts // _HOSTS_PER_256)
    return 256 * (1 << (blocks - 1).bit_length())


def count_block_hosts(block: Block) -> int:
    """How many hosts of one run a block holds."""
    return max(1, block.num_addresses // 256) * _HOSTS_PER_256


def suggest_network(text: str, example: str) -> str:
    """A hint for a text that is not an IPv4 network: an address inside a network means the network of its prefix.

    >>> suggest_network("10.0.0.1/16", "10.0.0.0/8")
    'write 10.0.0.0/16, the network that contains this address'
    """
    try:
        return f"write {ipaddress.IPv4Interface(text).network}, the network that contains this address"
    except ValueError:
        return f"use a form such as {example}"


def _select_free_start(network: Block, position: int, size: int, taken: Sequence[Block]) -> int:
    """The next position of a block of a size in a network that overlaps no block that is taken."""
    for block in sorted(taken, key=lambda item: int(item.network_address)):
        first = int(block.network_address) - int(network.network_address)
        if first < position + size and position < first + block.num_addresses:
            position = -(-(first + block.num_addresses) // size) * size
    return position


def allocate_blocks(cidr: str, needs: Mapping[str, int], taken: Sequence[Block] = ()) -> dict[str, Block]:
    """Allocate a block for each need (name -> hosts) in ``cidr``, in this order, aligned, without overlap with each
    other or with blocks that are ``taken``.

    Blocks have space to grow: each has the largest power of two with which all fit, at most 65,536 addresses if
    fewer are enough. So adding nodes does not renumber others while the network has space.

    Raises :class:`InputError` with both numbers if they do not fit.
    """
    try:
        network = ipaddress.ip_network(cidr)
    except ValueError as error:
        raise InputError(f"{cidr!r} is not a valid network: {error}") from None
    if not isinstance(network, ipaddress.IPv4Network):
        raise InputError(f"{cidr!r}: hosts require IPv4 addresses")
    smallest = {name: compute_block_size(max(hosts, 1)) for name, hosts in needs.items()}
    for room in (1 << 16, 1 << 14, 1 << 12, 1 << 10, 1 << 8):
        sizes = {name: max(size, room) for name, size in smallest.items()}
        blocks: dict[str, Block] = {}
        position = 0
        for name, size in sizes.items():
            position = _select_free_start(network, -(-position // size) * size, size, taken)
            if position + size > network.num_addresses:
                break
            start = network.network_address + position
            blocks[name] = ipaddress.IPv4Network((int(start), 32 - (size.bit_length() - 1)))
            position += size
        else:
            return blocks
    wanted = ", ".join(f"{name} {size}" for name, size in smallest.items())
    raise InputError(f"{cidr} has {network.num_addresses} addresses, too few for aligned blocks of: {wanted}")
