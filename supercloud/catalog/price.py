"""List prices of machines, with their dates."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Price
from ..spec.base import Text
from ..spec.site import CloudKind
from .fact import CatalogEntry, CatalogModel

__all__ = ["ListPrice", "Prices"]


class ListPrice(CatalogModel):
    """A price in a region."""

    region: Text
    kind: Literal["on-demand", "spot", "capacity-block"]
    price: Price
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")] | None = None
    """Date of the price; absent if the source has none."""
    read: Text
    """Source of the price."""


class Prices(CatalogEntry):
    """List prices of a machine, named after it."""

    singular = "list of prices"
    provider: CloudKind
    prices: tuple[ListPrice, ...]

    def find_price(self, region: str, kind: str) -> ListPrice | None:
        """The price in a region; None if unknown."""
        return next((item for item in self.prices if item.region == region and item.kind == kind), None)
