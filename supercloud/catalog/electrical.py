"""What stands between the grid and a power supply: rack PDUs, power shelves, UPS."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Current, Mass, Power, Voltage
from ..spec.base import Count, Natural, Ratio, Text
from .fact import CatalogEntry, CatalogModel

__all__ = ["LoadPoint", "Pdu", "PowerShelf", "Ups"]


class Pdu(CatalogEntry):
    """A distribution unit of a rack: one circuit in, many sockets out."""

    vendor: Text | None = None
    part_number: Text | None = None
    phases: Literal[1, 3] | None = None
    voltage: Voltage | None = None
    """Line to line."""
    current: Current | None = None
    """Of the breaker it is made for."""
    power: Power | None = None
    """What it carries continuously."""
    units: Natural = 0
    """Rack units; 0 where it stands upright beside the equipment."""
    weight: Mass | None = None


class PowerShelf(CatalogEntry):
    """Rectifiers that feed a busbar."""

    vendor: Text | None = None
    power: Power
    """Of all its supplies together."""
    supplies: Count | None = None
    units: Count = 1
    busbar: Literal["48V", "54V", "800V"] | None = None
    efficiency: Ratio | None = None


class LoadPoint(CatalogModel):
    """Efficiency at a part of the rated load."""

    load: Annotated[Ratio, Field(gt=0)]
    efficiency: Annotated[Ratio, Field(gt=0)]


class Ups(CatalogEntry):
    """An uninterruptible supply in one way of running."""

    mode: Literal["double-conversion", "eco"]
    efficiency_from: Ratio
    """The worst of the printed range: plans count with it."""
    points: tuple[LoadPoint, ...] = ()
    """Efficiency by load, rising, as its vendor prints or measures it; empty means that only the range is known."""
