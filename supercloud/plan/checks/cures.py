"""What would cure a rack: the place in the spec that decides it, and the number that would do."""

from __future__ import annotations

from fractions import Fraction

from ...facility import Circuits
from ...primitives.quantity import Power, Quantity
from ..model.plan import Plan, RackGroup

__all__ = ["circuits_for", "nodes_within", "rack_place"]

# More circuits than this are not advised: no limit of any rack, only where the search for a number ends.
_MOST_CIRCUITS = 12


def rack_place(plan: Plan, group: RackGroup) -> str:
    """Where the racks of a group are chosen: for a pool, by default for all of them, or those of switches."""
    own = next((index for index, pool in enumerate(plan.spec.pools) if pool.name == group.pool and pool.rack), None)
    if own is not None:
        return f"pools[{own}].rack"
    return "facility.rack" if group.pool else "facility.management"


def nodes_within(plan: Plan, group: RackGroup, whole: Quantity, limit: Quantity, empty: Fraction = Fraction(0)) -> str:
    """How many nodes keep a rack within a limit, as a setting; empty where it is a product, or not one fits.

    ``whole`` is what a full rack has of it, ``empty`` the part that does not come with nodes.
    """
    if group.limited_by == "product" or group.nodes_per_rack < 2:
        return ""
    each = (whole.base - empty) / group.nodes_per_rack
    fits = int((limit.base - empty) // each) if each > 0 else 0
    return f"set {rack_place(plan, group)}.nodes: {fits}" if fits > 0 else ""


def circuits_for(power: Power, circuits: Circuits, survives: bool) -> int | None:
    """Circuits of that kind that carry so much, after a loss where it must be survived; None where no number does."""
    if circuits.each is None or (survives and (circuits.paths or circuits.feeds) < 2):
        return None
    for count in range(circuits.count + 1, _MOST_CIRCUITS + 1):
        more = Circuits(count, circuits.feeds, circuits.each, circuits.paths)
        if circuits.each * (count - more.lost if survives else count) >= power:
            return count
    return None
