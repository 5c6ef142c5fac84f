"""Where instances of a cloud ask for their metadata, and with it for the credentials of their role."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..spec.base import Text
from .fact import CatalogEntry, CatalogModel

__all__ = ["MetadataAddress", "MetadataService"]


class MetadataAddress(CatalogModel):
    """An address that only root of an instance may reach."""

    address: Annotated[Text, Field(pattern=r"^[0-9a-f.:]+$")]
    """IPv4 or IPv6, without a prefix length."""
    ports: tuple[Annotated[int, Field(ge=1, le=65535)], ...] = ()
    """TCP ports that are closed to users; empty closes the address whole. Given where the address also answers what
    everybody needs, as the name service."""


class MetadataService(CatalogEntry):
    """The metadata service of a provider."""

    addresses: Annotated[tuple[MetadataAddress, ...], Field(min_length=1)]
