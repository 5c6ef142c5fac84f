"""Regions of clouds: zones, machine families, carbon intensity."""

from __future__ import annotations

from ..primitives.quantity import CarbonIntensity
from ..spec.base import Count, Flag, Text
from ..spec.site import CloudKind
from .fact import CatalogEntry, CatalogModel

__all__ = ["GridCarbon", "LocalZone", "Region"]


class GridCarbon(CatalogModel):
    """Carbon intensity of the grid."""

    intensity: CarbonIntensity
    year: Count | None = None
    basis: Text
    """What the value applies to: the region itself, or the grid that it probably uses."""


class LocalZone(CatalogModel):
    """A zone outside of the region's data centers, in which only part of its services exist."""

    name: Text
    """Code of the zone."""
    families: tuple[Text, ...] = ()
    """Families of accelerator machines that are sold there and not in the region's other zones."""
    opt_in: Flag = False
    """Whether an account must be opted in to the zone before it can use it."""


class Region(CatalogEntry):
    """A region of a provider."""

    provider: CloudKind
    zones: tuple[Text, ...] = ()
    """Codes of its zones; empty if unknown."""
    local_zones: tuple[LocalZone, ...] = ()
    """Zones that only have machines: gateways, control planes and managed services are in the others."""
    families: tuple[Text, ...] | None = None
    """Families of accelerator machines that are sold there; absent if unknown."""
    carbon: GridCarbon | None = None

    def find_local_zone(self, name: str) -> LocalZone | None:
        """The local zone of this name; None if it is a zone of the region itself, or unknown."""
        return next((zone for zone in self.local_zones if zone.name == name), None)
