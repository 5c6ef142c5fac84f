"""Planned and discovered links side by side: which are right, which are wrong, and what a wrong one should be."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from ....primitives.foreign_text import shorten_text
from .planned import PlannedLinks
from .readers import DiscoveredLinks, LinkEnd

__all__ = ["Comparison", "Difference", "SwappedLinks", "WrongLink", "parse_host"]

_UNKNOWN_PORT = "?"


@dataclass(frozen=True)
class Difference:
    """One difference, its most likely cause, and the fix."""

    kind: str
    """device, exchanged, shuffled, swapped, wrong, missing, extra, unknown."""
    problem: str
    cause: str
    fix: str
    cables: tuple[str, ...] = ()
    place: str = ""
    """File and line of the input."""


Link = tuple[LinkEnd, LinkEnd]
WrongLink = tuple[Link, int | None, int | None, str]
"""A discovered link, the planned links of its two ends, and its file and line."""
SwappedLinks = tuple[int, int, str]


class Comparison:
    """The state of a comparison: links that are right, wrong, or explained by a difference."""

    def __init__(self, planned: PlannedLinks, discovered: DiscoveredLinks):
        self.planned, self.seen = planned, discovered
        self.link_by_end: dict[LinkEnd, int] = {}
        self.known_devices: set[str] = set()
        for number, ends in enumerate(planned.ends):
            for end in ends:
                self.link_by_end[end] = number
                self.known_devices.add(end[0])
        self.correct_links: set[int] = set()
        self.wrong_links: list[WrongLink] = []
        self.explained_links: set[int] = set()
        """Planned links that a difference explains."""
        self.links_between: dict[tuple[str, str], list[int]] = defaultdict(list)
        if planned.machines:
            for number, (one, other) in enumerate(planned.ends):
                self.links_between[one[0], f"{other[0]} {other[1]}"].append(number)
                self.links_between[one[0], other[0]].append(number)

    def classify_links(self) -> None:
        """Classify links as right or wrong."""
        reported: set[frozenset[LinkEnd]] = set()
        for (raw_one, raw_other), place in self.seen.links.items():
            one, other = (self.planned.aliases.get(end, end) for end in (raw_one, raw_other))
            both = frozenset((one, other))
            if both in reported:
                continue  # both ends reported it, each with its own port names
            reported.add(both)
            first, second = self._find_planned_link(one, other), self._find_planned_link(other, one)
            if first is not None and first == second:
                self.correct_links.add(first)
                continue
            self.wrong_links.append(((one, other), first, second, place))
        given: set[int] = set()
        for number, ((one, other), first, second, place) in enumerate(self.wrong_links):
            planned_one = self._find_missing_link(one, other, given) if first is None else first
            planned_other = self._find_missing_link(other, one, given) if second is None else second
            self.wrong_links[number] = ((one, other), planned_one, planned_other, place)

    def _find_missing_link(self, end: LinkEnd, peer: LinkEnd, assigned: set[int]) -> int | None:
        """Return a missing one of the machine's links to that switch: its port name cannot be compared."""
        if end in self.link_by_end or end[0] not in self.planned.machines:
            return None
        free = [
            item
            for item in self.links_between.get((end[0], peer[0]), [])
            if item not in self.correct_links and item not in assigned
        ]
        assigned |= set(free[:1])
        return free[0] if free else None

    def _find_planned_link(self, end: LinkEnd, peer: LinkEnd) -> int | None:
        found = self.link_by_end.get(end)
        if found is None and end[0] in self.planned.machines:
            # the operating system's port name is not comparable: the switch port must lead to this machine
            exact = self.links_between.get((end[0], f"{peer[0]} {peer[1]}"), [])
            nearly = self.links_between.get((end[0], peer[0]), [])
            return exact[0] if exact else nearly[0] if len(nearly) == 1 else None
        return found

    def find_move(self, wrong: WrongLink) -> tuple[int, LinkEnd, LinkEnd] | None:
        """Return the planned link, the right end and the wrong end; None if neither end is right."""
        (one, other), first, second, _ = wrong
        if (first is None and second is None) or one[0] not in self.known_devices or other[0] not in self.known_devices:
            return None
        # the end nearer to the nodes is assumed right: the far end is one of many similar ones
        keep, moved, number = (one, other, first)
        if first is None or (
            second is not None and self.planned.ends[first][1] == one and self.planned.ends[second][0] == other
        ):
            keep, moved, number = (other, one, second)
        assert number is not None
        return number, keep, moved

    def require_move(self, wrong: WrongLink) -> tuple[int, LinkEnd, LinkEnd]:
        """Return the same for a link with at least one right end."""
        found = self.find_move(wrong)
        assert found is not None
        return found

    def format_end(self, end: LinkEnd) -> str:
        """Format an end with its printed port name."""
        number = self.link_by_end.get(end)
        if number is None:
            device, port = map(shorten_text, end)
            if end[0] in self.planned.ports and end[1].isascii() and end[1].isdigit():
                names = self.planned.ports[end[0]]
                return f"{end[0]}:{names[int(end[1]) - 1]}" if int(end[1]) <= len(names) else f"{device}:{port}"
            return f"{device}:{port}" if port != _UNKNOWN_PORT else device
        return self.planned.labels[number][0 if self.planned.ends[number][0] == end else 1]

    def format_link(self, number: int) -> str:
        """Format both ends of a planned link."""
        return " > ".join(self.planned.labels[number])

    def find_expected_device(self, ends: list[LinkEnd]) -> str:
        """Return the single device to which all these ends should lead; empty if there is none."""
        found = set()
        for end in ends:
            number = self.link_by_end.get(end)
            peers = [item for item in self.planned.ends[number] if item != end] if number is not None else []
            found.add(parse_host(peers[0][0]) if peers else "")
        return found.pop() if len(found) == 1 else ""

    def is_checked(self, number: int) -> bool:
        """Whether the output would include one of its ends."""
        return any(end[0] in self.seen.reporting_devices for end in self.planned.ends[number])


def parse_host(name: str) -> str:
    """Return the host of a device name, which may have an adapter after it."""
    return name.partition(" ")[0]
