"""What is wrong with the cables that are there, said once each: whole devices first, then exchanged cables, cables
in the wrong port, missing and extra ones."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from .planned import Planned
from .readers import Seen, SeenEnd

__all__ = ["Difference", "compare"]

_ANY = "?"


@dataclass(frozen=True)
class Difference:
    """One thing that is wrong, its most likely cause, and what to do."""

    kind: str
    """device, exchanged, swapped, wrong, missing, extra, unknown."""
    problem: str
    cause: str
    remedy: str
    cables: tuple[str, ...] = ()
    place: str = ""
    """Where it was read."""


Link = tuple[SeenEnd, SeenEnd]


class _Comparison:
    def __init__(self, planned: Planned, seen: Seen):
        self.planned, self.seen = planned, seen
        self.owner: dict[SeenEnd, int] = {}
        self.known: set[str] = set()
        for number, ends in enumerate(planned.ends):
            for end in ends:
                self.owner[end] = number
                self.known.add(end[0])
        self.right: set[int] = set()
        self.wrong: list[tuple[Link, int | None, int | None, str]] = []
        self.explained: set[int] = set()
        """Planned links that a finding speaks of."""
        self.between: dict[tuple[str, str], list[int]] = defaultdict(list)
        if planned.machines:
            for number, (one, other) in enumerate(planned.ends):
                self.between[one[0], f"{other[0]} {other[1]}"].append(number)
                self.between[one[0], other[0]].append(number)

    def sort(self) -> None:
        """Tell right links from wrong ones."""
        said: set[frozenset[SeenEnd]] = set()
        for (raw_one, raw_other), place in self.seen.links.items():
            one, other = (self.planned.aliases.get(end, end) for end in (raw_one, raw_other))
            both = frozenset((one, other))
            if both in said:
                continue  # both ends told of it, each in its own words
            said.add(both)
            first, second = self._owner(one, other), self._owner(other, one)
            if first is not None and first == second:
                self.right.add(first)
                continue
            self.wrong.append(((one, other), first, second, place))

    def _owner(self, end: SeenEnd, peer: SeenEnd) -> int | None:
        found = self.owner.get(end)
        if found is None and end[0] in self.planned.machines:
            # the operating system's name of a port says nothing: the switch port must lead to this machine
            exact = self.between.get((end[0], f"{peer[0]} {peer[1]}"), [])
            nearly = self.between.get((end[0], peer[0]), [])
            return exact[0] if exact else nearly[0] if len(nearly) == 1 else None
        return found

    def label(self, end: SeenEnd) -> str:
        """An end as it is printed."""
        number = self.owner.get(end)
        if number is None:
            if end[0] in self.planned.ports and end[1].isdigit():
                names = self.planned.ports[end[0]]
                return f"{end[0]}:{names[int(end[1]) - 1]}" if int(end[1]) <= len(names) else f"{end[0]}:{end[1]}"
            return f"{end[0]}:{end[1]}" if end[1] != _ANY else end[0]
        return self.planned.labels[number][0 if self.planned.ends[number][0] == end else 1]

    def pair(self, number: int) -> str:
        return " > ".join(self.planned.labels[number])

    def checked(self, number: int) -> bool:
        """Whether one of its ends would have been heard."""
        return any(end[0] in self.seen.reporting for end in self.planned.ends[number])


def compare(planned: Planned, seen: Seen) -> list[Difference]:
    """Every difference, the ones that explain most first."""
    work = _Comparison(planned, seen)
    work.sort()
    found: list[Difference] = []
    rest = _swaps(work, found)
    _wrong(work, rest, found)
    _missing(work, found)
    order = ("device", "exchanged", "swapped", "wrong", "missing", "extra", "unknown")
    return sorted(found, key=lambda item: order.index(item.kind))


def checked_links(planned: Planned, seen: Seen) -> int:
    """Links of the plan that the output would have shown."""
    return sum(any(end[0] in seen.reporting for end in ends) for ends in planned.ends)


def _swaps(work: _Comparison, found: list[Difference]) -> list[tuple[Link, int | None, int | None, str]]:
    """Pairs of links that have each other's ends; what is left of the wrong ones."""
    by_pair: dict[frozenset[int], list[tuple[Link, int | None, int | None, str]]] = defaultdict(list)
    rest = []
    for item in work.wrong:
        if item[1] is not None and item[2] is not None:
            by_pair[frozenset((item[1], item[2]))].append(item)
        else:
            rest.append(item)
    swaps: list[tuple[int, int, str]] = []
    for numbers, items in by_pair.items():
        if len(items) == 2:
            first, second = sorted(numbers)
            swaps.append((first, second, items[0][3]))
            work.explained |= numbers
        else:
            rest += items
    by_devices: dict[frozenset[str], list[tuple[int, int, str]]] = defaultdict(list)
    for swap in swaps:
        by_devices[frozenset(_far(work, swap[0], swap[1]))].append(swap)
    sizes: dict[str, int] = defaultdict(int)
    for ends in work.planned.ends:
        sizes[_host(ends[0][0])] += 1
    for devices, group in by_devices.items():
        if len(devices) == 2 and len(group) > 1 and all(sizes[device] == len(group) for device in devices):
            one, other = sorted(devices)
            found.append(Difference(
                "exchanged", f"all {len(group)} cables of {one} are those of {other}, and the other way round",
                "the two machines have each other's name or place", "exchange their names, or the machines",
                tuple(work.planned.cables[number] for swap in group for number in swap[:2]), group[0][2],
            ))  # fmt: skip
            continue
        found += [_swap(work, *swap) for swap in group]
    return rest


