"""Fields of all catalog entries: the sources of their values, and known doubts about them."""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Annotated, ClassVar

from pydantic import AfterValidator, ConfigDict, Field

from ..spec.base import Model, Text

__all__ = ["CatalogEntry", "EntryName", "LabelKey", "CatalogModel", "CidrBlock", "RegularExpression"]

LabelKey = Annotated[
    str, Field(pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
]
"""A key of a Kubernetes label, or the name of a Kubernetes resource."""
EntryName = Annotated[str, Field(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$", max_length=80)]


def _require_range(value: str) -> str:
    try:
        ip_network(value)
    except ValueError as error:
        raise ValueError(f"{value!r} is not a range of addresses: {error}") from None
    return value


def _require_expression(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"{value!r} is not a regular expression: {error}") from None
    return value


CidrBlock = Annotated[str, Field(pattern=r"^[0-9a-fA-F.:]{2,45}/[0-9]{1,3}$"), AfterValidator(_require_range)]
"""A range of addresses, such as 10.0.0.0/8."""
RegularExpression = Annotated[Text, AfterValidator(_require_expression)]


class CatalogModel(Model):
    """Base of all models of the catalog, which are built when the first file of their kind is read."""

    model_config = ConfigDict(defer_build=True, use_attribute_docstrings=False)


class CatalogEntry(CatalogModel):
    """One entry of the catalog. A field without a source is absent; values are never estimated."""

    singular: ClassVar[str] = ""
    """What messages call one entry; empty means the folder of its kind without the s."""
    name: EntryName
    """Name of the entry and of its file."""
    title: Text
    """Usual name of the product or service."""
    source: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Sources of the values, with a date or version."""
    unverified: tuple[Text, ...] = ()
    """Fields whose values are not confirmed by a primary source."""
    conflicts: dict[Text, Text] = {}
    """Field -> differing published values, with their publishers."""
    notes: tuple[Text, ...] = ()
