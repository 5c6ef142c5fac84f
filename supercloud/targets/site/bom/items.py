"""Items of the bill: one function per family, each item once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from ....plan.build.cabling.cabled import get_cable_protocol, list_cabled_fabrics
from ....plan.build.cabling.cables import build_cable_table
from ....plan.build.cabling.ends import DeviceLocator
from ....plan.build.fabric.cabling_parts import CablingParts
from ....plan.model.cables import CableTable
from ....plan.model.plan import Plan, PoolPlan, Service

__all__ = ["FIELDS", "BomItem", "build_items"]

FIELDS = ("section", "item", "product", "part_number", "count", "spares", "note")


@dataclass(frozen=True)
class BomItem:
    """One line of the bill."""

    section: str
    item: str
    product: str
    part_number: str
    count: int
    spares: int = 0
    note: str = ""


def build_items(plan: Plan) -> list[BomItem]:
    """Build every line: machines, racks, switches, then cables and optics by network."""
    spots = DeviceLocator(plan)
    found = [*_iter_machines(plan), *_iter_racks(plan), *_iter_coolant_units(plan), *_iter_switches(plan)]
    for fabric in list_cabled_fabrics(plan):
        table = build_cable_table(plan, fabric, spots)
        found += _iter_cables(table, fabric.cable_spares)
        found += _iter_optics(table, fabric.cable_spares)
    return found


def _iter_machines(plan: Plan) -> Iterator[BomItem]:
    for pool in plan.pools:
        title = f"{pool.machine.title} ({pool.name})"
        yield BomItem("machines", title, pool.machine.name, "", pool.nodes, 0, _describe_nodes(plan, pool))
    service_groups = plan.facility.service_groups if plan.facility else ()
    groups = {group.name for group in service_groups} | {group.name for group in plan.servers}
    if plan.facility and plan.facility.pdu_count:
        groups.add("pdu")  # ordered with the racks
    for service in _list_services(plan):
        if service.name not in groups:  # groups of machines that the plan counts have separate lines
            product = service.product or service.name
            yield BomItem("machines", f"{product} ({service.name})", product, service.part_number or "", service.count)
    for group in service_groups:
        yield BomItem("machines", f"{group.machine.title} ({group.name})", group.machine.name, "", group.count)
    for servers in plan.servers:
        yield BomItem("machines", f"{servers.machine.title} ({servers.name})", servers.machine.name, "", servers.count)


def _describe_nodes(plan: Plan, pool: PoolPlan) -> str:
    """Describe what the number of a pool's nodes includes, and what is ordered with them."""
    notes = [f"{pool.spares} of them spares"] if pool.spares else []
    racks = plan.facility.racks if plan.facility else ()
    products = sum(item.count for item in racks if item.pool == pool.name and (not item.rack or item.rack.complete))
    if products:
        notes.append(
            f"part of the {products} complete racks below" if products > 1 else "part of the complete rack below"
        )
    return "; ".join(notes)


def _list_services(plan: Plan) -> list[Service]:
    """List the services to order, each once: the declaration with the most machines, and with a product."""
    switches = {f"{fabric.name}-{tier.name}" for fabric in plan.fabrics for tier in fabric.tiers}
    known: dict[str, Service] = {}
    for service in (service for fabric in plan.fabrics for service in fabric.services):
        if not service.is_managed or service.name in switches:
            continue
        before = known.get(service.name)
        if before is None or (service.count, bool(service.product)) > (before.count, bool(before.product)):
            known[service.name] = service
    return list(known.values())


def _iter_racks(plan: Plan) -> Iterator[BomItem]:
    for group in plan.facility.racks if plan.facility else ():
        name = group.rack.name if group.rack else "rack product"
        what = f"for {group.pool}" if group.pool else f"for {group.kind}"
        yield BomItem("racks", f"{group.rack.title if group.rack else 'complete rack'}, {what}", name, "", group.count)
    for group in plan.facility.racks if plan.facility else ():
        if group.pdus:
            what = f"for {group.pool}" if group.pool else f"for {group.kind}"
            note = f"{group.pdus // group.count} per rack" + ("" if group.pdu else ", product unknown")
            yield BomItem("racks", f"power distribution unit {what}", group.pdu, "", group.pdus, 0, note)


def _iter_coolant_units(plan: Plan) -> Iterator[BomItem]:
    cooling = plan.facility.cooling_plan if plan.facility else None
    loop = cooling.loop if cooling else None
    if loop and loop.cdu and loop.zone_cdus:
        needed, spares = (sum(counts) for counts in zip(*loop.zone_cdus, strict=True))
        note = f"for {loop.heat}" + (f" in {len(loop.zone_cdus)} zones" if len(loop.zone_cdus) > 1 else "")
        yield BomItem("cooling", loop.cdu.title, loop.cdu.name, "", needed, spares, note)


