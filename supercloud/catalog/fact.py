"""What every file of the catalog says about itself: where its numbers come from and how far they can be trusted."""

from __future__ import annotations

import re
from ipaddress import ip_network
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from ..spec.base import Model, Text

__all__ = ["CatalogEntry", "EntryName", "LabelKey", "CatalogModel", "CidrBlock", "RegularExpression"]

LabelKey = Annotated[
    str, Field(pattern=r"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$")
]
"""A key of a label of Kubernetes, or the name of a resource there."""
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
    """Base of all models of facts: built when the first file of their kind is read, since a plan reads few kinds."""

    model_config = ConfigDict(defer_build=True, use_attribute_docstrings=False)


class CatalogEntry(CatalogModel):
    """A thing the world offers. An absent field is one that nobody sourced; nothing is filled in by guessing."""

    name: EntryName
    """Also the name of its file."""
    title: Text
    """What people call it."""
    source: Annotated[tuple[Text, ...], Field(min_length=1)]
    """Where the numbers were read, with a date or version."""
    unverified: tuple[Text, ...] = ()
    """Fields whose value no primary source backs."""
    conflicts: dict[Text, Text] = {}
    """Field -> what else is printed about it, and by whom."""
    notes: tuple[Text, ...] = ()
