"""Plan -> files for the builders of the data hall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ....plan.model.plan import Plan
from ....plan.publish.document import build_document
from ....primitives.bundle import Bundle, File
from ....primitives.quantity import Mass, Power
from ....primitives.tables import format_csv, format_yaml
from ...pictures import RackContents, draw_elevations
from .text import render_elevations

__all__ = ["render"]


def render(plan: Plan) -> Bundle:
    """Render racks, their contents, circuits, cooling zones, and pictures."""
    things = RackContents(plan)
    files: dict[str, File | str] = {
        "circuits.csv": format_csv(
            ("rack", "pdu", "product", "feed", "carries_kw", "load_kw", "load_after_loss_kw", "at_least"),
            _iter_circuits(plan, things),
        ),
        "contents.csv": format_csv(("rack", "unit", "units", "what", "name", "product"), _iter_contents(plan, things)),
        "cooling.csv": format_csv(("zone", "cdu", "needed", "spare", "racks"), _iter_zones(plan)),
        "elevations.svg": draw_elevations(plan).render_file(),
        "elevations.txt": render_elevations(plan, things),
        "facility.yaml": _render_facility(plan),
        "racks.csv": format_csv(
            (
                "rack",
                "row",
                "column",
                "kind",
                "type",
                "units",
                "used",
                "kw",
                "at_least",
                "weight_kg",
                "headroom_kw",
                "zone",
            ),
            _iter_racks(plan),
        ),
        "rows.csv": format_csv(("row", "racks", "kw", "at_least", "limit_kw", "headroom_kw"), _iter_rows(plan)),
    }
    return Bundle(files)


def _format_kilowatts(power: Power | None) -> object:
    return "" if power is None else f"{power.to('kW'):.3f}".rstrip("0").rstrip(".")


def _draw(power: Power, is_least: bool) -> tuple[object, str]:
    """Return the power draw and whether it is a lower bound: ``yes`` or empty. No number if no part of it is known."""
    return "" if is_least and not power else _format_kilowatts(power), "yes" if is_least else ""


def _iter_racks(plan: Plan) -> Iterable[Sequence[object]]:
    groups = plan.facility.racks if plan.facility else ()
    limits = [(_format_weight(group.weight) if group.pool else "", group.power_limit) for group in groups]
    for rack in plan.layout.racks if plan.layout else ():
        weight, limit = limits[rack.group] if rack.group >= 0 else ("", None)
        used = sum(item.count * item.height for item in rack.items if item.unit)
        kind = rack.rack.name if rack.rack else ""
        whole = rack.group >= 0 and rack.power == groups[rack.group].power
        left = limit - rack.power if limit and not rack.is_power_lower_bound else None
        yield (
            rack.name,
            rack.row + 1,
            rack.column + 1,
            rack.kind,
            kind,
            rack.units,
            used,
            *_draw(rack.power, rack.is_power_lower_bound),
            weight if whole else "",
            _format_kilowatts(left),
            "" if rack.zone is None else rack.zone + 1,
        )


def _iter_rows(plan: Plan) -> Iterable[Sequence[object]]:
    if plan.layout is None:
        return
    limit = plan.facility.power_plan.row_limit if plan.facility and plan.facility.power_plan else None
    counts = Counter(rack.row for rack in plan.layout.racks)
    partly = {rack.row for rack in plan.layout.racks if rack.is_power_lower_bound}
    for index, power in enumerate(plan.layout.compute_row_power()):
        left = limit - power if limit is not None and index not in partly else None
        yield (
            index + 1,
            counts[index],
            *_draw(power, index in partly),
            _format_kilowatts(limit),
            _format_kilowatts(left),
        )


def _format_weight(weight: Mass | None) -> object:
    return "" if weight is None else f"{weight.to('kg'):g}"


def _iter_contents(plan: Plan, contents: RackContents) -> Iterable[Sequence[object]]:
    for rack in plan.layout.racks if plan.layout else ():
        for item in rack.items:
            product = contents.get_product(item)
            for index in range(item.count):
                unit = item.unit + index * item.height if item.unit else ""
                yield rack.name, unit, item.height or "", item.kind, contents.format_name(item, index), product


def _iter_circuits(plan: Plan, contents: RackContents) -> Iterable[Sequence[object]]:
    """Yield one line per distribution unit with its load, an equal share of the rack's, and its load after a feed
    loss.
    """
    groups = plan.facility.racks if plan.facility else ()
    for rack in plan.layout.racks if plan.layout else ():
        group = groups[rack.group] if rack.group >= 0 else None
        if group is None or group.circuits is None:
            continue
        circuits = group.circuits
        item = next(item for item in rack.items if item.kind == "pdu")
        left = circuits.count - circuits.circuits_lost
        share, at_least = _draw(Power.from_base(rack.power.base / circuits.count), rack.is_power_lower_bound)
        after = _draw(Power.from_base(rack.power.base / left), rack.is_power_lower_bound)[0] if left else ""
        for index in range(circuits.count):
            feed = chr(ord("A") + index % circuits.feeds) if circuits.feeds <= 26 else index % circuits.feeds + 1
            yield (
                rack.name,
                contents.format_name(item, index),
                group.pdu,
                feed,
                _format_kilowatts(circuits.circuit_power),
                share,
                after,
                at_least,
            )


def _iter_zones(plan: Plan) -> Iterable[Sequence[object]]:
    loop = plan.facility.cooling_plan.loop if plan.facility and plan.facility.cooling_plan else None
    if loop is None:
        return
    names: dict[int, list[str]] = {}
    for rack in plan.layout.racks if plan.layout else ():
        if rack.zone is not None and rack.kind != "service":
            names.setdefault(rack.zone, []).append(rack.name)
    for zone, racks in sorted(names.items()):
        needed, spare = loop.zone_cdus[zone] if zone < len(loop.zone_cdus) else ("", "")
        product = loop.cdu.name if loop.cdu else ""
        yield zone + 1, product, needed, spare, f"{racks[0]} … {racks[-1]}" if len(racks) > 1 else racks[0]


def _render_facility(plan: Plan) -> str:
    facility = build_document(plan).facility
    data = facility.model_dump(mode="json") if facility else {}
    return format_yaml(data)
