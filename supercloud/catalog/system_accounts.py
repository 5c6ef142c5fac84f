"""Names and numbers of accounts that belong to systems and services, so that no person has them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..spec.base import Natural, Text
from .fact import CatalogEntry, CatalogModel

__all__ = ["NumberRange", "SystemAccounts"]


class NumberRange(CatalogModel):
    """User numbers (UIDs), first and last included."""

    first: Natural
    last: Natural
    use: Text
    """What they are for."""


class SystemAccounts(CatalogEntry):
    """Accounts of one system, or of one kind of images."""

    names: tuple[Text, ...] = ()
    """Login names."""
    numbers: Annotated[tuple[NumberRange, ...], Field(max_length=64)] = ()
    """User numbers."""
