"""Switches: ports, speeds, power, size."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Length, Mass, Power, Rate
from ..spec.base import Count, Flag, Natural, Text
from .fact import CatalogEntry, CatalogModel
from .rack import Feed, Mount

__all__ = ["PortMode", "Switch"]


class PortMode(CatalogModel):
    """A mode of all ports: their number and speed."""

    ports: Count
    speed: Rate
    name: Annotated[str, Field(pattern=r"^([A-Za-z0-9/_-]|\{(cage|port|port0|number)\})+$")] | None = None
    """Pattern of port names: {cage} and {port} within it count from 1, {port0} from 0, {number} over all
    cages from 1. Absent if unknown: ports are then numbered."""


class Switch(CatalogEntry):
    """One model of switch."""

    singular = "switch"
    vendor: Text
    kind: Literal["infiniband", "ethernet", "nvlink"]
    modes: tuple[PortMode, ...] = ()
    """Port modes, the native one first; a cage that is split in two counts as two ports."""
    cages: Count | None = None
    cage: Text | None = None
    """Form factor of the cages: osfp, qsfp112, qsfp28, rj45 …"""
    managed: Flag | None = None
    """InfiniBand: whether a subnet manager runs on it."""
    subnet_manager_nodes: Count | None = None
    """InfiniBand: nodes of a fabric that its own subnet manager supports; absent if it has none, or if unknown."""
    opensm: Literal["nvidia"] | None = None
    """InfiniBand: ``nvidia`` if it needs the OpenSM of DOCA-OFED; absent if one of a distribution works too."""
    chips: Count = 1
    """Independent switches in the chassis; ``modes`` are those of one of them."""
    units: Count | None = None
    mount: Mount | None = None
    feed: Feed | None = None
    """Power feed; absent if unknown."""
    power_typical: Power | None = None
    power_max: Power | None = None
    weight: Mass | None = None
    depth: Length | None = None
    cooling: Literal["air", "liquid"] | None = None
    uplink_ports: Natural = 0
    """Further ports, each in a separate cage, that are not counted in the modes."""
    uplink_speed: Rate | None = None
    uplink_cage: Text | None = None
    uplink_name: Annotated[str, Field(pattern=r"^([A-Za-z0-9/_-]|\{number\})+$")] | None = None
    """Pattern of their names; {number} continues after the ports of the first mode."""
    part_number: Text | None = None
    status: Text | None = None

    def find_radix(self, speed: Rate) -> int | None:
        """Ports at ``speed`` of one chip, or None if it has none."""
        return next((mode.ports for mode in self.modes if mode.speed == speed), None)
