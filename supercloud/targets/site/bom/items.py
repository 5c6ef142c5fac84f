"""What is counted: one function a family of things, each item once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

import numpy as np

from ....plan.build.cabling.cabled import fabrics_cabled, network_of
from ....plan.build.cabling.cables import cables_of
from ....plan.build.cabling.ends import Spots
from ....plan.build.cabling.parts import Parts
from ....plan.model.cables import CableTable
from ....plan.model.plan import Plan, Service

__all__ = ["FIELDS", "Item", "items_of"]

FIELDS = ("section", "item", "product", "part_number", "count", "spares", "note")


@dataclass(frozen=True)
class Item:
    """One line of the bill."""

    section: str
    item: str
    product: str
    part_number: str
    count: int
    spares: int = 0
    note: str = ""


def items_of(plan: Plan) -> list[Item]:
    """Every line: machines, racks, switches, then cables and optics network by network."""
    spots = Spots(plan)
    found = [*_machines(plan), *_racks(plan), *_switches(plan)]
    for fabric in fabrics_cabled(plan):
        declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
        spares = declared.cabling.spares if declared.cabling else 0.0
        table = cables_of(plan, fabric, spots)
        found += _cables(table, spares)
        found += _optics(table, spares)
    return found


def _machines(plan: Plan) -> Iterator[Item]:
    for pool in plan.pools:
        note = f"{pool.spares} of them spare" if pool.spares else ""
        yield Item("machines", f"{pool.machine.title} ({pool.name})", pool.machine.name, "", pool.nodes, 0, note)
    known: dict[str, Service] = {}
    for fabric in plan.fabrics:
        for service in fabric.services:
            switch = any(service.name == f"{other.name}-{tier.name}" for other in plan.fabrics for tier in other.tiers)
            if service.ours and not switch:
                before = known.get(service.name)
                if before is None or (service.count, bool(service.product)) > (before.count, bool(before.product)):
                    known[service.name] = service
    groups = {group.name for group in plan.facility.service} if plan.facility else set()
    groups |= {group.name for group in plan.servers}
    if plan.facility and plan.facility.pdus:
        groups.add("pdu")  # ordered with the racks
    for service in known.values():
        if service.name not in groups:  # groups of machines that the plan counts itself have lines of their own
            product = service.product or service.name
            yield Item("machines", f"{product} ({service.name})", product, service.part_number or "", service.count)
    for group in plan.facility.service if plan.facility else ():
        yield Item("machines", f"{group.machine.title} ({group.name})", group.machine.name, "", group.count)
    for servers in plan.servers:
        yield Item("machines", f"{servers.machine.title} ({servers.name})", servers.machine.name, "", servers.count)


def _racks(plan: Plan) -> Iterator[Item]:
    for group in plan.facility.racks if plan.facility else ():
        name = group.rack.name if group.rack else "rack product"
        what = f"for {group.pool}" if group.pool else f"for {group.kind}"
        yield Item("racks", f"{group.rack.title if group.rack else 'complete rack'}, {what}", name, "", group.count)
    for group in plan.facility.racks if plan.facility else ():
        if group.pdus:
            what = f"for {group.pool}" if group.pool else f"for {group.kind}"
            note = f"{group.pdus // group.count} a rack" + ("" if group.pdu else ", product not known")
            yield Item("racks", f"power distribution unit {what}", group.pdu, "", group.pdus, 0, note)


def _switches(plan: Plan) -> Iterator[Item]:
    for fabric in fabrics_cabled(plan):
        models: dict[str, list[str]] = {}
        counts: dict[str, int] = {}
        parts: dict[str, tuple[str, str]] = {}
        for tier in fabric.tiers:
            boxes = -(-tier.count // tier.switch.chips)
            models.setdefault(tier.switch.name, []).append(f"{boxes} {tier.name}")
            counts[tier.switch.name] = counts.get(tier.switch.name, 0) + boxes
            parts[tier.switch.name] = (tier.switch.title, tier.switch.part_number or "")
        for name, tiers in models.items():
            yield Item("switches", f"{parts[name][0]}, network {fabric.name}", name, parts[name][1], counts[name], 0,
                       " + ".join(tiers))  # fmt: skip


def _spare(count: int, part: float) -> int:
    return ceil(round(count * part, 9))


def _cables(table: CableTable, spares: float) -> Iterator[Item]:
    """Pieces of cable by what they join, kind and length."""
    section = f"cables of {table.fabric.name}"
    _, first = np.unique(table.cable, return_index=True)
    known = sorted({float(value) for value in table.stock[first] if value == value})
    size = np.searchsorted(known, np.nan_to_num(table.stock[first], nan=-1.0)) if known else first * 0
    size = np.where(np.isnan(table.stock[first]), -1, size)
    keys = np.stack([table.one_set[first], table.other_set[first], table.kind[first], size])
    found, counts = np.unique(keys, axis=1, return_counts=True)
    for (one, other, kind, length), count in zip(found.T.tolist(), counts.tolist(), strict=True):
        between = f"{table.devices[one].kind} to {table.devices[other].kind}"
        if kind < 0:
            yield Item(section, f"cable, {between}", "", "", count, _spare(count, spares),
                       "the catalog has no kind that fits")  # fmt: skip
            continue
        cable = table.kinds[kind]
        metres = known[length] if length >= 0 else None
        part = next((number for text, number in cable.part_numbers.items()
                     for item in cable.lengths if str(item) == text and float(item.base) == metres), "")  # fmt: skip
        text = f"{metres:g} m" if metres is not None else "length not known"
        yield Item(section, f"{cable.title}, {text}, {between}", cable.name, part, count, _spare(count, spares))


def _optics(table: CableTable, spares: float) -> Iterator[Item]:
    """Transceivers: one for each cage that fibre goes into, whoever's machine it is unless they bring their own."""
    parts = table.fabric.parts
    if not isinstance(parts, Parts) or not table.kinds:
        return
    network = network_of(table.fabric)
    theirs = np.array([not item.ours and item.kind != "building" for item in table.devices])[table.one_set]
    cages: dict[tuple[str, str, str, int], set[int]] = {}
    for side in ("one", "other"):
        sets, index, port = (getattr(table, f"{side}{part}") for part in ("_set", "", "_port"))
        for number, item in enumerate(table.devices):
            for kind, cable in enumerate(table.kinds):
                here = (sets == number) & (table.kind == kind) & ~theirs
                if cable.medium != "fibre" or item.kind == "building" or not here.any():
                    continue
                module = parts.module(cable, f"{item.side}:{item.forms[int(port[here][0])]}", network)
                if module is not None:
                    used = np.unique(index[here] * (int(item.cages.max()) + 1) + item.cages[port[here]])
                    key = (module.title, module.name, module.part_number or "", number)
                    cages.setdefault(key, set()).update(used.tolist())
    counts: dict[tuple[str, str, str, str], int] = {}
    for (title, name, part, number), found in cages.items():
        where = table.devices[number].kind
        counts[title, name, part, where] = counts.get((title, name, part, where), 0) + len(found)
    for (title, name, part, where), count in counts.items():
        yield Item(f"cables of {table.fabric.name}", f"{title}, in {where}", name, part, count, _spare(count, spares))