def _host(name: str) -> str:
    return name.partition(" ")[0]


def _far(work: _Comparison, first: int, second: int) -> tuple[str, str]:
    one, other = work.planned.ends[first], work.planned.ends[second]
    return _host(one[0][0]), _host(other[0][0])


def _swap(work: _Comparison, first: int, second: int, place: str) -> Difference:
    one, other = work.planned.ends[first], work.planned.ends[second]
    shared = next((a[0] for a, b in zip(reversed(one), reversed(other), strict=True) if a[0] == b[0]), None)
    where = f"at {shared}" if shared else "at one end"
    ends = [work.planned.labels[number] for number in (first, second)]
    side = 1 if shared is None or shared == one[1][0] else 0
    return Difference(
        "swapped", f"{work.pair(first)} and {work.pair(second)} have each other's ends",
        f"the two cables were exchanged {where}", f"exchange {ends[0][side]} and {ends[1][side]}",
        (work.planned.cables[first], work.planned.cables[second]), place,
    )  # fmt: skip


def _wrong(work: _Comparison, rest: list[tuple[Link, int | None, int | None, str]], found: list[Difference]) -> None:
    strangers: dict[str, list[tuple[SeenEnd, str]]] = defaultdict(list)
    for (one, other), first, second, place in rest:
        unknown = [(mine, theirs) for mine, theirs in ((one, other), (other, one)) if mine[0] not in work.known]
        if unknown:
            strangers[unknown[0][0][0]].append((unknown[0][1], place))
            work.explained |= {item for item in (first, second) if item is not None}
            continue
        if first is None and second is None:
            found.append(Difference(
                "extra", f"{work.label(one)} > {work.label(other)} is not in the plan",
                "a cable too many, or one of another network", "pull it, or declare it", (), place,
            ))  # fmt: skip
            continue
        # the end nearer to the nodes is taken for the right one: the far end is one of many alike
        keep, moved, number = (one, other, first)
        if first is None or (second is not None and work.planned.ends[first][1] == one
                             and work.planned.ends[second][0] == other):  # fmt: skip
            keep, moved, number = (other, one, second)
        assert number is not None
        work.explained.add(number)
        target = next(end for end in work.planned.ends[number] if end != keep)
        found.append(Difference(
            "wrong", f"{work.label(keep)} leads to {work.label(moved)}, not to {work.label(target)}",
            "the cable is in the wrong port", f"move its end from {work.label(moved)} to {work.label(target)}",
            (work.planned.cables[number],), place,
        ))  # fmt: skip
    for name, links in strangers.items():
        ports = ", ".join(sorted(work.label(end) for end, _ in links)[:4])
        more = f" and {len(links) - 4} more" if len(links) > 4 else ""
        found.append(Difference(
            "unknown", f"{name} is not in the plan; it hangs on {ports}{more}",
            "a device of another name, or one that does not belong here",
            "give it its name, put its adapters into the catalog (adapters.devices), or declare it", (), links[0][1],
        ))  # fmt: skip


def _missing(work: _Comparison, found: list[Difference]) -> None:
    absent = [
        number
        for number in range(len(work.planned.ends))
        if number not in work.right and number not in work.explained and work.checked(number)
    ]
    total: dict[str, int] = defaultdict(int)
    gone: dict[str, list[int]] = defaultdict(list)
    for ends in work.planned.ends:
        for end in ends:
            total[_host(end[0])] += 1
    for number in absent:
        for end in work.planned.ends[number]:
            gone[_host(end[0])].append(number)
    # a device with none of its links is one finding, and explains them all
    silent = [device for device, numbers in gone.items() if len(numbers) == total[device] > 1]
    for device in sorted(silent, key=lambda item: (-total[item], item)):
        numbers = [number for number in gone[device] if number not in work.explained]
        if not numbers:
            continue
        work.explained |= set(numbers)
        found.append(Difference(
            "device", f"{device} is not there: none of its {total[device]} links",
            "it is switched off, has another name, or its driver is not loaded", "start it and compare again",
            tuple(work.planned.cables[number] for number in numbers),
        ))  # fmt: skip
    taken = {end for link, _, _, _ in work.wrong for end in link}
    for number in absent:
        if number in work.explained:
            continue
        busy = [work.label(end) for end in work.planned.ends[number] if end in taken]
        cause = f"another cable is in {busy[0]}" if busy else "it is not plugged in at one end, or broken"
        found.append(Difference(
            "missing", f"{work.pair(number)} is not there", cause,
            "put that one right first" if busy else "plug it in, clean it, or replace it",
            (work.planned.cables[number],),
        ))  # fmt: skip
