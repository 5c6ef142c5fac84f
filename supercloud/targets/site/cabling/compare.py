"""Differences between planned and discovered cables, each reported once: whole devices first, then swapped cables,
cables in the wrong port, missing and extra ones. Many wrong cables with one cause are one difference.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from .planned import PlannedLinks
from .readers import DiscoveredLinks, LinkEnd

__all__ = ["Difference", "compare"]

_UNKNOWN_PORT = "?"


@dataclass(frozen=True)
class Difference:
    """One difference, its most likely cause, and the fix."""

    kind: str
    """device, exchanged, shuffled, swapped, wrong, missing, extra, unknown."""
    problem: str
    cause: str
    remedy: str
    cables: tuple[str, ...] = ()
    place: str = ""
    """File and line of the input."""


Link = tuple[LinkEnd, LinkEnd]
WrongLink = tuple[Link, int | None, int | None, str]
"""A discovered link, the planned links of its two ends, and its file and line."""
SwappedLinks = tuple[int, int, str]
# From this number on, cables in each other's ports are one mistake, not many.
_MIN_SHUFFLED_CABLES = 4


class _Comparison:
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
        said: set[frozenset[LinkEnd]] = set()
        for (raw_one, raw_other), place in self.seen.links.items():
            one, other = (self.planned.aliases.get(end, end) for end in (raw_one, raw_other))
            both = frozenset((one, other))
            if both in said:
                continue  # both ends reported it, each with its own port names
            said.add(both)
            first, second = self._find_planned_link(one, other), self._find_planned_link(other, one)
            if first is not None and first == second:
                self.correct_links.add(first)
                continue
            self.wrong_links.append(((one, other), first, second, place))
        given: set[int] = set()
        for number, ((one, other), first, second, place) in enumerate(self.wrong_links):
            if first is None:
                first = self._find_missing_link(one, other, given)
            if second is None:
                second = self._find_missing_link(other, one, given)
            self.wrong_links[number] = ((one, other), first, second, place)

    def _find_missing_link(self, end: LinkEnd, peer: LinkEnd, assigned: set[int]) -> int | None:
        """Return a missing one of the machine's links to that switch: its port name cannot be compared."""
        if end in self.link_by_end or end[0] not in self.planned.machines:
            return None
        free = [
            item for item in self.links_between.get((end[0], peer[0]), []) if item not in self.correct_links | assigned
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
            if end[0] in self.planned.ports and end[1].isascii() and end[1].isdigit():
                names = self.planned.ports[end[0]]
                return f"{end[0]}:{names[int(end[1]) - 1]}" if int(end[1]) <= len(names) else f"{end[0]}:{end[1]}"
            return f"{end[0]}:{end[1]}" if end[1] != _UNKNOWN_PORT else end[0]
        return self.planned.labels[number][0 if self.planned.ends[number][0] == end else 1]

    def format_link(self, number: int) -> str:
        return " > ".join(self.planned.labels[number])

    def find_expected_device(self, ends: list[LinkEnd]) -> str:
        """Return the single device to which all these ends should lead; empty if there is none."""
        found = set()
        for end in ends:
            number = self.link_by_end.get(end)
            peers = [item for item in self.planned.ends[number] if item != end] if number is not None else []
            found.add(_parse_host(peers[0][0]) if peers else "")
        return found.pop() if len(found) == 1 else ""

    def is_checked(self, number: int) -> bool:
        """Whether the output would include one of its ends."""
        return any(end[0] in self.seen.reporting_devices for end in self.planned.ends[number])


def compare(planned: PlannedLinks, discovered: DiscoveredLinks) -> list[Difference]:
    """Return all differences, those that explain most links first."""
    work = _Comparison(planned, discovered)
    work.classify_links()
    found: list[Difference] = []
    rest = _find_swaps(work, found)
    _find_wrong_cables(work, rest, found)
    _find_missing_cables(work, found)
    order = ("device", "exchanged", "shuffled", "swapped", "wrong", "missing", "extra", "unknown")
    return sorted(found, key=lambda item: order.index(item.kind))


def count_checked_links(planned: PlannedLinks, discovered: DiscoveredLinks) -> int:
    """Count planned links that the output would include."""
    return sum(any(end[0] in discovered.reporting_devices for end in ends) for ends in planned.ends)


def _find_swaps(comparison: _Comparison, differences: list[Difference]) -> list[WrongLink]:
    """Find pairs of links with exchanged ends, single ones or as part of a larger mistake; returns the remaining wrong
    links.
    """
    by_pair: dict[frozenset[int], list[WrongLink]] = defaultdict(list)
    rest: list[WrongLink] = []
    for item in comparison.wrong_links:
        if item[1] is not None and item[2] is not None:
            by_pair[frozenset((item[1], item[2]))].append(item)
        else:
            rest.append(item)
    swaps: list[SwappedLinks] = []
    for numbers, items in by_pair.items():
        if len(items) == 2:
            first, second = sorted(numbers)
            swaps.append((first, second, items[0][3]))
            comparison.explained_links |= numbers
        else:
            rest += items
    swaps = _find_exchanged_devices(comparison, swaps, differences)
    swaps, rest = _find_shuffled_cables(comparison, swaps, rest, differences)
    differences += [_describe_swap(comparison, *swap) for swap in swaps]
    return rest


def _find_exchanged_devices(
    comparison: _Comparison, swaps: list[SwappedLinks], differences: list[Difference]
) -> list[SwappedLinks]:
    """Find two devices with exchanged names or positions, by most of their cables; returns the remaining swaps."""
    total: dict[str, int] = defaultdict(int)
    switches: set[str] = set()
    for one, other in comparison.planned.ends:
        total[_parse_host(one[0])] += 1
        total[_parse_host(other[0])] += 1
        switches.add(_parse_host(other[0]))
    groups: dict[frozenset[str], list[SwappedLinks]] = defaultdict(list)
    for swap in swaps:
        for a, b in zip(comparison.planned.ends[swap[0]], comparison.planned.ends[swap[1]], strict=True):
            if _parse_host(a[0]) != _parse_host(b[0]):
                groups[frozenset((_parse_host(a[0]), _parse_host(b[0])))].append(swap)
    told: set[SwappedLinks] = set()
    for devices, group in sorted(groups.items(), key=lambda item: (-len(item[1]), sorted(item[0]))):
        own = [swap for swap in group if swap not in told]
        most = len(own) > 1 and all(2 * len(own) > total[device] for device in devices)
        if not most and (len(own) < _MIN_SHUFFLED_CABLES or not devices <= switches):
            continue
        told |= set(own)
        one_name, other_name = sorted(devices)
        what = "switches" if devices <= switches else "machines"
        because = (
            f"names or positions of the two {what} are exchanged"
            if most
            else "a bundle of cables is on the other device"
        )
        remedy = f"exchange their names, or the {what}" if most else "exchange the two bundles, port by port"
        count = f"{'all ' if all(total[name] == len(own) for name in devices) else ''}{len(own)}"
        differences.append(
            Difference(
                "exchanged",
                f"{count} cables are exchanged between {one_name} and {other_name}",
                because,
                remedy,
                tuple(comparison.planned.cables[number] for swap in own for number in swap[:2]),
                own[0][2],
            )
        )
    return [swap for swap in swaps if swap not in told]


def _find_shuffled_cables(
    comparison: _Comparison, swaps: list[SwappedLinks], rest: list[WrongLink], differences: list[Difference]
) -> tuple[list[SwappedLinks], list[WrongLink]]:
    """Find many cables of one machine or switch in each other's ports (one mistake); returns the rest of both lists."""
    loose: dict[str, list[WrongLink]] = defaultdict(list)
    paired: dict[str, list[SwappedLinks]] = defaultdict(list)
    ends = comparison.planned.ends
    for item in rest:
        if (move := comparison.find_move(item)) is None:
            continue
        number, keep, moved = move
        target = next(end for end in ends[number] if end != keep)
        theirs = comparison.link_by_end.get(moved)
        if moved[0] == target[0]:
            loose[moved[0]].append(item)
        elif theirs is not None and any(_parse_host(end[0]) == _parse_host(keep[0]) for end in ends[theirs]):
            loose[_parse_host(keep[0])].append(item)
    for swap in swaps:
        for a, b in zip(ends[swap[0]], ends[swap[1]], strict=True):
            if _parse_host(a[0]) == _parse_host(b[0]):
                paired[_parse_host(a[0])].append(swap)
    total: dict[str, int] = defaultdict(int)
    for end in (end for both in ends for end in both):
        total[_parse_host(end[0])] += 1
    switches = {_parse_host(other[0]) for _, other in ends}
    told: set[int] = set()
    taken: set[SwappedLinks] = set()
    for device in sorted({*loose, *paired}, key=lambda name: (-len(loose[name]) - 2 * len(paired[name]), name)):
        wrong = [item for item in loose[device] if id(item) not in told]
        pairs = [swap for swap in paired[device] if swap not in taken]
        # pairs are one mistake if half of a machine's ports are reversed; at a switch they are separate mistakes
        turned = device not in switches and len(pairs) > 1 and 4 * len(pairs) >= total[device]
        if len(wrong) < _MIN_SHUFFLED_CABLES and not turned:
            continue
        told |= {id(item) for item in wrong}
        taken |= set(pairs)
        moves = [
            (number, comparison.format_end(keep), comparison.format_end(moved))
            for number, keep, moved in map(comparison.require_move, wrong)
        ]
        for first, second, _ in pairs:
            moves += [
                (first, comparison.planned.labels[first][0], comparison.planned.labels[second][1]),
                (second, comparison.planned.labels[second][0], comparison.planned.labels[first][1]),
            ]
        moves.sort()
        comparison.explained_links |= {number for number, _, _ in moves}
        lines = [
            f"{keep}: from {moved} to {_select_other_label(comparison.planned.labels[number], keep)}"
            for number, keep, moved in moves
        ]
        differences.append(
            Difference(
                "shuffled",
                f"{len(moves)} cables of {device} are in each other's ports, or in neighbouring ports",
                "its cables were connected in the wrong order: reversed, or shifted by one port",
                "move each end:\n      " + "\n      ".join(lines),
                tuple(comparison.planned.cables[number] for number, _, _ in moves),
                (wrong or pairs)[0][-1],
            )
        )
    return [swap for swap in swaps if swap not in taken], [item for item in rest if id(item) not in told]


def _select_other_label(labels: tuple[str, str], label: str) -> str:
    return labels[1] if labels[0] == label else labels[0]


def _parse_host(name: str) -> str:
    return name.partition(" ")[0]


def _describe_swap(comparison: _Comparison, first: int, second: int, location: str) -> Difference:
    one, other = comparison.planned.ends[first], comparison.planned.ends[second]
    shared = next((a[0] for a, b in zip(reversed(one), reversed(other), strict=True) if a[0] == b[0]), None)
    where = f"at {shared}" if shared else "at one end"
    ends = [comparison.planned.labels[number] for number in (first, second)]
    side = 1 if shared is None or shared == one[1][0] else 0
    return Difference(
        "swapped",
        f"{comparison.format_link(first)} and {comparison.format_link(second)} have exchanged ends",
        f"the two cables were exchanged {where}",
        f"exchange {ends[0][side]} and {ends[1][side]}",
        (comparison.planned.cables[first], comparison.planned.cables[second]),
        location,
    )


def _find_wrong_cables(comparison: _Comparison, rest: list[WrongLink], differences: list[Difference]) -> None:
    strangers: dict[str, list[tuple[LinkEnd, LinkEnd, str]]] = defaultdict(list)
    for (one, other), first, second, place in rest:
        unknown = [
            (mine, theirs) for mine, theirs in ((one, other), (other, one)) if mine[0] not in comparison.known_devices
        ]
        if unknown:
            strangers[_parse_host(unknown[0][0][0])].append((unknown[0][0], unknown[0][1], place))
            comparison.explained_links |= {item for item in (first, second) if item is not None}
            continue
        if first is None and second is None:
            differences.append(
                Difference(
                    "extra",
                    f"{comparison.format_end(one)} > {comparison.format_end(other)} is not in the plan",
                    "an extra cable, or one of another network",
                    "remove it, or declare it in the spec",
                    (),
                    place,
                )
            )
            continue
        number, keep, moved = comparison.require_move(((one, other), first, second, place))
        comparison.explained_links.add(number)
        target = next(end for end in comparison.planned.ends[number] if end != keep)
        differences.append(
            Difference(
                "wrong",
                f"{comparison.format_end(keep)} leads to {comparison.format_end(moved)}, not to "
                f"{comparison.format_end(target)}",
                "the cable is in the wrong port",
                f"move its end from {comparison.format_end(moved)} to {comparison.format_end(target)}",
                (comparison.planned.cables[number],),
                place,
            )
        )
    for host, links in strangers.items():
        name = host if len(links) > 1 else links[0][0][0]
        ports = ", ".join(sorted(comparison.format_end(end) for _, end, _ in links)[:4])
        more = f" and {len(links) - 4} more" if len(links) > 4 else ""
        meant = comparison.find_expected_device([end for _, end, _ in links])
        if meant and len(links) > 1:
            differences.append(
                Difference(
                    "unknown",
                    f"{name} is not in the plan; it is connected in the place of {meant}, to {ports}{more}",
                    f"it is {meant} and its name has not been set yet",
                    f"set its name to {meant}, and compare again",
                    (),
                    links[0][2],
                )
            )
            continue
        differences.append(
            Difference(
                "unknown",
                f"{name} is not in the plan; it is connected to {ports}{more}",
                "a device with another name, or one that does not belong to this network",
                "set its name, add its adapters to the catalog (adapters.devices), or declare it in the spec",
                (),
                links[0][2],
            )
        )


def _find_missing_cables(comparison: _Comparison, differences: list[Difference]) -> None:
    absent = [
        number
        for number in range(len(comparison.planned.ends))
        if number not in comparison.correct_links
        and number not in comparison.explained_links
        and comparison.is_checked(number)
    ]
    total: dict[str, int] = defaultdict(int)
    gone: dict[str, list[int]] = defaultdict(list)
    for ends in comparison.planned.ends:
        for end in ends:
            total[_parse_host(end[0])] += 1
    for number in absent:
        for end in comparison.planned.ends[number]:
            gone[_parse_host(end[0])].append(number)
    # a device without any of its links is one difference that explains them all
    silent = [device for device, numbers in gone.items() if len(numbers) == total[device] > 1]
    for device in sorted(silent, key=lambda item: (-total[item], item)):
        numbers = [number for number in gone[device] if number not in comparison.explained_links]
        if not numbers:
            continue
        comparison.explained_links |= set(numbers)
        differences.append(
            Difference(
                "device",
                f"{device} is missing: none of its {total[device]} links is up",
                "it is powered off, has another name, or its driver is not loaded",
                "start it and compare again",
                tuple(comparison.planned.cables[number] for number in numbers),
            )
        )
    taken = {end for link, _, _, _ in comparison.wrong_links for end in link}
    for number in absent:
        if number in comparison.explained_links:
            continue
        busy = [comparison.format_end(end) for end in comparison.planned.ends[number] if end in taken]
        cause = f"another cable is in {busy[0]}" if busy else "it is not connected at one end, or defective"
        differences.append(
            Difference(
                "missing",
                f"{comparison.format_link(number)} is missing",
                cause,
                "fix that one first" if busy else "connect it, clean it, or replace it",
                (comparison.planned.cables[number],),
            )
        )
