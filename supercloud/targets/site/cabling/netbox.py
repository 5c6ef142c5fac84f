"""Files for NetBox's bulk import: prerequisites, device types, devices, cables."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np

from ....plan.build.cabling.cabled import network_of
from ....plan.build.cabling.ends import RACK_UNIT_HEIGHT
from ....plan.model.cables import CableTable
from ....plan.model.devices import DeviceSet
from ....plan.model.plan import FabricPlan, Plan
from ....primitives.tables import escape_cell, format_csv, format_yaml
from .table import append_lanes, iter_lane_names

__all__ = ["render_netbox_files"]

# NetBox's names of interface and cable types.
_CABLE_TYPES = {
    "dac": "dac-passive",
    "acc": "dac-active",
    "copper": "cat6",
    "aoc": "aoc",
    "multimode": "mmf-om4",
    "single-mode": "smf-os2",
    "": "",
}
# Inches from rail to rail: all equipment of the plan is counted in units of EIA-310. NetBox before 4.1 asks for it.
_RACK_WIDTH_INCHES = "19"
# Length of a slug, which NetBox limits to 100, with space for a vendor before it and a hash after it.
_MAX_SLUG_LENGTH = 50
_INFINIBAND_TYPES = {100: "infiniband-edr", 200: "infiniband-hdr", 400: "infiniband-ndr", 800: "infiniband-xdr"}
_ETHERNET_TYPES = {
    "rj45": "1000base-t",
    "qsfp28": "100gbase-x-qsfp28",
    "qsfp56": "200gbase-x-qsfp56",
    "qsfp112": "400gbase-x-qsfp112",
    "osfp": "400gbase-x-osfp",
}


# Name of a port -> NetBox's type of the interface, and the label if it differs.
_Interfaces = dict[str, tuple[str, str]]


def render_netbox_files(plan: Plan, tables: list[CableTable]) -> dict[str, str]:
    """Path -> text; they are numbered in the order of import."""
    vendors = _build_manufacturers(plan)
    types: dict[str, _Interfaces] = {}
    devices: dict[str, Sequence[object]] = {}
    for table in tables:
        _add_interfaces(types, table)
        for item in table.devices:
            for row in _iter_devices(plan, item, vendors) if item.kind != "building" else ():
                devices.setdefault(row[0], row[1])
    files = {
        "1-sites.csv": _format_csv("name,slug,status", [(plan.name, plan.name, "planned")]),
        "2-manufacturers.csv": _format_csv(
            "name,slug", sorted(_build_slugs(m for m, _, _ in vendors.values()).items())
        ),
        "3-device-roles.csv": _format_csv(
            "name,slug,color",
            [("node", "node", "2196f3"), ("switch", "switch", "4caf50"), ("service", "service", "ff9800")],
        ),
        "4-racks.csv": _format_csv(
            "site,name,status,width,u_height",
            [
                (plan.name, rack.name, "planned", _RACK_WIDTH_INCHES, str(rack.units or 48))
                for rack in (plan.layout.racks if plan.layout else ())
            ],
        ),
        "6-devices.csv": _format_csv(
            "name,role,manufacturer,device_type,status,site,rack,position,face", devices.values()
        ),
        "7-cables.csv": _format_csv(
            "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name,type,status,label,length,length_unit",
            (row for table in tables for row in _iter_cables(table)),
        ),
    }
    slugs = _build_slugs(types)
    for model, ports in sorted(types.items()):
        files[f"5-device-types/{slugs[model]}.yaml"] = _render_device_type(
            model, slugs[model], ports, *vendors.get(model, ("generic", 1, ""))
        )
    return files


def _add_interfaces(types: dict[str, _Interfaces], table: CableTable) -> None:
    """Add the interfaces of the devices of a table to those of their models; split ports have one for each part."""
    for item in table.devices:
        if item.kind == "building":
            continue
        ports = types.setdefault(item.model, {})
        is_split = table.links.lane.any() and item.kind == "leaf" and not item.switch_run
        for name, printed, form in zip(_list_interface_names(item), item.ports, item.form_factors, strict=True):
            ports[name] = (_select_interface_type(table, item, form), "" if name == printed else str(printed))
            if is_split:
                ports |= {f"{name}/{lane + 1}": ports[name] for lane in range(int(table.links.lane.max()))}
    for at, system, _ in iter_lane_names(table):
        leaf, port = table.devices[table.links.target_set[at]], int(table.links.target_port[at])
        label = f"{leaf.ports[port]}/{table.links.lane[at]}"
        types[leaf.model][system] = (_select_interface_type(table, leaf, leaf.form_factors[port]), label)


def _format_csv(head: str, rows: Iterable[Sequence[object]]) -> str:
    """Format CSV. NetBox reads cells literally: ``_render_device_type`` writes names like cells, so that they are equal
    in both files.
    """
    return format_csv(head.split(","), rows)


def _to_slug(text: str) -> str:
    """Convert to ASCII letters, digits and hyphens, as NetBox requires."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:_MAX_SLUG_LENGTH]


