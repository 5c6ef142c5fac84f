"""Bridged networks: switches with their VLANs and trunks, and the bonds of hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ...primitives.quantity import Rate
from .network import SwitchRun
from .plan import FabricPlan
from .subnet import Subnet

__all__ = ["BridgeSwitch", "BridgedNetwork", "HostBond", "Trunk", "Vlan"]


class Vlan(NamedTuple):
    """A VLAN with its subnet."""

    number: int
    name: str
    subnet: Subnet


@dataclass(frozen=True)
class Trunk:
    """One or more ports of one switch that act as one interface."""

    kind: Literal["host", "switch", "peer", "exit"]
    ports: tuple[str, ...]
    description: str
    number: int
    """Number of the bundle, equal on both switches of a pair if it spans them; 0: a single port."""
    is_mlag: bool = False
    """Whether the other switch of the pair also has ports of it."""
    vlan: Vlan | None = None
    """Untagged VLAN. None: it carries tagged VLANs, or its VLAN is unknown."""
    tagged: tuple[Vlan, ...] = ()
    lanes: int = 0
    """Electrical lanes of each port, 0 if its cage is not split."""
    split: int = 1
    speed: Rate | None = None
    """Speed of its links, if it differs from the fabric's."""


@dataclass(frozen=True)
class BridgeSwitch:
    """One switch of a bridged network."""

    run: SwitchRun
    index: int
    name: str
    management: str
    peer: tuple[str, str] | None
    """Name and management address of the other switch of the pair."""
    pair: int
    """Number of its pair over all bridged networks, from 1; 0 without a pair."""
    is_first: bool
    """MAC address of the pair."""
    priority: int | None
    """Priority in the spanning tree; None is the default."""
    vlans: tuple[Vlan, ...]
    trunks: tuple[Trunk, ...]
    breakouts: Mapping[str, int]
    """Names of split cages -> number of parts."""
    management_vlan: Vlan | None
    """VLAN of its own management address, if no other network connects its management port."""


@dataclass(frozen=True)
class HostBond:
    """Machines whose links to a network are bonded."""

    group: str
    hosts: tuple[str, ...]
    ports: int
    mode: Literal["802.3ad", "active-backup"]


@dataclass(frozen=True)
class BridgedNetwork:
    """One bridged network."""

    fabric: FabricPlan
    vlans: tuple[Vlan, ...]
    """VLANs of its own hosts."""
    switches: tuple[BridgeSwitch, ...]
    bonds: tuple[HostBond, ...]
    hosts_without_vlan: tuple[str, ...]
    """Ports of machines without a subnet in the plan."""
