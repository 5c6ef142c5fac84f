"""Differences between planned and discovered cables, each reported once: whole devices first, then swapped cables,
cables in the wrong port, missing and extra ones. Many wrong cables with one cause are one difference.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

from ....primitives.foreign_text import shorten_text
from .comparison import Comparison, Difference, WrongLink, parse_host
from .planned import PlannedLinks
from .readers import DiscoveredLinks, LinkEnd
from .swaps import find_swaps

__all__ = ["compare", "count_checked_links"]


def compare(planned: PlannedLinks, discovered: DiscoveredLinks) -> list[Difference]:
    """Return all differences, those that explain most links first."""
    work = Comparison(planned, discovered)
    work.classify_links()
    found: list[Difference] = []
    rest = find_swaps(work, found)
    _find_wrong_cables(work, rest, found)
    _find_missing_cables(work, found)
    order = ("device", "exchanged", "shuffled", "swapped", "wrong", "missing", "extra", "unknown")
    return sorted(found, key=lambda item: order.index(item.kind))


def count_checked_links(planned: PlannedLinks, discovered: DiscoveredLinks) -> int:
    """Count planned links that the output would include."""
    return sum(any(end[0] in discovered.reporting_devices for end in ends) for ends in planned.ends)


@dataclass(frozen=True)
class _UnknownLink:
    """A discovered link to a device that is not in the plan."""

    device: str
    neighbor: LinkEnd
    location: str


def _find_wrong_cables(comparison: Comparison, rest: list[WrongLink], differences: list[Difference]) -> None:
    strangers: dict[str, list[_UnknownLink]] = defaultdict(list)
    for (one, other), first, second, place in rest:
        unknown = [
            (mine, theirs) for mine, theirs in ((one, other), (other, one)) if mine[0] not in comparison.known_devices
        ]
        if unknown:
            (device, _), neighbor = unknown[0]
            strangers[parse_host(device)].append(_UnknownLink(device, neighbor, place))
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
    differences += [_describe_stranger(comparison, host, links) for host, links in strangers.items()]


def _describe_stranger(comparison: Comparison, host: str, links: list[_UnknownLink]) -> Difference:
    """Describe a device that is not in the plan, and the planned device in whose place it is connected."""
    name = shorten_text(host if len(links) > 1 else links[0].device)
    ports = ", ".join(sorted(comparison.format_end(link.neighbor) for link in links)[:4])
    more = f" and {len(links) - 4} more" if len(links) > 4 else ""
    meant = comparison.find_expected_device([link.neighbor for link in links])
    if meant and len(links) > 1:
        return Difference(
            "unknown",
            f"{name} is not in the plan; it is connected in the place of {meant}, to {ports}{more}",
            f"it is {meant} and its name has not been set yet",
            f"set its name to {meant}, and compare again",
            (),
            links[0].location,
        )
    return Difference(
        "unknown",
        f"{name} is not in the plan; it is connected to {ports}{more}",
        "a device with another name, or one that does not belong to this network",
        "set its name, add its adapters to the catalog (adapters.devices), or declare it in the spec",
        (),
        links[0].location,
    )


def _find_missing_cables(comparison: Comparison, differences: list[Difference]) -> None:
    absent = [
        number
        for number in range(len(comparison.planned.ends))
        if number not in comparison.correct_links
        and number not in comparison.explained_links
        and comparison.is_checked(number)
    ]
    differences += _find_silent_devices(comparison, absent)
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


def _find_silent_devices(comparison: Comparison, absent: list[int]) -> list[Difference]:
    """Find devices without any of their links, of which each is one difference that explains them all."""
    total = Counter(parse_host(end[0]) for ends in comparison.planned.ends for end in ends)
    gone: dict[str, list[int]] = defaultdict(list)
    for number in absent:
        for end in comparison.planned.ends[number]:
            gone[parse_host(end[0])].append(number)
    silent = [device for device, numbers in gone.items() if len(numbers) == total[device] > 1]
    found = []
    for device in sorted(silent, key=lambda item: (-total[item], item)):
        numbers = [number for number in gone[device] if number not in comparison.explained_links]
        if not numbers:
            continue
        comparison.explained_links |= set(numbers)
        found.append(
            Difference(
                "device",
                f"{device} is missing: none of its {total[device]} links is up",
                "it is powered off, has another name, or its driver is not loaded",
                "start it and compare again",
                tuple(comparison.planned.cables[number] for number in numbers),
            )
        )
    return found