def _build_slugs(names: Iterable[str]) -> dict[str, str]:
    """Build a unique slug for each name: duplicate or empty slugs get a part of a hash."""
    found: dict[str, str] = {}
    plain = {name: _to_slug(name) for name in sorted(set(names))}
    counts = Counter(plain.values())
    for name, slug in plain.items():
        unclear = not slug or counts[slug] > 1
        found[name] = f"{slug}-{hashlib.sha256(name.encode()).hexdigest()[:8]}".strip("-") if unclear else slug
    return found


def _build_manufacturers(plan: Plan) -> dict[str, tuple[str, int, str]]:
    """Model -> vendor, rack units, part number; vertically mounted devices have no units."""
    groups = plan.facility.service_groups if plan.facility else ()
    machines = [pool.machine for pool in plan.pools] + [group.machine for group in plan.servers]
    machines += [group.machine for group in groups]
    found = {item.name: (item.vendor, item.body.units or 1, "") for item in machines}
    units = {group.name: group.machine.body.units or 1 for group in groups} | {"pdu": 0}
    for fabric in plan.fabrics:
        for switch in (tier.switch for tier in fabric.tiers):
            found[switch.name] = (switch.vendor, switch.units or 1, switch.part_number or "")
    for fabric in plan.fabrics:
        _add_services(found, fabric, units)
    return found


def _add_services(found: dict[str, tuple[str, int, str]], fabric: FabricPlan, units: Mapping[str, int]) -> None:
    """Add the machines of services whose vendor is unknown."""
    for service in fabric.services:
        entry = ("generic", units.get(service.name, 1), service.part_number or "")
        found.setdefault(service.product or service.name, entry)


def _list_interface_names(devices: DeviceSet) -> list[str]:
    """Return the interface names of the switch's operating system; the printed name is their label."""
    known = devices.side == "switch" and devices.system_names and not devices.system_names[0].isdigit()
    return [
        name or str(port)
        for name, port in zip(devices.system_names if known else devices.ports, devices.ports, strict=True)
    ]


def _select_interface_type(table: CableTable, devices: DeviceSet, form: str) -> str:
    rate = devices.link_speed or table.fabric.speed
    speed = int(rate.base / 10**9) if rate else 0
    if network_of(table.fabric) == "infiniband":
        return _INFINIBAND_TYPES.get(speed, "other")
    if form == "osfp" and speed == 800:
        return "800gbase-x-osfp"
    return _ETHERNET_TYPES.get(form, "other")


def _iter_devices(
    plan: Plan, devices: DeviceSet, vendors: dict[str, tuple[str, int, str]]
) -> Iterator[tuple[str, Sequence[object]]]:
    vendor, units, _ = vendors.get(devices.model, ("generic", 1, ""))
    role = "node" if devices.kind == "node" else "switch" if devices.side == "switch" else "service"
    racks = [rack.name for rack in plan.layout.racks] if plan.layout else []
    lowest = np.round(devices.heights / RACK_UNIT_HEIGHT - units / 2).astype(np.int64).tolist()
    for name, rack, unit in zip(devices.names, devices.racks.tolist(), lowest, strict=True):
        place = ("", "", "") if rack < 0 else (racks[rack], unit, "front") if units else (racks[rack], "", "")
        yield name, (name, role, vendor, devices.model, "planned", plan.name, *place)


def _render_device_type(
    model: str, own_slug: str, ports: dict[str, tuple[str, str]], vendor: str, units: int, part: str
) -> str:
    slug = own_slug if own_slug.startswith(f"{_to_slug(vendor)}-") else f"{_to_slug(vendor)}-{own_slug}"
    found: dict[str, Any] = {
        "manufacturer": escape_cell(vendor),
        "model": escape_cell(model),
        "slug": slug,
        "u_height": units,
        "is_full_depth": units > 0,
    }
    if part:
        found["part_number"] = part
    found["interfaces"] = [
        {"name": escape_cell(name), "type": kind} | ({"label": label} if label else {})
        for name, (kind, label) in ports.items()
    ]
    return format_yaml(found)


def _iter_cables(table: CableTable) -> Iterator[Sequence[object]]:
    kinds = [_CABLE_TYPES[item.fiber or item.medium] for item in table.kinds] + [""]
    width = max(5, len(str(table.cable_count)))
    name = table.fabric.name
    ports = [
        append_lanes(
            table, side, table.select_column(side, lambda item: np.array(_list_interface_names(item), dtype=object))
        )
        for side in ("source", "target")
    ]
    for at, system, _ in iter_lane_names(table):
        ports[1][at] = system
    rows = zip(
        table.get_device_names("source"),
        ports[0],
        table.get_device_names("target"),
        ports[1],
        table.kind_index.tolist(),
        table.cable_number.tolist(),
        table.stock_length.tolist(),
        strict=True,
    )
    for a, a_port, b, b_port, kind, cable, order in rows:
        if b == "building":
            continue
        length = ("", "") if isnan(order) else (f"{order:g}", "m")
        yield (
            a,
            "dcim.interface",
            a_port,
            b,
            "dcim.interface",
            b_port,
            kinds[kind],
            "planned",
            f"{name}-{cable + 1:0{width}d}",
            *length,
        )
