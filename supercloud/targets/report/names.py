"""What things are called in the report, and what to say of numbers."""

from __future__ import annotations

from ...plan.model import Plan
from ...primitives.quantity import Size

__all__ = ["binary", "plural", "switch_digits", "switch_name"]


def switch_digits(count: int) -> int:
    """Digits of the numbers of that many switches: as in the names of ``plan.cable_ends``."""
    return max(3, len(str(count)))


def switch_name(plan: Plan, fabric: str, tier: str, index: int) -> str:
    """A switch by its place in its tier, from 0."""
    count = next((item.switches(tier) for item in plan.fabrics if item.name == fabric), 0)
    return f"{fabric}-{tier}-{index + 1:0{switch_digits(count)}d}"


def binary(size: Size) -> str:
    """A size in the largest binary unit, with four digits: 10.37 PiB."""
    for unit in ("EiB", "PiB", "TiB", "GiB"):
        if size.to(unit) >= 1:
            return f"{size.to(unit):.4g} {unit}"
    return str(size)


def plural(number: int, word: str) -> str:
    """A number of things: 1 rack, 2 racks."""
    many = f"{word[:-1]}ves" if word.endswith("lf") else f"{word}es" if word.endswith("ch") else f"{word}s"
    return f"{number:,} {word if number == 1 else many}"
