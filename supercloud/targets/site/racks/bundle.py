"""Plan -> files for those who build the hall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ....plan.model.plan import Plan
from ....plan.publish.document import document
from ....primitives.bundle import Bundle, File
from ....primitives.quantity import Mass, Power
from ....primitives.tables import csv_text, yaml_text
from ...pictures import Things, elevations
from .text import elevations_text

__all__ = ["render"]


def render(plan: Plan) -> Bundle:
    """Racks, what is in them, circuits, cooling zones, and pictures."""
    things = Things(plan)
    files: dict[str, File | str] = {
        "circuits.csv": csv_text(("rack", "pdu", "product", "feed", "carries_kw", "load_kw", "load_after_loss_kw",
                                      "at_least"),
                                     _circuits(plan, things)),
        "contents.csv": csv_text(("rack", "unit", "units", "what", "name", "product"), _contents(plan, things)),
        "cooling.csv": csv_text(("zone", "cdu", "needed", "spare", "racks"), _zones(plan)),
        "elevations.svg": elevations(plan).alone(),
        "elevations.txt": elevations_text(plan, things),
        "facility.yaml": _facility(plan),
        "racks.csv": csv_text(
            ("rack", "row", "column", "kind", "type", "units", "used", "kw", "at_least", "weight_kg", "headroom_kw",
             "zone"),
            _racks(plan),
        ),
        "rows.csv": csv_text(("row", "racks", "kw", "at_least", "limit_kw", "headroom_kw"), _rows(plan)),
    }  # fmt: skip
    return Bundle(files)


def _kw(power: Power | None) -> object:
    return "" if power is None else f"{power.to('kW'):.3f}".rstrip("0").rstrip(".")


def _draw(power: Power, is_least: bool) -> tuple[object, str]:
    """What is drawn and whether that is a lower bound: ``yes`` or empty. No number where nothing of it is known."""
    return "" if is_least and not power else _kw(power), "yes" if is_least else ""


def _racks(plan: Plan) -> Iterable[Sequence[object]]:
    groups = plan.facility.racks if plan.facility else ()
    limits = [(_weight(group.weight) if group.pool else "", group.limit) for group in groups]
    for rack in plan.layout.racks if plan.layout else ():
        weight, limit = limits[rack.group] if rack.group >= 0 else ("", None)
        used = sum(item.count * item.height for item in rack.items if item.unit)
        kind = rack.rack.name if rack.rack else ""
        whole = rack.group >= 0 and rack.power == groups[rack.group].power
        left = limit - rack.power if limit and not rack.power_is_least else None
        yield (rack.name, rack.row + 1, rack.column + 1, rack.kind, kind, rack.units, used,
               *_draw(rack.power, rack.power_is_least), weight if whole else "", _kw(left),
               "" if rack.zone is None else rack.zone + 1)  # fmt: skip


def _rows(plan: Plan) -> Iterable[Sequence[object]]:
    if plan.layout is None:
        return
    limit = plan.spec.facility.power.row if plan.spec.facility else None
    counts = Counter(rack.row for rack in plan.layout.racks)
    partly = {rack.row for rack in plan.layout.racks if rack.power_is_least}
    for index, power in enumerate(plan.layout.row_power()):
        left = limit - power if limit is not None and index not in partly else None
        yield index + 1, counts[index], *_draw(power, index in partly), _kw(limit), _kw(left)


def _weight(weight: Mass | None) -> object:
    return "" if weight is None else f"{weight.to('kg'):g}"


def _contents(plan: Plan, things: Things) -> Iterable[Sequence[object]]:
    for rack in plan.layout.racks if plan.layout else ():
        for item in rack.items:
            product = things.product(item)
            for index in range(item.count):
                unit = item.unit + index * item.height if item.unit else ""
                yield rack.name, unit, item.height or "", item.what, things.name(item, index), product


def _circuits(plan: Plan, things: Things) -> Iterable[Sequence[object]]:
    """One line a distribution unit, its load an even part of the rack's, and that after the loss of another feed."""
    groups = plan.facility.racks if plan.facility else ()
    for rack in plan.layout.racks if plan.layout else ():
        group = groups[rack.group] if rack.group >= 0 else None
        if group is None or group.circuits is None:
            continue
        circuits = group.circuits
        item = next(item for item in rack.items if item.what == "pdu")
        left = circuits.count - circuits.lost
        share, at_least = _draw(Power.of_base(rack.power.base / circuits.count), rack.power_is_least)
        after = _draw(Power.of_base(rack.power.base / left), rack.power_is_least)[0] if left else ""
        for index in range(circuits.count):
            feed = chr(ord("A") + index % circuits.feeds) if circuits.feeds <= 26 else index % circuits.feeds + 1
            yield (rack.name, things.name(item, index), group.pdu, feed, _kw(circuits.each), share, after, at_least)


def _zones(plan: Plan) -> Iterable[Sequence[object]]:
    loop = plan.facility.heat.loop if plan.facility and plan.facility.heat else None
    if loop is None:
        return
    names: dict[int, list[str]] = {}
    for rack in plan.layout.racks if plan.layout else ():
        if rack.zone is not None and rack.kind != "service":
            names.setdefault(rack.zone, []).append(rack.name)
    for zone, racks in sorted(names.items()):
        needed, spare = loop.zones[zone] if zone < len(loop.zones) else ("", "")
        product = loop.cdu.name if loop.cdu else ""
        yield zone + 1, product, needed, spare, f"{racks[0]} … {racks[-1]}" if len(racks) > 1 else racks[0]


def _facility(plan: Plan) -> str:
    facility = document(plan).facility
    data = facility.model_dump(mode="json") if facility else {}
    return yaml_text(data)
