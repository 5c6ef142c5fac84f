"""Switches: ports, speeds, power, size."""

from __future__ import annotations

from typing import Literal

from ..primitives.quantity import Length, Mass, Power, Rate
from ..spec.base import Count, Flag, Model, Natural, Text
from .fact import Fact

__all__ = ["PortMode", "Switch"]


class PortMode(Model):
    """A way to run all ports: so many at such a speed."""

    ports: Count
    speed: Rate


class Switch(Fact):
    """One model of switch."""

    vendor: Text
    kind: Literal["infiniband", "ethernet", "nvlink"]
    modes: tuple[PortMode, ...] = ()
    """Ways to run its ports, the native one first; a port of one cage split in two counts twice."""
    cages: Count | None = None
    managed: Flag | None = None
    """InfiniBand: whether a subnet manager runs on it."""
    chips: Count = 1
    """Independent switches in the box; ``modes`` are of one of them."""
    units: Count | None = None
    power_typical: Power | None = None
    power_max: Power | None = None
    weight: Mass | None = None
    depth: Length | None = None
    cooling: Literal["air", "liquid"] | None = None
    uplink_ports: Natural = 0
    part_number: Text | None = None
    status: Text | None = None

    def radix(self, speed: Rate) -> int | None:
        """Ports at ``speed`` of one chip, or None where it has none."""
        return next((mode.ports for mode in self.modes if mode.speed == speed), None)
