"""Suggested changes for a rack: the field of the spec that decides it, and a number that is enough."""

from __future__ import annotations

from fractions import Fraction

from ...facility import Circuits
from ...primitives.quantity import Power, Quantity
from ..model.plan import Plan, RackGroup

__all__ = ["count_needed_circuits", "suggest_node_count", "find_rack_path"]

# More circuits than this are not suggested: not a limit of racks, only the end of the search.
_MAX_CIRCUITS = 12


def find_rack_path(plan: Plan, group: RackGroup) -> str:
    """The field that selects the racks of a group: for a pool, by default for all of them, or those of switches."""
    own = next((index for index, pool in enumerate(plan.spec.pools) if pool.name == group.pool and pool.rack), None)
    if own is not None:
        return f"pools[{own}].rack"
    return "facility.rack" if group.pool else "facility.management"


def suggest_node_count(
    plan: Plan, group: RackGroup, total: Quantity, limit: Quantity, empty: Fraction = Fraction(0)
) -> str:
    """How many nodes keep a rack within a limit, as a setting; empty if the rack is a product, or no node fits.

    ``total`` is the quantity of a full rack, ``empty`` the part that does not depend on nodes.
    """
    if group.limited_by == "product" or group.nodes_per_rack < 2:
        return ""
    each = (total.base - empty) / group.nodes_per_rack
    fits = int((limit.base - empty) // each) if each > 0 else 0
    return f"set {find_rack_path(plan, group)}.nodes: {fits}" if fits > 0 else ""


def count_needed_circuits(power: Power, circuits: Circuits, must_survive_loss: bool) -> int | None:
    """Circuits of that kind that carry ``power``, after a loss if it must be survived; None if no number does."""
    if circuits.circuit_power is None or (must_survive_loss and (circuits.paths or circuits.feeds) < 2):
        return None
    for count in range(circuits.count + 1, _MAX_CIRCUITS + 1):
        more = Circuits(count, circuits.feeds, circuits.circuit_power, circuits.paths)
        if circuits.circuit_power * (count - more.circuits_lost if must_survive_loss else count) >= power:
            return count
    return None
