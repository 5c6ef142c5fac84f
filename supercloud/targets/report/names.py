"""What things are called in the report, and what to say of numbers."""

from __future__ import annotations

from ...plan.model import Item, Plan
from ...primitives.quantity import Power, Size

__all__ = ["KINDS", "binary", "item_name", "kilowatts", "plural", "switch_digits", "switch_name"]

# What an item of a rack is -> the colour it is drawn in.
KINDS = {
    "node": "node",
    "switch": "switch",
    "nvlink-switch": "switch",
    "management-switch": "switch",
    "server": "server",
    "manager": "manager",
    "power-shelf": "feed",
    "pdu": "feed",
    "cdu": "cool",
    "panel": "panel",
}


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


def item_name(plan: Plan, item: Item, index: int) -> str:
    """The name of the thing at a place within an item: host, switch, server, or its product and number."""
    number = item.first + index
    if item.what == "node":
        return next(iter(plan.pool(item.of).hosts.part(number, number + 1)))
    if item.what == "switch":
        fabric, _, tier = item.of.partition("/")
        return switch_name(plan, fabric, tier, number * _chips(plan, fabric, tier))
    group = next((group for group in plan.servers if group.name == item.of), None)
    if group and number < group.count:
        return next(iter(group.hosts.part(number, number + 1)))
    of = item.of.rpartition("/")[2]
    return f"{of} {number + 1}" if item.what in ("server", "manager") else of


def kilowatts(power: Power) -> str:
    """Power as racks are spoken of: 40.8 kW."""
    return f"{power.to('kW'):.4g} kW"


def plural(number: int, word: str) -> str:
    """A number of things: 1 rack, 2 racks."""
    many = f"{word[:-1]}ves" if word.endswith("lf") else f"{word}es" if word.endswith("ch") else f"{word}s"
    return f"{number:,} {word if number == 1 else many}"


def _chips(plan: Plan, fabric: str, tier: str) -> int:
    """Switches in one box: a box is called after its first."""
    found = (
        item.switch.chips for each in plan.fabrics if each.name == fabric for item in each.tiers if item.name == tier
    )
    return next(found, 1)
