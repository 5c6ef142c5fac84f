"""Racks, the places they can stand in, and how they can be cooled."""

from __future__ import annotations

from typing import Literal

from ..primitives.quantity import CarbonIntensity, Length, Mass, Power
from ..spec.base import Count, Text
from .fact import Fact

__all__ = ["CoolingMethod", "Location", "Rack"]


class Rack(Fact):
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


class CoolingMethod(Fact):
    """A way of cooling, and the rack density it reaches."""

    medium: Literal["air", "rear-door", "direct-liquid", "immersion"]
    power_from: Power | None = None
    """Rack power from which it is usual."""
    power_to: Power | None = None
    """Rack power it reaches."""


class Location(Fact):
    """A place with the carbon intensity of its grid."""

    country: Text | None = None
    carbon: CarbonIntensity | None = None
    year: Count | None = None
