"""Regions of clouds: zones, machine families, carbon intensity."""

from __future__ import annotations

from ..primitives.quantity import CarbonIntensity
from ..spec.base import Count, Text
from ..spec.site import CloudKind
from .fact import CatalogEntry, CatalogModel

__all__ = ["GridCarbon", "Region"]


class GridCarbon(CatalogModel):
    """Carbon intensity of the grid."""

    intensity: CarbonIntensity
    year: Count | None = None
    basis: Text
    """What the value applies to: the region itself, or the grid that it probably uses."""


class Region(CatalogEntry):
    """A region of a provider."""

    provider: CloudKind
    place: Text | None = None
    """Geographic location."""
    zones: tuple[Text, ...] = ()
    """Codes of its zones; empty if unknown."""
    families: tuple[Text, ...] | None = None
    """Families of accelerator machines that are sold there; absent if unknown."""
    carbon: GridCarbon | None = None
