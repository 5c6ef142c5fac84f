"""Cables with exchanged ends: single pairs, exchanged devices, and bundles in the ports of each other."""

from __future__ import annotations

from collections import defaultdict

from .comparison import Comparison, Difference, SwappedLinks, WrongLink, parse_host

__all__ = ["find_swaps"]

# From this number on, cables in each other's ports are one mistake, not many.
_MIN_SHUFFLED_CABLES = 4


def find_swaps(comparison: Comparison, differences: list[Difference]) -> list[WrongLink]:
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
    comparison: Comparison, swaps: list[SwappedLinks], differences: list[Difference]
) -> list[SwappedLinks]:
    """Find two devices with exchanged names or positions, by most of their cables; returns the remaining swaps."""
    total: dict[str, int] = defaultdict(int)
    switches: set[str] = set()
    for one, other in comparison.planned.ends:
        total[parse_host(one[0])] += 1
        total[parse_host(other[0])] += 1
        switches.add(parse_host(other[0]))
    groups: dict[frozenset[str], list[SwappedLinks]] = defaultdict(list)
    for swap in swaps:
        for a, b in zip(comparison.planned.ends[swap[0]], comparison.planned.ends[swap[1]], strict=True):
            if parse_host(a[0]) != parse_host(b[0]):
                groups[frozenset((parse_host(a[0]), parse_host(b[0])))].append(swap)
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
    comparison: Comparison, swaps: list[SwappedLinks], rest: list[WrongLink], differences: list[Difference]
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
        elif theirs is not None and any(parse_host(end[0]) == parse_host(keep[0]) for end in ends[theirs]):
            loose[parse_host(keep[0])].append(item)
    for swap in swaps:
        for a, b in zip(ends[swap[0]], ends[swap[1]], strict=True):
            if parse_host(a[0]) == parse_host(b[0]):
                paired[parse_host(a[0])].append(swap)
    total: dict[str, int] = defaultdict(int)
    for end in (end for both in ends for end in both):
        total[parse_host(end[0])] += 1
    switches = {parse_host(other[0]) for _, other in ends}
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


def _describe_swap(comparison: Comparison, first: int, second: int, location: str) -> Difference:
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
