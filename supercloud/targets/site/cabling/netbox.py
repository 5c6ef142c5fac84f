"""Files for NetBox's bulk import: what must be there first, device types, devices, cables."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ....plan.cable_choice import network_of
from ....plan.cable_ends import UNIT, Devices
from ....plan.cables import CableTable
from ....plan.model import Plan
from .table import end_names

__all__ = ["netbox_files"]

# NetBox's own names for what it knows.
_CABLES = {"dac": "dac-passive", "acc": "dac-active", "copper": "cat6", "aoc": "aoc", "multimode": "mmf-om4",
           "single-mode": "smf-os2", "": ""}  # fmt: skip
_INFINIBAND = {100: "infiniband-edr", 200: "infiniband-hdr", 400: "infiniband-ndr", 800: "infiniband-xdr"}
_ETHERNET = {
    "rj45": "1000base-t", "qsfp28": "100gbase-x-qsfp28", "qsfp56": "200gbase-x-qsfp56",
    "qsfp112": "400gbase-x-qsfp112", "osfp": "400gbase-x-osfp",
}  # fmt: skip


def netbox_files(plan: Plan, tables: list[CableTable]) -> dict[str, str]:
    """Path -> text; they are numbered in the order of import."""
    types: dict[str, dict[str, str]] = {}
    devices: dict[str, str] = {}
    makers = _makers(plan)
    for table in tables:
        for item in table.devices:
            if item.kind == "building":
                continue
            ports = types.setdefault(item.model, {})
            ports |= dict(zip(item.ports, (_interface(table, form) for form in item.forms), strict=True))
            if table.lane.any() and item.kind == "leaf":
                ports |= {f"{port}/{lane}": ports[port] for port in item.ports for lane in (1, 2)}
            for row in _devices(plan, item, makers):
                devices.setdefault(row[0], row[1])
    files = {
        "1-sites.csv": f"name,slug,status\n{plan.name},{plan.name},planned\n",
        "2-manufacturers.csv": _csv("name,slug", sorted({(m, _slug(m)) for m, _, _ in makers.values()})),
        "3-device-roles.csv": _csv("name,slug,color", [("node", "node", "2196f3"), ("switch", "switch", "4caf50"),
                                                       ("service", "service", "ff9800")]),
        "4-racks.csv": _csv("site,name,status,u_height", [
            (plan.name, rack.name, "planned", str(rack.units or 48))
            for rack in (plan.layout.racks if plan.layout else ())
        ]),
        "6-devices.csv": "\n".join(["name,role,manufacturer,device_type,status,site,rack,position,face",
                                    *devices.values()]) + "\n",
        "7-cables.csv": "\n".join([
            "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name,type,status,label,length,length_unit",
            *(line for table in tables for line in _cables(table)),
        ]) + "\n",
    }  # fmt: skip
    for model, ports in sorted(types.items()):
        files[f"5-device-types/{_slug(model)}.yaml"] = _device_type(
            model, ports, *makers.get(model, ("generic", 1, ""))
        )
    return files


def _csv(head: str, rows: list[tuple[str, ...]]) -> str:
    return "\n".join([head, *(",".join(row) for row in rows)]) + "\n"


def _slug(text: str) -> str:
    return "".join(char if char.isalnum() else "-" for char in text.lower()).strip("-")


def _makers(plan: Plan) -> dict[str, tuple[str, int, str]]:
    """Model -> maker, rack units, part number."""
    found = {pool.machine.name: (pool.machine.vendor, pool.machine.body.units or 1, "") for pool in plan.pools}
    for fabric in plan.fabrics:
        found |= {tier.switch.name: (tier.switch.vendor, tier.switch.units or 1, tier.switch.part_number or "")
                  for tier in fabric.tiers}  # fmt: skip
        found |= {item.product or item.name: ("generic", 1, item.part_number or "")
                  for item in fabric.services if (item.product or item.name) not in found}  # fmt: skip
    return found


def _interface(table: CableTable, form: str) -> str:
    speed = int(table.fabric.speed.base / 10**9) if table.fabric.speed else 0
    if network_of(table.fabric) == "infiniband":
        return _INFINIBAND.get(speed, "other")
    if form == "osfp" and speed == 800:
        return "800gbase-x-osfp"
    return _ETHERNET.get(form, "other")


def _devices(plan: Plan, item: Devices, makers: dict[str, tuple[str, int, str]]) -> Iterator[tuple[str, str]]:
    maker, units, _ = makers.get(item.model, ("generic", 1, ""))
    role = "node" if item.kind == "node" else "switch" if item.side == "switch" else "service"
    racks = [rack.name for rack in plan.layout.racks] if plan.layout else []
    lowest = np.round(item.height / UNIT - units / 2).astype(np.int64).tolist()
    for name, rack, unit in zip(item.names, item.rack.tolist(), lowest, strict=True):
        place = f"{racks[rack]},{unit},front" if rack >= 0 else ",,"
        yield name, f"{name},{role},{maker},{item.model},planned,{plan.name},{place}"


def _device_type(model: str, ports: dict[str, str], maker: str, units: int, part: str) -> str:
    head = [f"manufacturer: {maker}", f"model: {model}", f"slug: {_slug(f'{maker} {model}')}", f"u_height: {units}",
            "is_full_depth: true"]  # fmt: skip
    if part:
        head.append(f"part_number: {part}")
    lines = (f"  - {{name: '{name}', type: {kind}}}" for name, kind in ports.items())
    return "\n".join([*head, "interfaces:", *lines]) + "\n"


def _cables(table: CableTable) -> Iterator[str]:
    kinds = [_CABLES[item.fibre or item.medium] for item in table.kinds] + [""]
    width = max(5, len(str(table.cables)))
    name = table.fabric.name
    rows = zip(table.names("one"), end_names(table, "one"), table.names("other"), end_names(table, "other"),
               table.kind.tolist(), table.cable.tolist(), table.stock.tolist(), strict=True)  # fmt: skip
    for a, a_port, b, b_port, kind, cable, order in rows:
        if b == "building":
            continue
        length = ",".join(("", "")) if order != order else f"{order:g},m"
        yield (f"{a},dcim.interface,{a_port},{b},dcim.interface,{b_port},{kinds[kind]},planned,"
               f"{name}-{cable + 1:0{width}d},{length}")  # fmt: skip
