"""Power of the hall: circuits of each rack, feeds and what they carry after a loss, losses, swings."""

from __future__ import annotations

from typing import cast

from ....catalog import Catalog, Pdu, PowerShelf, Ups
from ....catalog.fact import Fact
from ....errors import UnknownName
from ....facility import SCHEMES, Circuits, Feeds, at_load, circuit_power, losses, paths_of
from ....primitives.quantity import Power
from ....spec.facility import Facility, PowerSupply
from ...model.hall import PowerPlan
from ..problems import Problems

__all__ = ["carried", "circuits_of", "feeds_of", "named", "power_of", "shelf_of"]

_NONE = Power(0, "W")


def named(kind: str, name: str | None, path: str, catalog: Catalog, problems: Problems) -> Fact | None:
    """Something of the catalog that the spec may name; None with a problem said where there is none of this name."""
    if name is None:
        return None
    try:
        return catalog.get(kind, name)
    except UnknownName as error:
        problems.unknown(path, error)
        return None


def shelf_of(facility: Facility, catalog: Catalog, problems: Problems) -> PowerShelf | None:
    """The declared power shelf."""
    shelf = named("power-shelves", facility.power.shelf, "facility.power.shelf", catalog, problems)
    return cast("PowerShelf | None", shelf)


def feeds_of(supply: PowerSupply) -> int:
    """How many feeds there are: as declared, or the least the scheme takes where nobody said."""
    scheme = SCHEMES[supply.redundancy]
    return supply.feeds if "feeds" in supply.model_fields_set else max(supply.feeds, scheme.least)


def circuits_of(
    pdu_name: str | None, pdus: int | None, path: str, facility: Facility, catalog: Catalog, problems: Problems,
    power: Power | None = None,
) -> tuple[Circuits, str] | None:  # fmt: skip
    """Circuits of a rack and the name of their distribution unit; None where nobody declared any.

    Where their number is not declared, a rack has one for each feed; but of a named unit it has as few as carry its
    ``power`` after the loss that the scheme must stand, on two feeds at least.
    """
    supply = facility.power
    if pdu_name is None and pdus is None and supply.circuit is None:
        return None
    pdu = cast("Pdu | None", named("pdus", pdu_name, f"{path}.pdu", catalog, problems))
    feeds, each = feeds_of(supply), _each(supply, pdu)
    count = pdus or (_enough(power, each, feeds, supply.redundancy) if pdu and power and each else feeds)
    return Circuits(count, feeds, each, paths_of(supply.redundancy, feeds)), pdu.name if pdu else ""


# A rack takes no more cords than this; what needs more is said where circuits are checked.
_MOST = 12


def _enough(power: Power, each: Power, feeds: int, scheme: str) -> int:
    numbers = range(min(feeds, 2), _MOST + 1)
    paths = paths_of(scheme, feeds)
    carry = (count for count in numbers if (carried(Circuits(count, feeds, each, paths), scheme) or _NONE) >= power)
    return next(carry, feeds)


def carried(circuits: Circuits, scheme: str) -> Power | None:
    """What the circuits of a rack carry in the worst case the scheme must stand; None where they are not rated."""
    return circuits.after_loss if SCHEMES[scheme].survives and circuits.feeds > 1 else circuits.total


def _each(supply: PowerSupply, pdu: Pdu | None) -> Power | None:
    """What one circuit carries: the least of the breaker and of the distribution unit, as far as they are known."""
    known = []
    if supply.voltage and supply.circuit and supply.voltage.base > 0 and supply.circuit.base > 0:
        known.append(circuit_power(supply.voltage, supply.circuit, supply.power_factor, supply.continuous))
    if pdu and pdu.power:
        known.append(pdu.power)
    elif pdu and pdu.voltage and pdu.current:
        phases = pdu.phases or 3
        known.append(circuit_power(pdu.voltage, pdu.current, supply.power_factor, supply.continuous, phases))
    return min(known, default=None)


def power_of(facility: Facility, it: Power, nodes: Power, catalog: Catalog, problems: Problems) -> PowerPlan:
    """From the meter to the racks: a UPS feeds the distribution, which feeds the racks.

    The UPS counts with its efficiency at the load of a feed, where both are known, else with the worst of its range.
    """
    supply = facility.power
    ups = cast("Ups | None", named("ups", supply.ups, "facility.power.ups", catalog, problems))
    distribution = losses(it, supply.distribution) if supply.distribution else _NONE
    feeds = Feeds(feeds_of(supply), supply.redundancy, it, supply.feed)
    efficiency = ups.efficiency_from if ups else None
    if ups and feeds.capacity and feeds.capacity.base > 0:
        points = [(point.load, point.efficiency) for point in ups.points]
        efficiency = at_load(points, float(feeds.share.base / feeds.capacity.base)) or efficiency
    return PowerPlan(
        feeds=feeds,
        ups=ups,
        distribution_loss=distribution,
        ups_loss=losses(it + distribution, efficiency) if efficiency else _NONE,
        swing=nodes * supply.swing if supply.swing is not None else None,
    )
