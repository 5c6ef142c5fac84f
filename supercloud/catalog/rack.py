"""Racks, locations, and cooling methods."""

from __future__ import annotations

from typing import Literal

from ..primitives.quantity import CarbonIntensity, Length, Mass, Power
from ..spec.base import Count, Flag, Text
from .fact import CatalogEntry

__all__ = ["CoolingMethod", "Feed", "Location", "Mount", "Rack"]


Mount = Literal["eia-19", "open-rack-21"]
"""Equipment of 19 inch (EIA-310), or of 21 inch (Open Rack)."""
Feed = Literal["ac", "busbar"]
"""Cords to distribution units, or clips on a busbar."""


class Rack(CatalogEntry):
    """A rack."""

    vendor: Text | None = None
    units: Count
    width: Length | None = None
    depth: Length | None = None
    height: Length | None = None
    max_load: Mass | None = None
    """Maximum weight of the equipment."""
    weight: Mass | None = None
    """Weight of the empty rack; of a rack product, including its equipment."""
    max_power: Power | None = None
    """Maximum power of its distribution."""
    busbar: Literal["none", "48V", "54V", "800V"] = "none"
    mounts: tuple[Mount, ...] = ()
    """Equipment formats that can be mounted; empty if unknown."""
    feeds: tuple[Feed, ...] = ()
    """Power feeds of its equipment; empty if unknown."""
    complete: Flag = False
    """Whether it is sold with all its equipment, and no other equipment can be added."""


class CoolingMethod(CatalogEntry):
    """A cooling method, and the rack power for which it is suitable."""

    singular = "cooling method"
    medium: Literal["air", "rear-door", "direct-liquid", "immersion"]
    power_from: Power | None = None
    """Rack power from which it is commonly used."""
    power_to: Power | None = None
    """Maximum rack power."""


class Location(CatalogEntry):
    """A location, with the carbon intensity of its grid."""

    country: Text | None = None
    carbon: CarbonIntensity | None = None
    year: Count | None = None
