"""Metadata services of clouds, from which instances get metadata and the credentials of their role."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..spec.base import Text
from .fact import CatalogEntry, CatalogModel

__all__ = ["MetadataAddress", "MetadataService"]


class MetadataAddress(CatalogModel):
    """An address that only root of an instance can access."""

    address: Annotated[Text, Field(pattern=r"^[0-9a-f.:]+$")]
    """IPv4 or IPv6, without a prefix length."""
    ports: tuple[Annotated[int, Field(ge=1, le=65535)], ...] = ()
    """TCP ports that are blocked for users; empty: the whole address is blocked. Set if the address also provides
    services that users need, such as DNS."""


class MetadataService(CatalogEntry):
    """The metadata service of a provider."""

    addresses: Annotated[tuple[MetadataAddress, ...], Field(min_length=1)]
