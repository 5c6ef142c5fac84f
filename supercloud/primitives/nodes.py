"""Sets of hosts in the operators' own notation: ``gpu-[0001-0128]``.

A :class:`HostRange` is arithmetic: a prefix, a width and two bounds, for any number of hosts. For hosts
in arbitrary lists (the response of a scheduler, remaining nodes), :func:`fold` and :func:`expand` use
ClusterShell, imported on first use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import InputError
from .foreign_text import shorten_text

__all__ = ["HostRange", "HostSet", "expand", "fold"]


@dataclass(frozen=True, slots=True)
class HostRange:
    """Consecutively numbered hosts: ``prefix`` + number from ``first`` to ``last``, padded to ``width``."""

    prefix: str
    first: int
    last: int
    width: int

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __iter__(self) -> Iterator[str]:
        return (f"{self.prefix}{number:0{self.width}d}" for number in range(self.first, self.last + 1))

    def __contains__(self, name: object) -> bool:
        digits = name.removeprefix(self.prefix) if isinstance(name, str) and name.startswith(self.prefix) else ""
        if not (digits.isascii() and digits.isdigit()) or len(digits) > max(self.width, len(str(self.last))):
            return False
        return self.first <= int(digits) <= self.last and digits == f"{int(digits):0{self.width}d}"

    def slice(self, start: int, stop: int) -> HostRange:
        """Hosts ``start`` to ``stop`` (not included), counted from 0 within the range; raises :class:`IndexError`
        for others.
        """
        if not 0 <= start < stop <= len(self):
            raise IndexError(f"{start}:{stop} of {len(self)} hosts")
        return HostRange(self.prefix, self.first + start, self.first + stop - 1, self.width)

    def __str__(self) -> str:
        low, high = f"{self.first:0{self.width}d}", f"{self.last:0{self.width}d}"
        return f"{self.prefix}{low}" if self.first == self.last else f"{self.prefix}[{low}-{high}]"


@dataclass(frozen=True, slots=True)
class HostSet:
    """Several host ranges in order, used as one."""

    ranges: tuple[HostRange, ...]

    def __len__(self) -> int:
        return sum(map(len, self.ranges))

    def __iter__(self) -> Iterator[str]:
        return (host for hosts in self.ranges for host in hosts)

    def slice(self, start: int, stop: int) -> HostSet:
        """Hosts ``start`` to ``stop`` (not included), counted from 0 over all ranges."""
        parts = []
        offset = 0
        for hosts in self.ranges:
            low, high = max(start - offset, 0), min(stop - offset, len(hosts))
            if low < high:
                parts.append(hosts.slice(low, high))
            offset += len(hosts)
        return HostSet(tuple(parts))

    def __add__(self, other: HostSet) -> HostSet:
        return HostSet(self.ranges + other.ranges)

    def __str__(self) -> str:
        return ",".join(map(str, self.ranges))


_MAX_HOSTS = 100_000
"""Maximum number of hosts in one folded text: twice the addresses of an InfiniBand subnet."""


def _parse_node_set(text: str) -> Any:
    """A set of hosts: names and ranges only. ClusterShell's groups (``@all``) are not expanded, because a lookup may
    run a command of this machine's configuration.
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException

    if strange := re.search(r"[^A-Za-z0-9_.,/\[\]\s-]", text):
        raise InputError(
            f"{text[:80]!r} is not a valid list of hosts: {strange[0]!r} is not allowed in names or ranges"
        )
    try:
        return NodeSet(text, resolver=RESOLVER_NOGROUP)
    except (NodeSetException, ValueError) as error:  # ValueError: a number of more digits than int() accepts
        raise InputError(f"{text[:80]!r} is not a valid list of hosts: {shorten_text(str(error))}") from None


def _count_hosts(text: str) -> int:
    """Maximum number of hosts of a folded notation: for each name the product of its ranges."""
    total = 0
    for name in re.findall(r"(?:[^,\[]|\[[^\]]*\]?)+", text):
        count = 1
        for ranges in re.findall(r"\[([^\]]*)", name):
            count *= sum(_count_range(part) for part in ranges.split(","))
        total += count
    return total


def _count_range(part: str) -> int:
    bounds = re.match(r"\s*([0-9]{1,30})\s*-\s*([0-9]+)", part)
    return max(1, int(bounds[2][:30]) - int(bounds[1]) + 1) if bounds else 1


def fold(hosts: Iterable[str]) -> str:
    """The shortest usual notation of some hosts, sorted.

    >>> fold(["gpu-2", "gpu-1", "gpu-3"])
    'gpu-[1-3]'
    """
    return str(_parse_node_set(",".join(hosts)))


def expand(text: str) -> list[str]:
    """All hosts of a folded notation, in order; raises :class:`InputError` for text that is not one, or too many hosts.

    >>> expand("gpu-[1-2],login")
    ['gpu-1', 'gpu-2', 'login']
    """
    if _count_hosts(text) > _MAX_HOSTS:
        raise InputError(f"{text[:80]!r} has more than {_MAX_HOSTS:,} hosts")
    return list(_parse_node_set(text))
