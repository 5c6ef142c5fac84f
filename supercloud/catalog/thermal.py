"""What carries heat away: coolants, distribution units, heat rejection, and the temperatures that are agreed on."""

from __future__ import annotations

from typing import Literal

from ..primitives.quantity import Flow, Length, Power, Temperature, TemperatureStep
from ..spec.base import Count, Natural, Number, Text
from .fact import CatalogEntry

__all__ = ["Cdu", "Coolant", "HeatRejection", "ThermalClass"]


class Coolant(CatalogEntry):
    """A fluid, by the one number that sizes pipes: how much of it carries a kilowatt."""

    medium: Literal["air", "liquid"]
    flow: Flow
    """What carries away 1 kW at a rise of 1 K: 1 kW / (density × specific heat × 1 K)."""
    usual_step: TemperatureStep | None = None
    """Rise that designs are drawn for."""


class Cdu(CatalogEntry):
    """A coolant distribution unit: heat exchanger and pumps between the building's water and the racks' loop."""

    vendor: Text | None = None
    form: Literal["row", "rack"] = "row"
    """``row`` takes the place of a rack, ``rack`` takes units of one."""
    capacity: Power | None = None
    """Heat it moves at its approach."""
    flow: Flow | None = None
    """Of the racks' loop."""
    approach: TemperatureStep | None = None
    """Supply to the racks less supply of the building."""
    power: Power | None = None
    """Of its pumps."""
    units: Natural = 0
    width: Length | None = None
    serves: Count | None = None
    """Racks its vendor draws on one unit."""


class HeatRejection(CatalogEntry):
    """Where heat leaves the site."""

    approach_from: TemperatureStep | None = None
    approach_to: TemperatureStep | None = None
    """Supply of the building less the outdoor temperature; plans count with the worst."""
    reference: Literal["dry-bulb", "wet-bulb"] | None = None
    cop: Number | None = None
    """Heat moved over electricity, of a chiller."""
    evaporation: Flow | None = None
    """Water evaporated for 100 kW of heat, of a tower."""
    cycles: Number | None = None
    """Cycles of concentration: make-up water = evaporation × c / (c − 1)."""


class ThermalClass(CatalogEntry):
    """A range of supply temperature that equipment is built for."""

    medium: Literal["air", "liquid"]
    supply_from: Temperature
    supply_to: Temperature
