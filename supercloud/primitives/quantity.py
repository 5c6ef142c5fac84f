"""Numbers with units: ``2 PiB``, ``400 Gb/s``, ``120 kW``, ``32 °C``, ``7 d``, ``60 USD/h``.

A quantity is an exact number in the base unit of its dimension. Quantities of one dimension add, subtract and compare;
any quantity is multiplied or divided by a number; two quantities multiply or divide if the result has a dimension
in the tables below (``Power * Duration -> Energy``, ``Size / Duration -> Rate`` …). Nothing is ever rounded silently:
:meth:`Quantity.to` returns a float, :meth:`Quantity.to_whole` raises if there is a remainder.

To add a unit, add it to ``units`` of its class; to add a dimension, add a class and, if it is a product of others,
a row in ``PRODUCTS``.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import Any

from .measure import PRODUCTS, Quantity

__all__ = [
    "Area",
    "Carbon",
    "CarbonIntensity",
    "Current",
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
    "TemperatureDifference",
    "UnitPrice",
    "Voltage",
]


def _build_units(**factors: int | str) -> dict[str, Fraction]:
    return {name: Fraction(factor) for name, factor in factors.items()}


_SI = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_IEC = {f"{prefix}i": 1024 ** (power + 1) for power, prefix in enumerate("KMGTPE")}


class Size(Quantity):
    """An amount of data; base unit byte. ``GB`` is 10^9, ``GiB`` is 2^30."""

    __slots__ = ()
    dimension, example = "data size", "2 PiB"
    units = {"B": Fraction(1)} | {p + "B": Fraction(f) for p, f in (_SI | _IEC).items()} | {"KB": Fraction(1000)}
    display_units = ("B", "kB", "MB", "GB", "TB", "PB", "EB")

    def __str__(self) -> str:
        decimal = super().__str__()
        for unit in ("EiB", "PiB", "TiB", "GiB", "MiB", "KiB"):  # 80 GiB remains binary, 100 GB remains decimal
            number = self.base / self.units[unit]
            if number >= 1 and number.denominator == 1:
                binary = f"{number.numerator} {unit}"
                return binary if len(binary) <= len(decimal) + 1 else decimal
        return decimal


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
    display_units = ("b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s")

    @property
    def bytes_text(self) -> str:
        """The rate in bytes per second, as usual for storage: ``500 GB/s``."""
        unit = self._choose_bytes_unit()
        return f"{float(self.base / self.units[unit]):.6g} {unit}"

    @property
    def minimum_bytes_text(self) -> str:
        """``bytes_text`` rounded up, so that the text is never less than the rate."""
        unit = self._choose_bytes_unit()
        number = self.base / self.units[unit]
        step = Fraction(10) ** (len(str(int(number))) - 6)  # the last of six digits
        return f"{float(ceil(number / step) * step):.6g} {unit}"

    def _choose_bytes_unit(self) -> str:
        return next((unit for unit in ("TB/s", "GB/s", "MB/s", "kB/s") if abs(self.base) >= self.units[unit]), "B/s")


class Power(Quantity):
    """Electrical or thermal power; base unit watt."""

    __slots__ = ()
    dimension, example = "power", "120 kW"
    units = _build_units(W=1, kW=1000, MW=10**6, GW=10**9)
    display_units = ("W", "kW", "MW", "GW")


class Energy(Quantity):
    """Energy; base unit joule."""

    __slots__ = ()
    dimension, example = "energy", "5 MWh"
    units = _build_units(J=1, kJ=1000, MJ=10**6, Wh=3600, kWh=3600 * 10**3, MWh=3600 * 10**6, GWh=3600 * 10**9)
    display_units = ("J", "Wh", "kWh", "MWh", "GWh")


class Duration(Quantity):
    """A span of time; base unit second."""

    __slots__ = ()
    dimension, example = "duration", "24 h"
    units = _build_units(
        ms="1/1000", s=1, sec=1, min=60, h=3600, d=86400, day=86400, days=86400, week=604800, weeks=604800
    )
    replacements = dict.fromkeys(("y", "yr", "year", "years"), "a year is 365 d") | dict.fromkeys(
        ("mo", "month", "months"), "a month is 30 d"
    )
    display_units = ("ms", "s", "min", "h", "d")

    def __str__(self) -> str:
        for unit in ("d", "h", "min", "s"):
            number = self.base / self.units[unit]
            if number >= 1 and number.denominator == 1:
                return f"{number.numerator} {unit}"
        return super().__str__()


class Temperature(Quantity):
    """A temperature on the Celsius scale; base unit °C. Temperatures compare; two differ by a TemperatureDifference."""

    __slots__ = ()
    dimension, example = "temperature", "32 °C"
    units = {"°C": Fraction(1), "C": Fraction(1), "℃": Fraction(1)}
    display_units = ("°C",)

    def __sub__(self, other: Any) -> Any:
        if type(other) is Temperature:
            return TemperatureDifference.from_base(self.base - other.base)
        return Temperature.from_base(self.base - other.base) if type(other) is TemperatureDifference else NotImplemented

    def __add__(self, other: Any) -> Any:
        return Temperature.from_base(self.base + other.base) if type(other) is TemperatureDifference else NotImplemented


class TemperatureDifference(Quantity):
    """A temperature difference, such as an approach; base unit kelvin."""

    __slots__ = ()
    dimension, example = "temperature difference", "10 K"
    units = {"K": Fraction(1)}
    display_units = ("K",)


class Length(Quantity):
    """A length; base unit meter."""

    __slots__ = ()
    dimension, example = "length", "3 m"
    units = _build_units(mm="1/1000", cm="1/100", m=1, km=1000)
    display_units = ("mm", "m", "km")


class Area(Quantity):
    """An area; base unit square meter."""

    __slots__ = ()
    dimension, example = "area", "400 m2"
    units = {"m2": Fraction(1), "m²": Fraction(1)}
    display_units = ("m2",)


class Mass(Quantity):
    """A mass; base unit kilogram."""

    __slots__ = ()
    dimension, example = "mass", "1360 kg"
    units = _build_units(g="1/1000", kg=1, t=1000)
    display_units = ("g", "kg", "t")


class Flow(Quantity):
    """A volume flow; base unit liter per minute. ``CFM`` is cubic feet per minute (28.316846592 L)."""

    __slots__ = ()
    dimension, example = "flow", "180 L/min"
    units = {"L/min": Fraction(1), "LPM": Fraction(1), "L/s": Fraction(60), "m3/h": Fraction(1000, 60)}
    units |= {"CFM": Fraction("28.316846592")}
    display_units = ("L/min",)


class Voltage(Quantity):
    """An electric potential; base unit volt."""

    __slots__ = ()
    dimension, example = "voltage", "415 V"
    units = _build_units(V=1, kV=1000)
    display_units = ("V", "kV")


class Current(Quantity):
    """An electric current, such as the rating of a breaker; base unit ampere."""

    __slots__ = ()
    dimension, example = "current", "63 A"
    units = _build_units(A=1, kA=1000)
    display_units = ("A", "kA")


class Money(Quantity):
    """An amount of money; base unit US dollar. Other currencies are not supported: there are no exchange rates."""

    __slots__ = ()
    dimension, example = "amount of money", "400000 USD"
    units = {"USD": Fraction(1)}
    display_units = ("USD",)


class Price(Quantity):
    """Money per time; base unit US dollar per second."""

    __slots__ = ()
    dimension, example = "price per time", "60 USD/h"
    units = {"USD/h": Fraction(1, 3600), "USD/d": Fraction(1, 86400)}
    display_units = ("USD/h",)


class UnitPrice(Quantity):
    """Money per energy; base unit US dollar per joule."""

    __slots__ = ()
    dimension, example = "energy price", "0.08 USD/kWh"
    units = {"USD/kWh": Fraction(1, 3_600_000), "USD/MWh": Fraction(1, 3_600_000_000)}
    display_units = ("USD/kWh",)


class Carbon(Quantity):
    """A mass of emitted CO2 equivalent; base unit gram."""

    __slots__ = ()
    dimension, example = "amount of carbon", "12 tCO2e"
    units = _build_units(gCO2e=1, kgCO2e=1000, tCO2e=10**6)
    display_units = ("gCO2e", "kgCO2e", "tCO2e")


class CarbonIntensity(Quantity):
    """Carbon per energy; base unit gram per joule."""

    __slots__ = ()
    dimension, example = "carbon intensity", "39 gCO2e/kWh"
    units = {"gCO2e/kWh": Fraction(1, 3_600_000), "g/kWh": Fraction(1, 3_600_000)}
    display_units = ("gCO2e/kWh",)


class Operations(Quantity):
    """Arithmetic operations per second; base unit one per second. FLOPS for floats, OPS for integers alike."""

    __slots__ = ()
    dimension, example = "arithmetic rate", "989 TFLOPS"
    units = {f"{p}{kind}": Fraction(f) for p, f in _SI.items() for kind in ("FLOPS", "OPS")}
    display_units = ("GFLOPS", "TFLOPS", "PFLOPS", "EFLOPS")


# The dimension of a product of two quantities, and the factor between the base units (a rate counts bits, a size
# bytes).
PRODUCTS |= {
    (Power, Duration): (Energy, Fraction(1)),
    (Price, Duration): (Money, Fraction(1)),
    (UnitPrice, Energy): (Money, Fraction(1)),
    (CarbonIntensity, Energy): (Carbon, Fraction(1)),
    (Rate, Duration): (Size, Fraction(1, 8)),
    (Length, Length): (Area, Fraction(1)),
}
