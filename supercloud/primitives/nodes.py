"""Sets of hosts in the operators' own notation: ``gpu-[0001-0128]``.

A :class:`HostRange` is arithmetic: a prefix, a width and two bounds, for any number of hosts; names that follow another
scheme are runs of such ranges (:class:`GivenNames`). For hosts in arbitrary lists (the response of a scheduler,
remaining nodes), :func:`fold` and :func:`expand` use ClusterShell, imported on first use.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, takewhile
from typing import Any

from ..errors import InputError
from .foreign_text import shorten_text

__all__ = ["GivenNames", "HostFinder", "HostRange", "HostSet", "expand", "fold", "fold_runs"]


def _format_name(prefix: str, number: int, width: int) -> str:
    return f"{prefix}{number:0{width}d}" if width else prefix


@dataclass(frozen=True, slots=True)
class HostRange:
    """Consecutively numbered hosts: ``prefix`` + number from ``first`` to ``last``, padded to ``width``.

    A width of 0 is a name without a number. With ``given`` the numbers are positions in a list of names, counted from
    1, and the prefix, which ends in ``/``, only tells hosts of one list from those of others: it is in no name.
    """

    prefix: str
    first: int
    last: int
    width: int
    given: GivenNames | None = None

    @classmethod
    def from_names(cls, owner: str, names: Sequence[str]) -> HostRange:
        """The hosts of an owner (a pool) with these names, in this order."""
        return cls(f"{owner}/", 1, len(names), 1, GivenNames(fold_runs(names)))

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __iter__(self) -> Iterator[str]:
        if self.given:
            return (name for run in self.list_runs() for name in run)
        return (_format_name(self.prefix, number, self.width) for number in range(self.first, self.last + 1))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find_index(name) is not None

    def get_name(self, index: int) -> str:
        """The name of a host, counted from 0 within the range."""
        number = self.first + index
        return self.given.get_name(number) if self.given else _format_name(self.prefix, number, self.width)

    def find_index(self, name: str) -> int | None:
        """The host with a name, counted from 0 within the range; None if it has none."""
        if self.given:
            number = self.given.find_number(name)
            return number - self.first if number is not None and self.first <= number <= self.last else None
        if not self.width:
            return 0 if name == self.prefix else None
        digits = name[len(self.prefix) :] if name.startswith(self.prefix) else ""
        if not (digits.isascii() and digits.isdigit()) or len(digits) > max(self.width, len(str(self.last))):
            return None
        if not self.first <= int(digits) <= self.last:
            return None
        return int(digits) - self.first if digits == f"{int(digits):0{self.width}d}" else None

    def slice(self, start: int, stop: int) -> HostRange:
        """Hosts ``start`` to ``stop`` (not included), counted from 0 within the range; raises :class:`IndexError`
        for others.
        """
        if not 0 <= start < stop <= len(self):
            raise IndexError(f"{start}:{stop} of {len(self)} hosts")
        return replace(self, first=self.first + start, last=self.first + stop - 1)

    def list_runs(self) -> tuple[HostRange, ...]:
        """The hosts as ranges of numbered names, for files that have a prefix and two bounds."""
        return self.given.slice(self.first, self.last) if self.given else (self,)

    def with_prefix(self, text: str) -> HostRange:
        """Hosts whose names are ``text`` and then the name of each of these."""
        given = self.given and GivenNames(tuple(run.with_prefix(text) for run in self.given.runs))
        return replace(self, prefix=f"{text}{self.prefix}", given=given)

    def count_common(self, other: HostRange) -> int:
        """How many of the first hosts of both have the same names in the same order."""
        if self.given is None and other.given is None:
            same = (self.prefix, self.first, self.width) == (other.prefix, other.first, other.width)
            return min(len(self), len(other)) if same else 0
        return sum(1 for _ in takewhile(lambda names: names[0] == names[1], zip(self, other, strict=False)))

    def __str__(self) -> str:
        if self.given:
            return _format_runs(self.list_runs())
        low, high = self.get_name(0), f"{self.last:0{self.width}d}"
        return low if self.first == self.last else f"{self.prefix}[{low.removeprefix(self.prefix)}-{high}]"


def _format_runs(runs: Iterable[HostRange]) -> str:
    """Runs in the notation of Slurm; neighbors with one prefix share their brackets."""
    texts = []
    for prefix, found in groupby(runs, lambda run: run.prefix):
        parts = list(found)
        if len(parts) == 1 or not all(run.width for run in parts):
            texts += [str(run) for run in parts]
            continue
        numbers = (str(run).removeprefix(prefix).strip("[]") for run in parts)
        texts.append(f"{prefix}[{','.join(numbers)}]")
    return ",".join(texts)


class GivenNames:
    """Names that follow no single number, as a few numbered runs: the first name has number 1."""

    def __init__(self, runs: tuple[HostRange, ...]):
        self.runs = runs
        self._starts = list(accumulate((len(run) for run in runs), initial=1))
        self._hash = hash(runs)
        self._numbers: dict[str, int] = {}

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, GivenNames) and self.runs == other.runs)

    def __hash__(self) -> int:
        return self._hash

    def get_name(self, number: int) -> str:
        """The name with a number."""
        at = bisect_right(self._starts, number) - 1
        return self.runs[at].get_name(number - self._starts[at])

    def find_number(self, name: str) -> int | None:
        """The number of a name; None if it is not one of these."""
        if not self._numbers:
            self._numbers = {item: number for number, item in enumerate((x for run in self.runs for x in run), 1)}
        return self._numbers.get(name)

    def slice(self, first: int, last: int) -> tuple[HostRange, ...]:
        """The runs of the names with numbers from ``first`` to ``last``."""
        low, high = bisect_right(self._starts, first) - 1, bisect_right(self._starts, last) - 1
        found = []
        for at in range(low, high + 1):
            start, run = self._starts[at], self.runs[at]
            found.append(run.slice(max(first - start, 0), min(last - start + 1, len(run))))
        return tuple(found)


# Longer numbers are part of the name: shells and readers of JSON count with less.
_NUMBERED_NAME = re.compile(r"(.*?)(\d{1,15})", re.ASCII)


def fold_runs(names: Iterable[str]) -> tuple[HostRange, ...]:
    """Names in their order as runs of consecutive numbers.

    >>> [str(run) for run in fold_runs(["gpu08", "gpu09", "gpu10", "athena"])]
    ['gpu[08-10]', 'athena']
    """
    runs: list[HostRange] = []
    for name in names:
        match = _NUMBERED_NAME.fullmatch(name)
        if match is None:
            runs.append(HostRange(name, 0, 0, 0))
            continue
        prefix, text, last = match[1], match[2], runs[-1] if runs else None
        number = int(text)
        follows = last and last.width and (last.prefix, last.last + 1) == (prefix, number)
        if last and follows and f"{number:0{last.width}d}" == text:
            runs[-1] = replace(last, last=number)
            continue
        runs.append(HostRange(prefix, number, number, len(text) if text[0] == "0" else 1))
    return tuple(runs)


class HostFinder:
    """Finds hosts by name in several ranges; each name is looked up once, however many ranges there are."""

    def __init__(self, ranges: Mapping[str, HostRange]):
        self._given = {name: hosts for name, hosts in ranges.items() if hosts.given}
        self._numbered = {
            (hosts.prefix, hosts.width): (name, hosts) for name, hosts in ranges.items() if not hosts.given
        }

    def find(self, host: str) -> tuple[str, int] | None:
        """Key of the range that has a host, and the index in it; None if none has it."""
        for name, hosts in self._given.items():
            if (index := hosts.find_index(host)) is not None:
                return name, index
        match = _HOST_PATTERN.fullmatch(host)
        found = self._numbered.get((match[1], len(match[2]))) if match else None
        index = found[1].find_index(host) if found else None
        return (found[0], index) if found and index is not None else None


_HOST_PATTERN = re.compile(r"(.*\D|)(\d+)", re.ASCII)  # linear also for names that do not match


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
