"""Blocks of addresses with their purpose."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import Literal

from ...primitives.addresses import Block

__all__ = ["Role", "Subnet", "parse_block"]

_GATEWAY_OFFSET = 254
Role = Literal["service", "in-band", "bmc", "switch", "loopback", "storage", "rail"]


def parse_block(text: str) -> Block | None:
    """Parse a network that the user specified, None if it is not a valid IPv4 network."""
    try:
        return ipaddress.IPv4Network(text, strict=False)
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class Subnet:
    """A block of addresses with its purpose."""

    name: str
    role: Role
    block: Block
    hosts: int
    """Number of addresses in use."""
    fabric: str = ""
    """Rail subnets only."""
    is_routed: bool = False
    """Whether it is divided into point-to-point links of two addresses, each with a switch at the other end."""

    given_gateway: str | None = None
    """The gateway, if the spec gives it."""

    @property
    def gateway(self) -> str | None:
        """The gateway, above the hosts of the first 256 addresses; None if the subnet has none or one per link."""
        if self.role in ("rail", "loopback"):
            return None
        return self.given_gateway or str(self.block.network_address + _GATEWAY_OFFSET)
