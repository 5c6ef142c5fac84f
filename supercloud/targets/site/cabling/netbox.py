"""Files for NetBox's bulk import: what must be there first, device types, devices, cables."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ....plan.build.cabling.cabled import network_of
from ....plan.build.cabling.ends import UNIT, Devices
from ....plan.model.cables import CableTable
from ....plan.model.plan import Plan
from ....primitives.tables import csv_text, plain_cell, yaml_text
from .table import lane_names, laned

__all__ = ["netbox_files"]

# NetBox's own names for what it knows.
_CABLES = {"dac": "dac-passive", "acc": "dac-active", "copper": "cat6", "aoc": "aoc", "multimode": "mmf-om4",
           "single-mode": "smf-os2", "": ""}  # fmt: skip
# Inches from rail to rail: all equipment of the plan is counted in units of EIA-310. NetBox before 4.1 asks for it.
_WIDTH = "19"
# Letters of a slug, which NetBox keeps to 100, with room for a maker before it and a hash after it.
_SLUG = 50
_INFINIBAND = {100: "infiniband-edr", 200: "infiniband-hdr", 400: "infiniband-ndr", 800: "infiniband-xdr"}
_ETHERNET = {
    "rj45": "1000base-t", "qsfp28": "100gbase-x-qsfp28", "qsfp56": "200gbase-x-qsfp56",
    "qsfp112": "400gbase-x-qsfp112", "osfp": "400gbase-x-osfp",
}  # fmt: skip


def netbox_files(plan: Plan, tables: list[CableTable]) -> dict[str, str]:
    """Path -> text; they are numbered in the order of import."""
    types: dict[str, dict[str, tuple[str, str]]] = {}
    devices: dict[str, Sequence[object]] = {}
    makers = _makers(plan)
    for table in tables:
        for item in table.devices:
            if item.kind == "building":
                continue
            ports = types.setdefault(item.model, {})
            for name, printed, form in zip(_names(item), item.ports, item.forms, strict=True):
                ports[name] = (_interface(table, item, form), "" if name == printed else str(printed))
                if table.lane.any() and item.kind == "leaf" and not item.run:
                    ports |= {f"{name}/{lane + 1}": ports[name] for lane in range(int(table.lane.max()))}
            for row in _devices(plan, item, makers):
                devices.setdefault(row[0], row[1])
        for at, system, _ in lane_names(table):
            leaf, port = table.devices[table.other_set[at]], int(table.other_port[at])
            label = f"{leaf.ports[port]}/{table.lane[at]}"
            types[leaf.model][system] = (_interface(table, leaf, leaf.forms[port]), label)
    files = {
        "1-sites.csv": _csv("name,slug,status", [(plan.name, plan.name, "planned")]),
        "2-manufacturers.csv": _csv("name,slug", sorted(_slugs(m for m, _, _ in makers.values()).items())),
        "3-device-roles.csv": _csv("name,slug,color", [("node", "node", "2196f3"), ("switch", "switch", "4caf50"),
                                                       ("service", "service", "ff9800")]),
        "4-racks.csv": _csv("site,name,status,width,u_height", [
            (plan.name, rack.name, "planned", _WIDTH, str(rack.units or 48))
            for rack in (plan.layout.racks if plan.layout else ())
        ]),
        "6-devices.csv": _csv("name,role,manufacturer,device_type,status,site,rack,position,face", devices.values()),
        "7-cables.csv": _csv(
            "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name,type,status,label,length,length_unit",
            (row for table in tables for row in _cables(table)),
        ),
    }  # fmt: skip
    slugs = _slugs(types)
    for model, ports in sorted(types.items()):
        files[f"5-device-types/{slugs[model]}.yaml"] = _device_type(
            model, slugs[model], ports, *makers.get(model, ("generic", 1, ""))
        )
    return files


def _csv(head: str, rows: Iterable[Sequence[object]]) -> str:
    """NetBox takes cells as they are: ``_device_type`` writes names as cells do, so that both files have the same."""
    return csv_text(head.split(","), rows)


def _slug(text: str) -> str:
    """Letters, digits and hyphens of ASCII: what NetBox takes."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_SLUG]