def _iter_switches(plan: Plan) -> Iterator[BomItem]:
    for fabric in list_cabled_fabrics(plan):
        models: dict[str, list[str]] = {}
        counts: dict[str, int] = {}
        parts: dict[str, tuple[str, str]] = {}
        for tier in fabric.tiers:
            boxes = -(-tier.count // tier.switch.chips)
            models.setdefault(tier.switch.name, []).append(f"{boxes} {tier.name}")
            counts[tier.switch.name] = counts.get(tier.switch.name, 0) + boxes
            parts[tier.switch.name] = (tier.switch.title, tier.switch.part_number or "")
        for name, tiers in models.items():
            yield BomItem(
                "switches",
                f"{parts[name][0]}, network {fabric.name}",
                name,
                parts[name][1],
                counts[name],
                0,
                " + ".join(tiers),
            )


def _compute_spares(count: int, fraction: float) -> int:
    return ceil(round(count * fraction, 9))


def _iter_cables(table: CableTable, spares: float) -> Iterator[BomItem]:
    """Yield cables by their ends, kind and length."""
    section = f"cables of {table.fabric.name}"
    _, first = np.unique(table.cable_number, return_index=True)
    known = sorted({float(value) for value in table.stock_length[first] if not np.isnan(value)})
    size = np.searchsorted(known, np.nan_to_num(table.stock_length[first], nan=-1.0)) if known else first * 0
    size = np.where(np.isnan(table.stock_length[first]), -1, size)
    keys = np.stack([table.links.source_set[first], table.links.target_set[first], table.kind_index[first], size])
    found, counts = np.unique(keys, axis=1, return_counts=True)
    for (one, other, kind, length), count in zip(found.T.tolist(), counts.tolist(), strict=True):
        between = f"{table.devices[one].kind} to {table.devices[other].kind}"
        if kind < 0:
            yield BomItem(
                section,
                f"cable, {between}",
                "",
                "",
                count,
                _compute_spares(count, spares),
                "no suitable cable in the catalog",
            )
            continue
        cable = table.kinds[kind]
        meters = known[length] if length >= 0 else None
        part = next(
            (
                number
                for text, number in cable.part_numbers.items()
                for item in cable.lengths
                if str(item) == text and float(item.base) == meters
            ),
            "",
        )
        text = f"{meters:g} m" if meters is not None else "length unknown"
        yield BomItem(
            section, f"{cable.title}, {text}, {between}", cable.name, part, count, _compute_spares(count, spares)
        )


def _iter_optics(table: CableTable, spares: float) -> Iterator[BomItem]:
    """Yield transceivers: one for each cage with a fiber, for all machines that do not include them."""
    parts = table.fabric.cabling_parts
    if not isinstance(parts, CablingParts) or not table.kinds:
        return
    cages: dict[_Module, set[int]] = {}
    for side in ("source", "target"):
        for module, used in _iter_used_cages(table, parts, side):
            cages.setdefault(module, set()).update(used)
    counts: dict[tuple[str, str, str, str], int] = {}
    for (title, name, part, number), found in cages.items():
        where = table.devices[number].kind
        counts[title, name, part, where] = counts.get((title, name, part, where), 0) + len(found)
    for (title, name, part, where), count in counts.items():
        yield BomItem(
            f"cables of {table.fabric.name}", f"{title}, in {where}", name, part, count, _compute_spares(count, spares)
        )


# Title, name and part number of a transceiver, and the number of the devices that it is in.
_Module = tuple[str, str, str, int]


def _iter_used_cages(table: CableTable, parts: CablingParts, side: str) -> Iterator[tuple[_Module, list[int]]]:
    """Yield the cages with a fiber at one side of the links, by the transceiver in them.

    A machine that its vendor manages, and the building's equipment, come with the transceivers of their own ends.
    """
    network = get_cable_protocol(table.fabric)
    sets, index, port = (getattr(table.links, f"{side}{part}") for part in ("_set", "", "_port"))
    for number, item in enumerate(table.devices):
        if not item.is_managed:
            continue
        for kind, cable in enumerate(table.kinds):
            here = (sets == number) & (table.kind_index == kind)
            if cable.medium != "fiber" or not here.any():
                continue
            module = parts.find_transceiver(cable, f"{item.side}:{item.form_factors[int(port[here][0])]}", network)
            if module is not None:
                used = np.unique(index[here] * (int(item.cages.max()) + 1) + item.cages[port[here]])
                yield (module.title, module.name, module.part_number or "", number), used.tolist()
