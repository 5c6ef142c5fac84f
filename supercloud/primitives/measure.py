"""The mechanism behind quantities: parsing, exact conversion, algebra, and validation by pydantic.

The dimensions themselves are in ``quantity``.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from ..errors import QuantityError
from .counts import format_indefinite

__all__ = ["PRODUCTS", "Quantity"]

Number = int | float | Fraction | Decimal

_QUANTITY_PATTERN = re.compile(
    r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(\S.*?)?\s*", re.ASCII
)  # digits of other scripts would reach rendered files
_MAX_TEXT_LENGTH = 64
_MAX_MAGNITUDE = 10**60
"""Bound of declared values in base units, and of their inverse, so that computed values remain valid floats."""


def _to_fraction(value: Number) -> Fraction:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise QuantityError(f"{value!r} is not a finite number")
        return Fraction(repr(value))  # 0.1 means one tenth, not the nearest binary fraction
    return Fraction(value)


class Quantity:
    """A number with a unit of one dimension. Hashable, ordered within its dimension, immutable."""

    __slots__ = ("base",)
    base: Fraction

    dimension: ClassVar[str] = "quantity"
    units: ClassVar[dict[str, Fraction]] = {}
    display_units: ClassVar[tuple[str, ...]] = ()
    replacements: ClassVar[dict[str, str]] = {}
    """By unknown unit, what it is in units of this dimension, as a sentence."""
    example: ClassVar[str] = ""

    def __init__(self, value: Number | str, unit: str | None = None):
        if isinstance(value, str):
            if unit is not None:
                raise TypeError("pass either a string, or a number and a unit")
            number, unit = self._parse(value)
        else:
            number = _to_fraction(value)
            if unit is None:
                raise TypeError(f"{format_indefinite(self.dimension)} requires a unit")
        base = number * self._get_factor(unit, value)
        if base and not 1 <= abs(base) * _MAX_MAGNITUDE <= _MAX_MAGNITUDE**2:
            raise QuantityError(
                f"{value!r} is too {'large' if abs(base) > 1 else 'small'} for {format_indefinite(self.dimension)}"
            )
        object.__setattr__(self, "base", base)

    @classmethod
    def _parse(cls, text: str) -> tuple[Fraction, str]:
        match = _QUANTITY_PATTERN.fullmatch(text) if len(text) <= _MAX_TEXT_LENGTH else None
        if match is None or match[2] is None or match[2].startswith(","):
            raise QuantityError(
                f"{text[:_MAX_TEXT_LENGTH]!r} is not {format_indefinite(cls.dimension)}; write for example "
                f"'{cls.example}'"
            )
        try:
            return Fraction(Decimal(match[1].replace("_", ""))), match[2]
        except (InvalidOperation, ValueError):
            raise QuantityError(
                f"{text!r} is not {format_indefinite(cls.dimension)}; write for example '{cls.example}'"
            ) from None

    @classmethod
    def _get_factor(cls, unit: str, value: object) -> Fraction:
        try:
            return cls.units[unit]
        except KeyError:
            equal = f"; {cls.replacements[unit]}" if unit in cls.replacements else ""
            raise QuantityError(
                f"{value!r}: unknown unit {unit!r} of {cls.dimension}{equal}; units are {', '.join(cls.units)}"
            ) from None

    @classmethod
    def from_base(cls, base: Number) -> Self:
        """The quantity with this number of base units."""
        new = object.__new__(cls)
        object.__setattr__(new, "base", _to_fraction(base))
        return new

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).from_base, (self.base,))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    # -- reading -----------------------------------------------------------------------------------------------------

    def to(self, unit: str) -> float:
        """The number of ``unit`` as a float; raises :class:`QuantityError` for a unit of another quantity."""
        return float(self.base / self._get_factor(unit, unit))

    def to_whole(self, unit: str) -> int:
        """The number of ``unit`` as an integer; raises :class:`QuantityError` if there is a remainder."""
        number = self.base / self._get_factor(unit, unit)
        if number.denominator != 1:
            raise QuantityError(f"{self} is not a whole number of {unit}")
        return number.numerator

    def ceil(self, unit: str) -> int:
        """The smallest whole number of ``unit`` that is not less than this."""
        return math.ceil(self.base / self._get_factor(unit, unit))

    def floor(self, unit: str) -> int:
        """The largest whole number of ``unit`` that is not more than this."""
        return math.floor(self.base / self._get_factor(unit, unit))

    def __str__(self) -> str:
        best = self.display_units[0]
        for unit in self.display_units:  # units are listed from small to large
            if abs(self.base) >= self.units[unit]:
                best = unit
        number = self.base / self.units[best]
        text = str(number.numerator) if number.denominator == 1 else f"{float(number):.6g}"
        return f"{text} {best}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    # -- algebra -----------------------------------------------------------------------------------------------------

    def _has_same_dimension(self, other: object) -> bool:
        return type(other) is type(self)

    def __eq__(self, other: object) -> bool:
        return self._has_same_dimension(other) and self.base == other.base  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.dimension, self.base))

    def __lt__(self, other: Self) -> bool:
        return self.base < other.base if self._has_same_dimension(other) else NotImplemented

    def __le__(self, other: Self) -> bool:
        return self.base <= other.base if self._has_same_dimension(other) else NotImplemented

    def __gt__(self, other: Self) -> bool:
        return self.base > other.base if self._has_same_dimension(other) else NotImplemented

    def __ge__(self, other: Self) -> bool:
        return self.base >= other.base if self._has_same_dimension(other) else NotImplemented

    def __bool__(self) -> bool:
        return self.base != 0

    def __add__(self, other: Self) -> Self:
        return self.from_base(self.base + other.base) if self._has_same_dimension(other) else NotImplemented

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum() works

    def __sub__(self, other: Self) -> Self:
        return self.from_base(self.base - other.base) if self._has_same_dimension(other) else NotImplemented

    def __neg__(self) -> Self:
        return self.from_base(-self.base)

    def __mul__(self, other: object) -> Any:
        if isinstance(other, Quantity):
            row = PRODUCTS.get((type(self), type(other))) or PRODUCTS.get((type(other), type(self)))
            return row[0].from_base(self.base * other.base * row[1]) if row else NotImplemented
        if isinstance(other, int | float | Fraction | Decimal):
            return self.from_base(self.base * _to_fraction(other))
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        if isinstance(other, Quantity):
            if not other.base:
                raise ZeroDivisionError(f"{self} / {other}")
            if self._has_same_dimension(other):
                return float(self.base / other.base)
            for (left, right), (product, factor) in PRODUCTS.items():
                if product is type(self) and type(other) in (left, right):
                    return (right if type(other) is left else left).from_base(self.base / other.base / factor)
            return NotImplemented
        if isinstance(other, int | float | Fraction | Decimal):
            return self.from_base(self.base / _to_fraction(other))
        return NotImplemented

    # -- pydantic ----------------------------------------------------------------------------------------------------

    @classmethod
    def _validate(cls, value: object) -> Self:
        if type(value) is cls:
            return value
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise QuantityError(
                f"{value!r} is not {format_indefinite(cls.dimension)}; write for example '{cls.example}'"
            )
        raise QuantityError(f"{value!r} has no unit; write {format_indefinite(cls.dimension)} such as '{cls.example}'")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        units = "|".join(re.escape(unit) for unit in sorted(cls.units, key=len, reverse=True))
        noun = format_indefinite(cls.dimension)
        return {
            "type": "string",
            "title": cls.__name__,
            "description": f"{noun[0].upper()}{noun[1:]} with its unit, such as '{cls.example}'.",
            "pattern": rf"^\s*[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?\s*({units})\s*$",
            "examples": [cls.example],
            "typeName": cls.dimension,
            "unit": ", ".join(cls.display_units) + (", …" if set(cls.units) - set(cls.display_units) else ""),
        }


# The dimension of a product of two quantities, and the factor between the base units. Filled by ``quantity``.
PRODUCTS: dict[tuple[type[Quantity], type[Quantity]], tuple[type[Quantity], Fraction]] = {}
