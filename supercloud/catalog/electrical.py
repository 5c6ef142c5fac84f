"""Equipment between the grid and power supplies: rack PDUs, power shelves, UPS."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Current, Mass, Power, Voltage
from ..spec.base import Count, Natural, Ratio, Text
from .fact import CatalogEntry, CatalogModel

__all__ = ["LoadPoint", "Pdu", "PowerShelf", "Ups"]


class Pdu(CatalogEntry):
    """A power distribution unit of a rack: one circuit, several outlets."""

    vendor: Text | None = None
    part_number: Text | None = None
    phases: Literal[1, 3] | None = None
    voltage: Voltage | None = None
    """Line-to-line voltage."""
    current: Current | None = None
    """Rated current of its breaker."""
    power: Power | None = None
    """Continuous power."""
    units: Natural = 0
    """Height in rack units; 0 if it is mounted vertically next to the equipment."""
    weight: Mass | None = None


class PowerShelf(CatalogEntry):
    """Rectifiers that feed a busbar."""

    singular = "power-shelf"
    vendor: Text | None = None
    power: Power
    """Output of all its power supplies."""
    supplies: Count | None = None
    units: Count = 1
    busbar: Literal["48V", "54V", "800V"] | None = None
    efficiency: Ratio | None = None


class LoadPoint(CatalogModel):
    """Efficiency at a fraction of the rated load."""

    load: Annotated[Ratio, Field(gt=0)]
    efficiency: Annotated[Ratio, Field(gt=0)]


class Ups(CatalogEntry):
    """An uninterruptible power supply in one operating mode."""

    singular = "UPS"
    mode: Literal["double-conversion", "eco"]
    efficiency_from: Ratio
    """Lowest efficiency of the published range; plans use it."""
    points: tuple[LoadPoint, ...] = ()
    """Efficiency by rising load, as published or measured by the vendor; empty if only the range is known."""
