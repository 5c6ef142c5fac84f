"""The hosts that serve DHCP and DNS: the scheduler's controllers, which have static addresses."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

from ...model.plan import Plan

__all__ = ["AddressServer", "list_address_servers"]


class AddressServer(NamedTuple):
    """A host that serves DHCP and DNS, with the settings that are made manually or by its scripts."""

    name: str
    address: str
    length: int
    """Prefix length of its subnet."""
    gateway: str | None

    @property
    def name_and_address(self) -> str:
        """Format for documentation pages."""
        return f"{self.name} ({self.address})"


def list_address_servers(plan: Plan) -> tuple[AddressServer, ...]:
    """Every controller with an address in a subnet of the plan, in their order; the first one is the primary."""
    subnets = plan.networks.subnets if plan.networks else ()
    found = []
    for host in plan.scheduler.controllers:
        subnet = next((item for item in subnets if ipaddress.ip_address(host.address) in item.block), None)
        if subnet:
            found.append(AddressServer(host.name, host.address, subnet.block.prefixlen, subnet.gateway))
    return tuple(found)
