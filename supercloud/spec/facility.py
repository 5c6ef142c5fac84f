"""The physical side of a site of one's own: racks, power, cooling, energy."""

from __future__ import annotations

from typing import Literal

from ..primitives.quantity import CarbonIntensity, Flow, Power, Temperature, UnitPrice, Voltage
from .base import Count, Model, Number, Text

__all__ = ["Cooling", "EnergySupply", "Facility", "PowerSupply", "RackChoice"]


class RackChoice(Model):
    """Which rack, and how many nodes go into one."""

    type: Text
    nodes: Count | None = None
    """Nodes per rack; empty means as many as fit by units, power and weight."""
    power: Power | None = None
    """Power a rack may draw; empty means what the rack is made for."""


class PowerSupply(Model):
    """What the building gives."""

    budget: Power | None = None
    """IT power of the hall."""
    feeds: Count = 2
    redundancy: Literal["N", "N+1", "2N", "3N/2"] = "N"
    voltage: Voltage | None = None
    """Line-to-line voltage of the three-phase supply."""


class Cooling(Model):
    """How heat leaves."""

    kind: Literal["air", "rear-door", "direct-liquid", "immersion"] = "air"
    supply: Temperature | None = None
    """Temperature of the water (or, for air, of the air) given to the machines."""
    flow: Flow | None = None
    """Water flow available for the hall."""


class EnergySupply(Model):
    """What energy costs and emits."""

    price: UnitPrice | None = None
    carbon: CarbonIntensity | None = None
    """Carbon of the supply; empty means that of the place, where the catalog has it."""


class Facility(Model):
    """The hall."""

    rack: RackChoice | None = None
    power: PowerSupply = PowerSupply()
    cooling: Cooling = Cooling()
    energy: EnergySupply = EnergySupply()
    pue: Number | None = None
    """Facility energy over IT energy, where it is known."""
    racks_per_row: Count | None = None
