"""IPv4 addresses as an administrator lists them: ``10.1.4.11-10.1.4.74``, in the order of the list."""

from __future__ import annotations

import ipaddress
from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate

from ..errors import InputError

__all__ = ["GivenAddresses", "parse_address_list"]


class GivenAddresses:
    """Addresses that follow no rule of the plan, as runs of consecutive ones."""

    def __init__(self, runs: tuple[tuple[int, int], ...]):
        self.runs = runs
        """First address and number of addresses of each run."""
        self._starts = list(accumulate((count for _, count in runs), initial=0))
        self._hash = hash(runs)

    @classmethod
    def from_addresses(cls, addresses: Iterable[int]) -> GivenAddresses:
        """Fold addresses in their order."""
        runs: list[tuple[int, int]] = []
        for address in addresses:
            first, count = runs[-1] if runs else (-1, 0)
            if runs and first + count == address:
                runs[-1] = (first, count + 1)
            else:
                runs.append((address, 1))
        return cls(tuple(runs))

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, GivenAddresses) and self.runs == other.runs)

    def __hash__(self) -> int:
        return self._hash

    def get_address(self, index: int) -> int:
        """The address at an index, as a number."""
        at = bisect_right(self._starts, index) - 1
        return self.runs[at][0] + index - self._starts[at]

    def find_index(self, address: int) -> int | None:
        """The index of an address; None if it is not one of these."""
        for start, (first, count) in zip(self._starts, self.runs, strict=False):
            if first <= address < first + count:
                return start + address - first
        return None

    def slice(self, start: int, stop: int) -> tuple[tuple[int, int], ...]:
        """First address and number of each run from index ``start`` to ``stop`` (not included)."""
        found = []
        for at, (first, count) in zip(self._starts, self.runs, strict=False):
            low, high = max(start, at), min(stop, at + count)
            if low < high:
                found.append((first + low - at, high - low))
        return tuple(found)


def parse_address_list(text: str, limit: int) -> list[int]:
    """All addresses of a list, as numbers, in its order.

    Args:
        text: Addresses and ranges with commas between: ``10.1.4.11-10.1.4.74,10.1.5.9``.
        limit: The maximum number of addresses, which is checked before they are listed.

    Raises:
        InputError: The text has another form, or too many addresses.
    """
    found: list[int] = []
    for part in text.split(","):
        low, dash, high = (item.strip() for item in part.partition("-"))
        first = _parse_address(low, part)
        last = _parse_address(high, part) if dash else first
        if last < first:
            raise InputError(f"{part.strip()[:80]!r}: the range ends before it begins")
        if len(found) + last - first + 1 > limit:
            raise InputError(f"{text[:80]!r} has more than {limit:,} addresses")
        found += range(first, last + 1)
    return found


def _parse_address(text: str, part: str) -> int:
    try:
        return int(ipaddress.IPv4Address(text))
    except ValueError:
        raise InputError(
            f"{part.strip()[:80]!r} is not an IPv4 address or a range such as 10.1.4.11-10.1.4.74"
        ) from None
