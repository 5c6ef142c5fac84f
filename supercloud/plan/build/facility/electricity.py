"""Power of the hall: circuits of each rack, load of feeds after a loss, losses, load swings."""

from __future__ import annotations

from typing import TypeVar

from ....catalog import Catalog, Pdu, PowerShelf, Ups
from ....catalog.fact import CatalogEntry
from ....errors import UnknownNameError
from ....facility import (
    SCHEMES,
    Circuits,
    Feeds,
    compute_circuit_power,
    compute_losses,
    count_paths,
    interpolate_efficiency,
)
from ....primitives.quantity import Power
from ....spec.facility import Facility, PowerSupply
from ...model.hall import PowerPlan
from ...model.problems import Problems

__all__ = [
    "compute_carried_power",
    "build_circuits",
    "count_feeds",
    "find_fact",
    "build_power_plan",
    "find_power_shelf",
]

_E = TypeVar("_E", bound=CatalogEntry)
_NO_POWER = Power(0, "W")
_USUAL_FEEDS = 2


def find_fact(model: type[_E], name: str | None, path: str, catalog: Catalog, problems: Problems) -> _E | None:
    """Look up an optional fact of the catalog; None with a problem if the name is unknown."""
    if name is None:
        return None
    try:
        return catalog.get(model, name)
    except UnknownNameError as error:
        problems.add_unknown_name(path, error)
        return None


def find_power_shelf(facility: Facility, catalog: Catalog, problems: Problems) -> PowerShelf | None:
    """The declared power shelf."""
    return find_fact(PowerShelf, facility.power.shelf, "facility.power.shelf", catalog, problems)


def count_feeds(supply: PowerSupply) -> int:
    """Number of feeds: as declared, default the minimum of the scheme."""
    scheme = SCHEMES[supply.redundancy]
    return max(_USUAL_FEEDS, scheme.min_feeds) if supply.feeds is None else supply.feeds


def build_circuits(
    pdu_name: str | None,
    pdus: int | None,
    path: str,
    facility: Facility,
    catalog: Catalog,
    problems: Problems,
    power: Power | None = None,
) -> tuple[Circuits, str] | None:
    """Circuits of a rack and the name of their distribution unit; None if none are declared.

    If their number is not declared, a rack has one for each feed; with a named unit, it has the minimum that carries
    its ``power`` after the loss that the scheme must survive, on at least two feeds.
    """
    supply = facility.power
    if pdu_name is None and pdus is None and supply.circuit is None:
        return None
    pdu = find_fact(Pdu, pdu_name, f"{path}.pdu", catalog, problems)
    feeds, each = count_feeds(supply), _compute_circuit_capacity(supply, pdu)
    count = pdus or (_count_needed_circuits(power, each, feeds, supply.redundancy) if pdu and power and each else feeds)
    return Circuits(count, feeds, each, count_paths(supply.redundancy, feeds)), pdu.name if pdu else ""


# Maximum number of circuits of a rack; racks that need more are reported by the check of circuits.
_MAX_CIRCUITS = 12


def _count_needed_circuits(power: Power, circuit_capacity: Power, feeds: int, scheme: str) -> int:
    numbers = range(min(feeds, 2), _MAX_CIRCUITS + 1)
    paths = count_paths(scheme, feeds)
    carry = (
        count
        for count in numbers
        if (compute_carried_power(Circuits(count, feeds, circuit_capacity, paths), scheme) or _NO_POWER) >= power
    )
    return next(carry, feeds)


def compute_carried_power(circuits: Circuits, scheme: str) -> Power | None:
    """Continuous power of a rack's circuits in the worst case that the scheme must survive; None without ratings."""
    return (
        circuits.power_after_loss if SCHEMES[scheme].can_survive_loss and circuits.feeds > 1 else circuits.total_power
    )


def _compute_circuit_capacity(supply: PowerSupply, pdu: Pdu | None) -> Power | None:
    """Continuous power of one circuit: the minimum of breaker and distribution unit, where known."""
    known = []
    if supply.voltage and supply.circuit and supply.voltage.base > 0 and supply.circuit.base > 0:
        known.append(compute_circuit_power(supply.voltage, supply.circuit, supply.power_factor, supply.continuous))
    if pdu and pdu.power:
        known.append(pdu.power)
    elif pdu and pdu.voltage and pdu.current:
        phases = pdu.phases or 3
        known.append(compute_circuit_power(pdu.voltage, pdu.current, supply.power_factor, supply.continuous, phases))
    return min(known, default=None)


def build_power_plan(
    facility: Facility, it_power: Power, node_power: Power, catalog: Catalog, problems: Problems
) -> PowerPlan:
    """Power distribution from the meter to the racks: a UPS feeds the distribution, which feeds the racks.

    The UPS has its efficiency at the load of a feed, if both are known, else the worst of its range.
    """
    supply = facility.power
    ups = find_fact(Ups, supply.ups, "facility.power.ups", catalog, problems)
    distribution = compute_losses(it_power, supply.distribution) if supply.distribution else _NO_POWER
    feeds = Feeds(count_feeds(supply), supply.redundancy, it_power, supply.feed)
    efficiency = ups.efficiency_from if ups else None
    if ups and feeds.capacity and feeds.capacity.base > 0:
        points = [(point.load, point.efficiency) for point in ups.points]
        efficiency = interpolate_efficiency(points, float(feeds.feed_load.base / feeds.capacity.base)) or efficiency
    return PowerPlan(
        feeds=feeds,
        ups=ups,
        distribution_loss=distribution,
        ups_loss=compute_losses(it_power + distribution, efficiency) if efficiency else _NO_POWER,
        load_swing=node_power * supply.swing if supply.swing is not None else None,
        row_limit=supply.row,
        swing_limit=supply.swing_limit,
    )
