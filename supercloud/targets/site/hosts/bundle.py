"""All files of the bundle."""

from __future__ import annotations

import json
from typing import Any

from ...._version import __version__
from ....plan.build.fabric.roles import is_routed
from ....plan.build.network.address_servers import address_servers
from ....plan.model.plan import FabricPlan, Plan
from ....primitives.bundle import Bundle, File
from ....primitives.tables import csv_text
from ....primitives.templates import fill
from .inventory import inventory_text
from .names import named, reserved, served

__all__ = ["render"]

_HEAD = f"# made by supercloud {__version__}; edits are lost"
_LEASE = 12 * 3600


def render(plan: Plan) -> Bundle:
    """Hosts file, DHCP and DNS for dnsmasq (and Kea where MAC addresses are known), inventory, subnets."""
    networks = plan.networks
    assert networks is not None
    files: dict[str, File | str] = {
        "hosts": _hosts(plan),
        "dnsmasq.conf": fill("hosts/dnsmasq.conf.j2", head=_HEAD, plan=plan, subnets=served(plan), lease=_LEASE),
        "dhcp-hosts": _dhcp_hosts(plan),
        "inventory.yaml": inventory_text(plan, _HEAD),
        "subnets.csv": _subnets(plan),
        "INSTALL.md": fill("hosts/INSTALL.md.j2", plan=plan, networks=networks, bridged=_bridged(plan),
                           servers=address_servers(plan)),
    }  # fmt: skip
    if networks.macs:
        files["kea-dhcp4.json"] = _kea(plan)
    return Bundle(files)


def _bridged(plan: Plan) -> list[FabricPlan]:
    """Fabrics whose hosts have ordinary addresses."""
    joined = [item for item in plan.fabrics if item.tiers and item.kind != "infiniband"]
    return [item for item in joined if not is_routed(item.kind, item.role)]


def _hosts(plan: Plan) -> str:
    domain = plan.network.domain
    lines = [f"{item.address} {item.name}.{domain} {item.name}" for item in named(plan)]
    return "\n".join([_HEAD, "127.0.0.1 localhost", "::1 localhost", *lines]) + "\n"


def _dhcp_hosts(plan: Plan) -> str:
    """By MAC address where it is known, else by the name a host says when it asks."""
    lines = (f"{mac},{item.address},{item.name}" if mac else f"{item.name},{item.address}"
             for item, mac in reserved(plan))  # fmt: skip
    return "\n".join([_HEAD, *lines]) + "\n"


def _subnets(plan: Plan) -> str:
    assert plan.networks is not None
    rows = ((item.name, item.role, str(item.block), item.gateway or "", item.hosts) for item in plan.networks.subnets)
    return csv_text(("name", "role", "subnet", "gateway", "used"), rows)


def _kea(plan: Plan) -> str:
    """Kea's DHCPv4 server, with every reservation whose MAC address is known."""
    known = [(item, mac) for item, mac in reserved(plan) if mac]
    subnets: list[dict[str, Any]] = []
    for number, subnet in enumerate(served(plan), 1):
        low, high = int(subnet.block.network_address), int(subnet.block.broadcast_address)
        own = [
            {"hw-address": mac, "ip-address": item.address, "hostname": item.name}
            for item, mac in known
            if low <= _number(item.address) <= high
        ]
        options = [{"name": "routers", "data": subnet.gateway}] if subnet.gateway else []
        subnets.append({"id": number, "subnet": str(subnet.block), "option-data": options, "reservations": own})
    return json.dumps({"Dhcp4": {
        "interfaces-config": {"interfaces": ["*"]},
        "lease-database": {"type": "memfile"},
        "valid-lifetime": _LEASE,
        "option-data": [
            {"name": "domain-name", "data": plan.network.domain},
            {"name": "domain-name-servers", "data": plan.scheduler.controllers[0].address},
        ],
        "subnet4": subnets,
    }}, indent=1) + "\n"  # fmt: skip


def _number(address: str) -> int:
    first, second, third, fourth = map(int, address.split("."))
    return (first << 24) + (second << 16) + (third << 8) + fourth
