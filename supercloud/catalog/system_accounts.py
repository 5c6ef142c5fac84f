"""Accounts that machines have before any person has one: their names and numbers are not available to users."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..spec.base import IntegerRange, Text
from .fact import CatalogEntry, CatalogModel

__all__ = ["IdRange", "SystemAccounts"]

_AccountId = Annotated[int, IntegerRange(0, 2**32 - 1)]


class IdRange(CatalogModel):
    """UIDs and GIDs that one purpose has."""

    first: _AccountId
    last: _AccountId
    purpose: Text
    """What has the numbers, for messages."""


class SystemAccounts(CatalogEntry):
    """Accounts and numbers that one system reserves."""

    singular = "set of accounts"
    names: tuple[Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_.-]*$")], ...] = ()
    """Names of its users and groups."""
    ranges: tuple[IdRange, ...] = ()
    """Numbers of its users and groups."""
