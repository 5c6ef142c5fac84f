"""What every file of the catalog says about itself: where its numbers come from and how far they can be trusted."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..spec.base import Model, Text

__all__ = ["Fact", "FactName"]

FactName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9._]*[a-z0-9])?$", max_length=80)]


class Fact(Model):
    """A thing the world offers. An absent field is one that nobody sourced; nothing is filled in by guessing."""

    name: FactName
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
