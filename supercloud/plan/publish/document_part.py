"""What all parts of the published plan share: their model, and quantities as rounded numbers."""

from __future__ import annotations

from typing import Protocol

from pydantic import BaseModel, ConfigDict

__all__ = ["DocumentPart", "round_number", "round_quantity"]


class DocumentPart(BaseModel):
    """A part of the published plan. Field names include the unit."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class _Convertible(Protocol):
    def to(self, unit: str) -> float: ...


def round_quantity(value: _Convertible | None, unit: str, digits: int) -> float | None:
    """A quantity in a unit, rounded; None if it is unknown."""
    return None if value is None else round(value.to(unit), digits)


def round_number(value: float | None, digits: int) -> float | None:
    """A rounded number; None if it is unknown."""
    return None if value is None else round(value, digits)
