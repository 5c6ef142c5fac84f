"""Coolants, coolant distribution units, heat rejection, and classes of supply temperature."""

from __future__ import annotations

from typing import Literal

from ..primitives.quantity import Flow, Length, Power, Temperature, TemperatureDifference
from ..spec.base import Count, Natural, Number, Text
from .fact import CatalogEntry

__all__ = ["Cdu", "Coolant", "HeatRejection", "ThermalClass"]


class Coolant(CatalogEntry):
    """A coolant, with the flow that removes a kilowatt."""

    medium: Literal["air", "liquid"]
    flow: Flow
    """Flow that removes 1 kW at a temperature rise of 1 K: 1 kW / (density × specific heat × 1 K)."""
    usual_rise: TemperatureDifference | None = None
    """Usual design temperature rise."""


class Cdu(CatalogEntry):
    """A coolant distribution unit: heat exchanger and pumps between the building's water and the racks' loop."""

    vendor: Text | None = None
    form: Literal["row", "rack"] = "row"
    """``row`` uses the position of a rack, ``rack`` uses rack units."""
    capacity: Power | None = None
    """Heat that it transfers at its approach temperature."""
    flow: Flow | None = None
    """Flow of the racks' loop."""
    approach: TemperatureDifference | None = None
    """Supply temperature of the racks minus that of the building."""
    power: Power | None = None
    """Power of its pumps."""
    units: Natural = 0
    width: Length | None = None
    serves: Count | None = None
    """Number of racks per unit in the vendor's design."""


class HeatRejection(CatalogEntry):
    """A method of heat rejection."""

    singular = "heat rejection"
    approach_from: TemperatureDifference | None = None
    approach_to: TemperatureDifference | None = None
    """Supply temperature of the building minus the outdoor temperature; plans use the maximum."""
    reference: Literal["dry-bulb", "wet-bulb"] | None = None
    cop: Number | None = None
    """Chillers: removed heat per electric energy."""
    evaporation: Flow | None = None
    """Cooling towers: water evaporated for 100 kW of heat."""
    cycles: Number | None = None
    """Cycles of concentration: make-up water = evaporation × c / (c − 1)."""


class ThermalClass(CatalogEntry):
    """A range of supply temperatures for which equipment is specified."""

    singular = "thermal-class"
    medium: Literal["air", "liquid"]
    supply_from: Temperature
    supply_to: Temperature
