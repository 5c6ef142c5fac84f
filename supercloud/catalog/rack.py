"""Racks, the places they can stand in, and how they can be cooled."""

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
    """Weight of the equipment it carries."""
    weight: Mass | None = None
    """Of the rack itself; of a rack product, as it comes filled."""
    max_power: Power | None = None
    """Power its distribution carries."""
    busbar: Literal["none", "48V", "54V", "800V"] = "none"
    mounts: tuple[Mount, ...] = ()
    """What is screwed into it; empty if unknown."""
    feeds: tuple[Feed, ...] = ()
    """How what is in it is fed; empty if unknown."""
    complete: Flag = False
    """Sold with all that is in it: nothing else is put into one."""


class CoolingMethod(CatalogEntry):
    """A way of cooling, and the rack density it reaches."""

    medium: Literal["air", "rear-door", "direct-liquid", "immersion"]
    power_from: Power | None = None
    """Rack power from which it is usual."""
    power_to: Power | None = None
    """Rack power it reaches."""


class Location(CatalogEntry):
    """A place with the carbon intensity of its grid."""

    country: Text | None = None
    carbon: CarbonIntensity | None = None
    year: Count | None = None
