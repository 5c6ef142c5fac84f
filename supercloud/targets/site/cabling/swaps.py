"""Cables with exchanged ends: single pairs, exchanged devices, and bundles in the ports of each other."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

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


def _count_cables(comparison: Comparison) -> dict[str, int]:
    """Count the planned cables of each device."""
    return Counter(parse_host(end[0]) for ends in comparison.planned.ends for end in ends)


def _list_switches(comparison: Comparison) -> set[str]:
    return {parse_host(other[0]) for _, other in comparison.planned.ends}


def _group_by_devices(
    comparison: Comparison, swaps: list[SwappedLinks]
) -> list[tuple[frozenset[str], list[SwappedLinks]]]:
    """Group swaps by the two devices between which ends are exchanged, those with most swaps first."""
    groups: dict[frozenset[str], list[SwappedLinks]] = defaultdict(list)
    for swap in swaps:
        for a, b in zip(comparison.planned.ends[swap[0]], comparison.planned.ends[swap[1]], strict=True):
            if parse_host(a[0]) != parse_host(b[0]):
                groups[frozenset((parse_host(a[0]), parse_host(b[0])))].append(swap)
    return sorted(groups.items(), key=lambda item: (-len(item[1]), sorted(item[0])))


def _find_exchanged_devices(
    comparison: Comparison, swaps: list[SwappedLinks], differences: list[Difference]
) -> list[SwappedLinks]:
    """Find two devices with exchanged names or positions, by most of their cables; returns the remaining swaps."""
    total, switches = _count_cables(comparison), _list_switches(comparison)
    explained: set[SwappedLinks] = set()
    for devices, group in _group_by_devices(comparison, swaps):
        own = [swap for swap in group if swap not in explained]
        is_whole = len(own) > 1 and all(2 * len(own) > total[device] for device in devices)
        if not is_whole and (len(own) < _MIN_SHUFFLED_CABLES or not devices <= switches):
            continue
        explained |= set(own)
        what = "switches" if devices <= switches else "machines"
        cause, fix = "a bundle of cables is on the other device", "exchange the two bundles, port by port"
        if is_whole:
            cause = f"names or positions of the two {what} are exchanged"
            fix = f"exchange their names, or the {what}"
        count = f"all {len(own)}" if all(total[name] == len(own) for name in devices) else str(len(own))
        differences.append(
            Difference(
                "exchanged",
                f"{count} cables are exchanged between {' and '.join(sorted(devices))}",
                cause,
                fix,
                _list_cable_numbers(comparison, own),
                own[0][2],
            )
        )
    return [swap for swap in swaps if swap not in explained]


def _list_cable_numbers(comparison: Comparison, swaps: list[SwappedLinks]) -> tuple[str, ...]:
    return tuple(comparison.planned.cables[number] for first, second, _ in swaps for number in (first, second))


def _find_shuffled_cables(
    comparison: Comparison, swaps: list[SwappedLinks], rest: list[WrongLink], differences: list[Difference]
) -> tuple[list[SwappedLinks], list[WrongLink]]:
    """Find many cables of one machine or switch in each other's ports (one mistake); returns the rest of both lists."""
    loose = _group_moved_cables(comparison, rest)
    paired = _group_by_common_device(comparison, swaps)
    total, switches = _count_cables(comparison), _list_switches(comparison)
    explained: set[int] = set()
    taken: set[SwappedLinks] = set()
    for device in _rank_devices(loose, paired):
        wrong = [item for item in loose[device] if id(item) not in explained]
        pairs = [swap for swap in paired[device] if swap not in taken]
        # at a switch, pairs are separate mistakes
        turned = device not in switches and _is_reversed(pairs, total[device])
        if len(wrong) < _MIN_SHUFFLED_CABLES and not turned:
            continue
        explained.update(map(id, wrong))
        taken.update(pairs)
        moves = _list_moves(comparison, wrong, pairs)
        comparison.explained_links.update(move[0] for move in moves)
        differences.append(_describe_shuffle(comparison, device, moves, (wrong or pairs)[0][-1]))
    return [swap for swap in swaps if swap not in taken], [item for item in rest if id(item) not in explained]


def _group_moved_cables(comparison: Comparison, links: list[WrongLink]) -> dict[str, list[WrongLink]]:
    """Group wrong links by the device among whose ports an end was moved."""
    groups: dict[str, list[WrongLink]] = defaultdict(list)
    ends = comparison.planned.ends
    for item in links:
        if (move := comparison.find_move(item)) is None:
            continue
        number, keep, moved = move
        target = next(end for end in ends[number] if end != keep)
        theirs = comparison.link_by_end.get(moved)
        if moved[0] == target[0]:
            groups[moved[0]].append(item)
        elif theirs is not None and any(parse_host(end[0]) == parse_host(keep[0]) for end in ends[theirs]):
            groups[parse_host(keep[0])].append(item)
    return groups


def _group_by_common_device(comparison: Comparison, swaps: list[SwappedLinks]) -> dict[str, list[SwappedLinks]]:
    """Group swaps by the device that both cables have."""
    groups: dict[str, list[SwappedLinks]] = defaultdict(list)
    ends = comparison.planned.ends
    for swap in swaps:
        for a, b in zip(ends[swap[0]], ends[swap[1]], strict=True):
            if parse_host(a[0]) == parse_host(b[0]):
                groups[parse_host(a[0])].append(swap)
    return groups


def _rank_devices(loose: Mapping[str, list[WrongLink]], paired: Mapping[str, list[SwappedLinks]]) -> list[str]:
    """List the devices of both groups, those with most moved cables first."""
    counts = {device: len(loose.get(device, ())) + 2 * len(paired.get(device, ())) for device in (*loose, *paired)}
    return sorted(counts, key=lambda device: (-counts[device], device))


def _is_reversed(pairs: list[SwappedLinks], ports: int) -> bool:
    """Whether pairs are one mistake: half of a machine's ports are in reverse order."""
    return len(pairs) > 1 and 4 * len(pairs) >= ports


# Number of the cable, label of the end that stays, label of the port in which the other end is.
_Move = tuple[int, str, str]


def _list_moves(comparison: Comparison, wrong: list[WrongLink], pairs: list[SwappedLinks]) -> list[_Move]:
    """List the ends to move, by cable."""
    labels = comparison.planned.labels
    moves = [
        (number, comparison.format_end(keep), comparison.format_end(moved))
        for number, keep, moved in map(comparison.require_move, wrong)
    ]
    for first, second, _ in pairs:
        moves += [(first, labels[first][0], labels[second][1]), (second, labels[second][0], labels[first][1])]
    return sorted(moves)


def _describe_shuffle(comparison: Comparison, device: str, moves: list[_Move], location: str) -> Difference:
    lines = [
        f"{keep}: from {moved} to {_select_other_label(comparison.planned.labels[number], keep)}"
        for number, keep, moved in moves
    ]
    return Difference(
        "shuffled",
        f"{len(moves)} cables of {device} are in each other's ports, or in neighboring ports",
        "its cables were connected in the wrong order: reversed, or shifted by one port",
        "move each end:\n      " + "\n      ".join(lines),
        tuple(comparison.planned.cables[number] for number, _, _ in moves),
        location,
    )


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
