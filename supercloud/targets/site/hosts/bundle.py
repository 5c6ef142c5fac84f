"""All files of the bundle."""

from __future__ import annotations

import json
from typing import Any

from ....plan.build.fabric.rdma_devices import list_rdma_hosts
from ....plan.build.fabric.roles import is_routed
from ....plan.build.network.address_servers import list_address_servers
from ....plan.build.storage.client_names import list_client_networks
from ....plan.model.plan import FabricPlan, Plan
from ....primitives.bundle import Bundle, File
from ....primitives.tables import format_csv
from ....primitives.templates import render_template
from ...header import format_origin
from .inventory import render_inventory
from .names import iter_dhcp_reservations, iter_named_addresses, list_dhcp_subnets
from .rdma import render_rdma_files

__all__ = ["render"]

_HEADER = f"# {format_origin()}"
_LEASE_SECONDS = 12 * 3600


def render(plan: Plan) -> Bundle:
    """Render hosts file, DHCP and DNS for dnsmasq (and Kea if MAC addresses are known), inventory, subnets."""
    networks = plan.networks
    assert networks is not None
    files: dict[str, File | str] = {
        "hosts": _render_hosts(plan),
        "dnsmasq.conf": render_template(
            "hosts/dnsmasq.conf.j2", head=_HEADER, plan=plan, subnets=list_dhcp_subnets(plan), lease=_LEASE_SECONDS
        ),
        "dhcp-hosts": _render_dhcp_hosts(plan),
        "inventory.yaml": render_inventory(plan, _HEADER),
        "subnets.csv": _render_subnets(plan),
        "INSTALL.md": render_template(
            "hosts/INSTALL.md.j2",
            plan=plan,
            networks=networks,
            bridged=_list_bridged_fabrics(plan),
            servers=list_address_servers(plan),
            rdma=list_rdma_hosts(plan),
            client_networks=list_client_networks(plan),
        ),
        **render_rdma_files(plan),
    }
    if networks.macs:
        files["kea-dhcp4.json"] = _render_kea(plan)
    return Bundle(files)


def _list_bridged_fabrics(plan: Plan) -> list[FabricPlan]:
    """Return the fabrics whose hosts have in-band addresses."""
    joined = [item for item in plan.fabrics if item.tiers and item.kind != "infiniband"]
    return [item for item in joined if not is_routed(item.kind, item.role)]


def _render_hosts(plan: Plan) -> str:
    domain = plan.network.domain
    lines = [f"{item.address} {item.name}.{domain} {item.name}" for item in iter_named_addresses(plan)]
    return "\n".join([_HEADER, "127.0.0.1 localhost", "::1 localhost", *lines]) + "\n"


def _render_dhcp_hosts(plan: Plan) -> str:
    """Render reservations by MAC address if known, else by the host name in the DHCP request."""
    lines = (
        f"{mac},{item.address},{item.name}" if mac else f"{item.name},{item.address}"
        for item, mac in iter_dhcp_reservations(plan)
    )
    return "\n".join([_HEADER, *lines]) + "\n"


def _render_subnets(plan: Plan) -> str:
    assert plan.networks is not None
    rows = ((item.name, item.role, str(item.block), item.gateway or "", item.hosts) for item in plan.networks.subnets)
    return format_csv(("name", "role", "subnet", "gateway", "used"), rows)


def _render_kea(plan: Plan) -> str:
    """Render the configuration of Kea's DHCPv4 server, with all reservations with a known MAC address."""
    known = [(item, mac) for item, mac in iter_dhcp_reservations(plan) if mac]
    subnets: list[dict[str, Any]] = []
    for number, subnet in enumerate(list_dhcp_subnets(plan), 1):
        low, high = int(subnet.block.network_address), int(subnet.block.broadcast_address)
        own = [
            {"hw-address": mac, "ip-address": item.address, "hostname": item.name}
            for item, mac in known
            if low <= _to_integer(item.address) <= high
        ]
        options = [{"name": "routers", "data": subnet.gateway}] if subnet.gateway else []
        subnets.append({"id": number, "subnet": str(subnet.block), "option-data": options, "reservations": own})
    return (
        json.dumps(
            {
                "Dhcp4": {
                    "interfaces-config": {"interfaces": ["*"]},
                    "lease-database": {"type": "memfile"},
                    "valid-lifetime": _LEASE_SECONDS,
                    "option-data": [
                        {"name": "domain-name", "data": plan.network.domain},
                        {"name": "domain-name-servers", "data": plan.scheduler.controllers[0].address},
                    ],
                    "subnet4": subnets,
                }
            },
            indent=1,
        )
        + "\n"
    )


def _to_integer(address: str) -> int:
    first, second, third, fourth = map(int, address.split("."))
    return (first << 24) + (second << 16) + (third << 8) + fourth