def _slugs(names: Iterable[str]) -> dict[str, str]:
    """A slug of its own for each name: where two are alike, or nothing is left, a part of a hash tells them."""
    found: dict[str, str] = {}
    plain = {name: _slug(name) for name in sorted(set(names))}
    counts = Counter(plain.values())
    for name, slug in plain.items():
        unclear = not slug or counts[slug] > 1
        found[name] = f"{slug}-{hashlib.sha256(name.encode()).hexdigest()[:8]}".strip("-") if unclear else slug
    return found


def _makers(plan: Plan) -> dict[str, tuple[str, int, str]]:
    """Model -> maker, rack units, part number; what stands upright beside the equipment has no units."""
    hall = plan.facility
    machines = [pool.machine for pool in plan.pools] + [group.machine for group in plan.servers]
    machines += [group.machine for group in hall.service] if hall else []
    found = {item.name: (item.vendor, item.body.units or 1, "") for item in machines}
    racked = {group.name: group.machine.body.units or 1 for group in hall.service} if hall else {}
    for fabric in plan.fabrics:
        found |= {tier.switch.name: (tier.switch.vendor, tier.switch.units or 1, tier.switch.part_number or "")
                  for tier in fabric.tiers}  # fmt: skip
    for fabric in plan.fabrics:
        for item in fabric.services:
            units = 0 if item.name == "pdu" else racked.get(item.name, 1)
            found.setdefault(item.product or item.name, ("generic", units, item.part_number or ""))
    return found


def _names(item: Devices) -> list[str]:
    """Interfaces are called what the operating system of a switch calls them; the name on the box is their label."""
    known = item.side == "switch" and item.system and not item.system[0].isdigit()
    return [name or str(port) for name, port in zip(item.system if known else item.ports, item.ports, strict=True)]


def _interface(table: CableTable, item: Devices, form: str) -> str:
    rate = item.speed or table.fabric.speed
    speed = int(rate.base / 10**9) if rate else 0
    if network_of(table.fabric) == "infiniband":
        return _INFINIBAND.get(speed, "other")
    if form == "osfp" and speed == 800:
        return "800gbase-x-osfp"
    return _ETHERNET.get(form, "other")


def _devices(
    plan: Plan, item: Devices, makers: dict[str, tuple[str, int, str]]
) -> Iterator[tuple[str, Sequence[object]]]:
    maker, units, _ = makers.get(item.model, ("generic", 1, ""))
    role = "node" if item.kind == "node" else "switch" if item.side == "switch" else "service"
    racks = [rack.name for rack in plan.layout.racks] if plan.layout else []
    lowest = np.round(item.height / UNIT - units / 2).astype(np.int64).tolist()
    for name, rack, unit in zip(item.names, item.rack.tolist(), lowest, strict=True):
        place = ("", "", "") if rack < 0 else (racks[rack], unit, "front") if units else (racks[rack], "", "")
        yield name, (name, role, maker, item.model, "planned", plan.name, *place)


def _device_type(model: str, own: str, ports: dict[str, tuple[str, str]], maker: str, units: int, part: str) -> str:
    slug = own if own.startswith(f"{_slug(maker)}-") else f"{_slug(maker)}-{own}"
    found: dict[str, Any] = {"manufacturer": plain_cell(maker), "model": plain_cell(model), "slug": slug,
                             "u_height": units, "is_full_depth": units > 0}  # fmt: skip
    if part:
        found["part_number"] = part
    found["interfaces"] = [{"name": plain_cell(name), "type": kind} | ({"label": label} if label else {})
                           for name, (kind, label) in ports.items()]  # fmt: skip
    return yaml_text(found)


def _cables(table: CableTable) -> Iterator[Sequence[object]]:
    kinds = [_CABLES[item.fibre or item.medium] for item in table.kinds] + [""]
    width = max(5, len(str(table.cables)))
    name = table.fabric.name
    ports = [laned(table, side, table.pick(side, lambda item: np.array(_names(item), dtype=object)))
             for side in ("one", "other")]  # fmt: skip
    for at, system, _ in lane_names(table):
        ports[1][at] = system
    rows = zip(table.names("one"), ports[0], table.names("other"), ports[1],
               table.kind.tolist(), table.cable.tolist(), table.stock.tolist(), strict=True)  # fmt: skip
    for a, a_port, b, b_port, kind, cable, order in rows:
        if b == "building":
            continue
        length = ("", "") if order != order else (f"{order:g}", "m")
        yield (a, "dcim.interface", a_port, b, "dcim.interface", b_port, kinds[kind], "planned",
               f"{name}-{cable + 1:0{width}d}", *length)  # fmt: skip
