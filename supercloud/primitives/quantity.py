"""Numbers with units: ``2 PiB``, ``400 Gb/s``, ``120 kW``, ``32 °C``, ``7 d``, ``60 USD/h``.

A quantity is an exact number in the base unit of its dimension. Quantities of one dimension add, subtract and compare;
any quantity is multiplied or divided by a number; two quantities multiply or divide where the result has a dimension
in the tables below (``Power * Duration -> Energy``, ``Size / Duration -> Rate`` …). Nothing is ever rounded silently:
:meth:`Quantity.to` gives a float, :meth:`Quantity.whole` refuses to lose a remainder.

To add a unit, add it to ``units`` of its class; to add a dimension, add a class and, where it is a product of others,
a row in ``_PRODUCTS``.
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

__all__ = [
    "Area",
    "Carbon",
    "CarbonIntensity",
    "Duration",
    "Energy",
    "Flow",
    "Length",
    "Mass",
    "Money",
    "Operations",
    "Power",
    "Price",
    "Quantity",
    "Rate",
    "Size",
    "Temperature",
    "TemperatureStep",
    "UnitPrice",
    "Voltage",
]

Number = int | float | Fraction | Decimal

_TEXT = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(\S.*?)?\s*")
_MAX_TEXT = 64


def _exact(value: Number) -> Fraction:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise QuantityError(f"{value!r} is no finite number")
        return Fraction(repr(value))  # 0.1 means one tenth, not the binary fraction next to it
    return Fraction(value)


class Quantity:
    """A number with a unit of one dimension. Hashable, ordered within its dimension, immutable."""

    __slots__ = ("base",)
    base: Fraction

    dimension: ClassVar[str] = "quantity"
    units: ClassVar[dict[str, Fraction]] = {}
    shown: ClassVar[tuple[str, ...]] = ()
    example: ClassVar[str] = ""

    def __init__(self, value: Number | str, unit: str | None = None):
        if isinstance(value, str):
            if unit is not None:
                raise TypeError("give either a text, or a number and a unit")
            number, unit = self._split(value)
        else:
            number = _exact(value)
            if unit is None:
                raise TypeError(f"a {self.dimension} needs a unit")
        object.__setattr__(self, "base", number * self._factor(unit, value))

    @classmethod
    def _split(cls, text: str) -> tuple[Fraction, str]:
        match = _TEXT.fullmatch(text) if len(text) <= _MAX_TEXT else None
        if match is None or match[2] is None:
            raise QuantityError(f"{text[:_MAX_TEXT]!r} is no {cls.dimension}; write for example '{cls.example}'")
        try:
            return Fraction(Decimal(match[1].replace("_", ""))), match[2]
        except (InvalidOperation, ValueError):
            raise QuantityError(f"{text!r} is no {cls.dimension}; write for example '{cls.example}'") from None

    @classmethod
    def _factor(cls, unit: str, value: object) -> Fraction:
        try:
            return cls.units[unit]
        except KeyError:
            raise QuantityError(
                f"{value!r}: {unit!r} is no unit of {cls.dimension}; units are {', '.join(cls.units)}"
            ) from None

    @classmethod
    def of_base(cls, base: Number) -> Self:
        """The quantity that has this number of base units."""
        new = object.__new__(cls)
        object.__setattr__(new, "base", _exact(base))
        return new

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self).of_base, (self.base,))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    # -- reading -----------------------------------------------------------------------------------------------------

    def to(self, unit: str) -> float:
        """The number of ``unit`` as a float."""
        return float(self.base / self._factor(unit, unit))

    def whole(self, unit: str) -> int:
        """The number of ``unit`` as an integer; refuses to lose a remainder."""
        number = self.base / self._factor(unit, unit)
        if number.denominator != 1:
            raise QuantityError(f"{self} is not a whole number of {unit}")
        return number.numerator

    def ceil(self, unit: str) -> int:
        """The smallest whole number of ``unit`` that is not less than this."""
        return math.ceil(self.base / self._factor(unit, unit))

    def floor(self, unit: str) -> int:
        """The largest whole number of ``unit`` that is not more than this."""
        return math.floor(self.base / self._factor(unit, unit))

    def __str__(self) -> str:
        best = self.shown[0]
        for unit in self.shown:  # shown is written from small to large
            if abs(self.base) >= self.units[unit]:
                best = unit
        number = self.base / self.units[best]
        text = str(number.numerator) if number.denominator == 1 else f"{float(number):.6g}"
        return f"{text} {best}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    # -- algebra -----------------------------------------------------------------------------------------------------

    def _same(self, other: object) -> bool:
        return type(other) is type(self)

    def __eq__(self, other: object) -> bool:
        return self._same(other) and self.base == other.base  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.dimension, self.base))

    def __lt__(self, other: Self) -> bool:
        return self.base < other.base if self._same(other) else NotImplemented

    def __le__(self, other: Self) -> bool:
        return self.base <= other.base if self._same(other) else NotImplemented

    def __gt__(self, other: Self) -> bool:
        return self.base > other.base if self._same(other) else NotImplemented

    def __ge__(self, other: Self) -> bool:
        return self.base >= other.base if self._same(other) else NotImplemented

    def __bool__(self) -> bool:
        return self.base != 0

    def __add__(self, other: Self) -> Self:
        return self.of_base(self.base + other.base) if self._same(other) else NotImplemented

    def __radd__(self, other: object) -> Self:
        return self if other == 0 else NotImplemented  # so that sum() works

    def __sub__(self, other: Self) -> Self:
        return self.of_base(self.base - other.base) if self._same(other) else NotImplemented

    def __neg__(self) -> Self:
        return self.of_base(-self.base)

    def __mul__(self, other: object) -> Any:
        if isinstance(other, Quantity):
            row = _PRODUCTS.get((type(self), type(other))) or _PRODUCTS.get((type(other), type(self)))
            return row[0].of_base(self.base * other.base * row[1]) if row else NotImplemented
        if isinstance(other, int | float | Fraction | Decimal):
            return self.of_base(self.base * _exact(other))
        return NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Any:
        if isinstance(other, Quantity):
            if not other.base:
                raise ZeroDivisionError(f"{self} / {other}")
            if self._same(other):
                return float(self.base / other.base)
            for (left, right), (product, factor) in _PRODUCTS.items():
                if product is type(self) and type(other) in (left, right):
                    return (right if type(other) is left else left).of_base(self.base / other.base / factor)
            return NotImplemented
        if isinstance(other, int | float | Fraction | Decimal):
            return self.of_base(self.base / _exact(other))
        return NotImplemented

    # -- pydantic ----------------------------------------------------------------------------------------------------

    @classmethod
    def _validate(cls, value: object) -> Self:
        if type(value) is cls:
            return value
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise QuantityError(f"{value!r} is no {cls.dimension}; write for example '{cls.example}'")
        raise QuantityError(f"{value!r} has no unit; write for example '{value} {cls.example.split()[-1]}'")

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        units = "|".join(re.escape(unit) for unit in sorted(cls.units, key=len, reverse=True))
        return {
            "type": "string",
            "title": cls.__name__,
            "description": f"A {cls.dimension} with its unit, such as '{cls.example}'.",
            "pattern": rf"^\s*[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?\s*({units})\s*$",
            "examples": [cls.example],
        }


def _units(**factors: int | str) -> dict[str, Fraction]:
    return {name: Fraction(factor) for name, factor in factors.items()}


_SI = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_IEC = {f"{prefix}i": 1024 ** (power + 1) for power, prefix in enumerate("KMGTPE")}


class Size(Quantity):
    """An amount of data; base unit byte. ``GB`` is 10^9, ``GiB`` is 2^30."""

    __slots__ = ()
    dimension, example = "data size", "2 PiB"
    units = {"B": Fraction(1)} | {p + "B": Fraction(f) for p, f in (_SI | _IEC).items()} | {"KB": Fraction(1000)}
    shown = ("B", "kB", "MB", "GB", "TB", "PB", "EB")

    def __str__(self) -> str:
        for unit in ("EiB", "PiB", "TiB", "GiB", "MiB", "KiB"):  # keep binary sizes binary
            number = self.base / self.units[unit]
            if number >= 1 and number.denominator == 1:
                return f"{number.numerator} {unit}"
        return super().__str__()


class Rate(Quantity):
    """Data per time; base unit bit per second. ``Gb/s`` counts bits, ``GB/s`` bytes."""

    __slots__ = ()
    dimension, example = "data rate", "400 Gb/s"
    units = (
        {"b/s": Fraction(1)}
        | {f"{p}b/s": Fraction(f) for p, f in _SI.items()}
        | {f"{p}bps": Fraction(f) for p, f in _SI.items()}
        | {"B/s": Fraction(8)}
        | {f"{p}B/s": Fraction(8 * f) for p, f in (_SI | _IEC).items()}
    )
    shown = ("b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s")

    @property
    def bytes_text(self) -> str:
        """The rate in bytes per second, as storage is spoken of: ``500 GB/s``."""
        best = next((u for u in ("TB/s", "GB/s", "MB/s", "kB/s") if abs(self.base) >= self.units[u]), "B/s")
        return f"{float(self.base / self.units[best]):.6g} {best}"


class Power(Quantity):
    """Electrical or thermal power; base unit watt."""

    __slots__ = ()
    dimension, example = "power", "120 kW"
    units = _units(W=1, kW=1000, MW=10**6, GW=10**9)
    shown = ("W", "kW", "MW", "GW")


class Energy(Quantity):
    """Energy; base unit joule."""

    __slots__ = ()
    dimension, example = "energy", "5 MWh"
    units = _units(J=1, kJ=1000, MJ=10**6, Wh=3600, kWh=3600 * 10**3, MWh=3600 * 10**6, GWh=3600 * 10**9)
    shown = ("J", "Wh", "kWh", "MWh", "GWh")


class Duration(Quantity):
    """A span of time; base unit second."""

    __slots__ = ()
    dimension, example = "duration", "24 h"
    units = _units(ms="1/1000", s=1, sec=1, min=60, h=3600, d=86400, day=86400, days=86400, week=604800, weeks=604800)
    shown = ("ms", "s", "min", "h", "d")

    def __str__(self) -> str:
        for unit in ("d", "h", "min", "s"):
            number = self.base / self.units[unit]
            if number >= 1 and number.denominator == 1:
                return f"{number.numerator} {unit}"
        return super().__str__()


class Temperature(Quantity):
    """A temperature on the Celsius scale; base unit °C. Temperatures compare; their difference is a TemperatureStep."""

    __slots__ = ()
    dimension, example = "temperature", "32 °C"
    units = {"°C": Fraction(1), "C": Fraction(1), "℃": Fraction(1)}
    shown = ("°C",)

    def __sub__(self, other: Any) -> Any:
        if type(other) is Temperature:
            return TemperatureStep.of_base(self.base - other.base)
        return Temperature.of_base(self.base - other.base) if type(other) is TemperatureStep else NotImplemented

    def __add__(self, other: Any) -> Any:
        return Temperature.of_base(self.base + other.base) if type(other) is TemperatureStep else NotImplemented


class TemperatureStep(Quantity):
    """A temperature difference, such as an approach; base unit kelvin."""

    __slots__ = ()
    dimension, example = "temperature difference", "10 K"
    units = {"K": Fraction(1)}
    shown = ("K",)


class Length(Quantity):
    """A length; base unit metre."""

    __slots__ = ()
    dimension, example = "length", "3 m"
    units = _units(mm="1/1000", cm="1/100", m=1, km=1000)
    shown = ("mm", "m", "km")


class Area(Quantity):
    """An area; base unit square metre."""

    __slots__ = ()
    dimension, example = "area", "400 m2"
    units = {"m2": Fraction(1), "m²": Fraction(1)}
    shown = ("m2",)


class Mass(Quantity):
    """A mass; base unit kilogram."""

    __slots__ = ()
    dimension, example = "mass", "1360 kg"
    units = _units(g="1/1000", kg=1, t=1000)
    shown = ("g", "kg", "t")


class Flow(Quantity):
    """A volume flow; base unit litre per minute. ``CFM`` is cubic feet per minute (28.316846592 L)."""

    __slots__ = ()
    dimension, example = "flow", "180 L/min"
    units = {"L/min": Fraction(1), "LPM": Fraction(1), "L/s": Fraction(60), "m3/h": Fraction(1000, 60)}
    units |= {"CFM": Fraction("28.316846592")}
    shown = ("L/min",)


class Voltage(Quantity):
    """An electrical tension; base unit volt."""

    __slots__ = ()
    dimension, example = "voltage", "415 V"
    units = _units(V=1, kV=1000)
    shown = ("V", "kV")


class Money(Quantity):
    """An amount of money; base unit US dollar. Other currencies are refused: rates of exchange are not ours to know."""

    __slots__ = ()
    dimension, example = "amount of money", "400000 USD"
    units = {"USD": Fraction(1)}
    shown = ("USD",)


class Price(Quantity):
    """Money per time; base unit US dollar per second."""

    __slots__ = ()
    dimension, example = "price per time", "60 USD/h"
    units = {"USD/h": Fraction(1, 3600), "USD/d": Fraction(1, 86400)}
    shown = ("USD/h",)


class UnitPrice(Quantity):
    """Money per energy; base unit US dollar per joule."""

    __slots__ = ()
    dimension, example = "energy price", "0.08 USD/kWh"
    units = {"USD/kWh": Fraction(1, 3_600_000), "USD/MWh": Fraction(1, 3_600_000_000)}
    shown = ("USD/kWh",)


class Carbon(Quantity):
    """A mass of emitted CO2 equivalent; base unit gram."""

    __slots__ = ()
    dimension, example = "amount of carbon", "12 tCO2e"
    units = _units(gCO2e=1, kgCO2e=1000, tCO2e=10**6)
    shown = ("gCO2e", "kgCO2e", "tCO2e")


class CarbonIntensity(Quantity):
    """Carbon per energy; base unit gram per joule."""

    __slots__ = ()
    dimension, example = "carbon intensity", "39 gCO2e/kWh"
    units = {"gCO2e/kWh": Fraction(1, 3_600_000), "g/kWh": Fraction(1, 3_600_000)}
    shown = ("gCO2e/kWh",)


class Operations(Quantity):
    """Arithmetic operations per second; base unit one per second. FLOPS for floats, OPS for integers alike."""

    __slots__ = ()
    dimension, example = "arithmetic rate", "989 TFLOPS"
    units = {f"{p}{kind}": Fraction(f) for p, f in _SI.items() for kind in ("FLOPS", "OPS")}
    shown = ("GFLOPS", "TFLOPS", "PFLOPS", "EFLOPS")


# What a product of two quantities is, and the factor between the base units (a rate counts bits, a size bytes).
_PRODUCTS: dict[tuple[type[Quantity], type[Quantity]], tuple[type[Quantity], Fraction]] = {
    (Power, Duration): (Energy, Fraction(1)),
    (Price, Duration): (Money, Fraction(1)),
    (UnitPrice, Energy): (Money, Fraction(1)),
    (CarbonIntensity, Energy): (Carbon, Fraction(1)),
    (Rate, Duration): (Size, Fraction(1, 8)),
    (Length, Length): (Area, Fraction(1)),
}
