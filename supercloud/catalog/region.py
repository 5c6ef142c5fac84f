"""Regions of clouds: their zones, what they sell, how clean their electricity is."""

from __future__ import annotations

from typing import Literal

from ..primitives.quantity import CarbonIntensity
from ..spec.base import Count, Text
from .fact import CatalogEntry, CatalogModel

__all__ = ["GridCarbon", "Region"]


class GridCarbon(CatalogModel):
    """Carbon intensity of the grid."""

    intensity: CarbonIntensity
    year: Count | None = None
    basis: Text
    """What it was read of: the region itself, or a grid that it is likely to share."""


class Region(CatalogEntry):
    """A region as one of a provider's own."""

    provider: Literal["aws", "gcp", "azure"]
    place: Text | None = None
    """Where it is."""
    zones: tuple[Text, ...] = ()
    """Codes of its zones; empty where they were not sourced."""
    families: tuple[Text, ...] | None = None
    """Families of accelerator machines it sells; absent where no list was read."""
    carbon: GridCarbon | None = None
