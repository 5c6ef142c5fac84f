"""A fabric as a diagram: its tiers one above the other, some of their switches, and the cables that join those."""

from __future__ import annotations

from collections.abc import Iterator

from ...plan.model import FabricPlan
from ...topology import Fabric as Wiring
from .names import plural
from .svg import Picture, cut

__all__ = ["fabric_diagram"]

_WIDTH, _LEFT, _BAND, _BOX, _TOP = 940, 210, 104, 34, 12
_MOST = 12


def fabric_diagram(fabric: FabricPlan) -> Picture | None:
    """The tiers from the core down to the nodes; None where a cloud owns the wires."""
    wiring = fabric.wiring
    if not isinstance(wiring, Wiring):
        return None
    if wiring.grid is not None:
        return _grid(fabric, wiring)
    unit = wiring.levels[0]
    tiers = [*reversed(fabric.tiers)]
    picture = Picture(_WIDTH, _TOP + (len(tiers) + 1) * _BAND - 30, f"fabric {fabric.name}")
    drawn: dict[str, dict[int, float]] = {}
    boxes: list[tuple[float, float, float, str, str, str]] = []
    for depth, tier in enumerate(tiers):
        label = f"{plural(tier.count, tier.name)}" if tier.count == 1 else f"{tier.count:,} {tier.name}"
        _tier(picture, depth, label, tier.switch.name, tier.count, tier.name, "switch", drawn, boxes)
    name = "unit" if unit.name == "fabric" else unit.name
    count = -(-wiring.nodes // unit.size)
    label, about = f"{wiring.nodes:,} nodes", f"{count} {name} of {unit.size}"
    _tier(picture, len(tiers), label, about, count, "node", "node", drawn, boxes)
    rows = {tier.name: depth for depth, tier in enumerate(tiers)} | {"node": len(tiers)}
    for group in wiring.link_groups:
        if group.source_kind not in rows or group.target_kind not in rows:
            continue
        lower, upper = rows[group.source_kind], rows[group.target_kind]
        y = _TOP + lower * _BAND - (_BAND - _BOX) / 2
        speed = f", {fabric.speed}" if fabric.speed else ""
        picture.text(0, y, cut(f"{group.count:,} cables{speed}", _LEFT, 11), "faint", 11)
        for one, other in sorted(_joined(wiring, group.name, unit.size, drawn)):
            picture.line(
                drawn[group.source_kind][one], _TOP + lower * _BAND,
                drawn[group.target_kind][other], _TOP + upper * _BAND + _BOX,
            )  # fmt: skip
    for x, y, width, text, kind, tip in boxes:
        picture.rect(x, y, width, _BOX, kind, tip)
        picture.text(x + width / 2, y + _BOX / 2, text, "on", 11, "middle")
    return picture


def _tier(
    picture: Picture, depth: int, label: str, about: str, count: int, name: str, kind: str,
    drawn: dict[str, dict[int, float]], boxes: list[tuple[float, float, float, str, str, str]],
) -> None:  # fmt: skip
    y = _TOP + depth * _BAND
    picture.text(0, y + 9, cut(label, _LEFT - 10, 13), "strong", 13)
    picture.text(0, y + 26, cut(about, _LEFT - 10, 11), "faint", 11)
    shown = _shown(count)
    step = (_WIDTH - _LEFT) / len(shown)
    width = min(step - 8, 96)
    places = drawn.setdefault(name, {})
    for place, index in enumerate(shown):
        middle = _LEFT + (place + 0.5) * step
        if index is None:
            picture.text(middle, y + _BOX / 2, "…", "strong", 16, "middle")
        else:
            places[index] = middle
            boxes.append((middle - width / 2, y, width, str(index + 1), kind, f"{name} {index + 1} of {count}"))


def _shown(count: int) -> list[int | None]:
    """All of a few; of many the first ones, a gap, and the last two."""
    if count <= _MOST:
        return list(range(count))
    return [*range(_MOST - 3), None, count - 2, count - 1]


def _joined(wiring: Wiring, name: str, unit: int, drawn: dict[str, dict[int, float]]) -> set[tuple[int, int]]:
    """Which of the things drawn are joined by a link group: units of nodes, or switches."""
    found: set[tuple[int, int]] = set()
    for group in wiring.link_groups:
        if group.name != name:
            continue
        of_nodes = group.source_kind == "node"
        sources = wiring.nodes if of_nodes else wiring.tier(group.source_kind).count
        planes = wiring.planes if of_nodes else 1
        each = group.count // planes // sources
        for source in drawn[group.source_kind]:
            first = source * unit if of_nodes else source
            for plane in range(planes):
                for number in _numbers(first, each, plane * sources * each):
                    target = group.ends(number)[2]
                    if target in drawn[group.target_kind]:
                        found.add((source, target))
    return found


def _numbers(source: int, each: int, offset: int) -> Iterator[int]:
    return iter(range(offset + source * each, offset + (source + 1) * each))


def _grid(fabric: FabricPlan, wiring: Wiring) -> Picture:
    """A torus: one plane of it, and the wraparound as stubs."""
    assert wiring.grid is not None
    dims = wiring.grid.dims
    high, wide = (min(length, 8) for length in dims[-2:])
    step = 52
    picture = Picture(_WIDTH, max(high * step + 40, 150), f"fabric {fabric.name}")
    picture.text(0, 21, " × ".join(map(str, dims)) + " torus", "strong", 13)
    picture.text(0, 38, f"{wiring.nodes:,} nodes", "faint", 11)
    picture.text(0, 56, f"{sum(wiring.link_counts.values()):,} cables", "faint", 11)
    if len(dims) == 3:
        picture.text(0, 74, f"one of {dims[0]} layers", "faint", 11)
    for row in range(high):
        for column in range(wide):
            x, y = _LEFT + column * step + 40, 24 + row * step
            picture.line(x + 15, y + 15, x + (step if column + 1 < wide else 40), y + 15)
            picture.line(x + 15, y + 15, x + 15, y + (step if row + 1 < high else 40))
            if not column:
                picture.line(x - 12, y + 15, x, y + 15)
            if not row:
                picture.line(x + 15, y - 12, x + 15, y)
    for row in range(high):
        for column in range(wide):
            x, y, number = _LEFT + column * step + 40, 24 + row * step, row * dims[-1] + column
            picture.rect(x, y, 30, 30, "node", f"node {number + 1}")
            picture.text(x + 15, y + 15, str(number + 1), "on", 10, "middle")
    return picture
