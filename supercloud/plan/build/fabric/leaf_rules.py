"""How large a leaf is, and how many there are, where the spec does not say: the rules of reference designs.

Storage (RA-11333-001 V11, storage fabric): a leaf has a port for each node of a scalable unit and the uplinks that
the machine's file gives it, near 4:3; storage itself gets as many uplinks as it has ports. Networks whose leaves have
a number of uplinks: as few leaves as hold everything, the nodes spread evenly. Management: a switch for the nodes of
so many racks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from ....catalog.machine import ScalableUnit
from ....primitives.quantity import Rate
from ....spec import Fabric
from ....topology import Fabric as Wiring
from ....topology import TopologyError
from ....topology.reserved import Reserve
from ...model.fabric import Service

__all__ = ["Leaves", "asks_of", "grown", "leaves_of", "most_under_one"]

# More units than this are not looked for: what does not fit then does not fit at all.
_MOST_MORE = 4096


@dataclass(frozen=True)
class Leaves:
    """What a rule decides; None leaves it to the shape's own rule."""

    unit: int | None = None
    down: int | None = None
    uplinks: int | None = None
    units: int | None = None
    """Built at least, so that there are uplinks for the services that want all of theirs."""


def asks_of(services: Sequence[Service], planes: int, cage: int) -> tuple[Reserve, ...]:
    """The leaf ports of each service in one plane; split fibres keep away from whole ones where cages hold several."""
    return tuple(
        Reserve(
            item.per_plane(planes),
            apart=cage > 1 and (item.split > 1 or item.together > 1),
            together=item.together if item.together > 1 else cage if item.pack and item.split > 1 else 1,
        )
        for item in services
    )


def leaves_of(
    fabric: Fabric, role: str, nodes: int, rails: int, planes: int, radix: int, design: ScalableUnit | None,
    services: Sequence[Service], speed: Rate,
) -> Leaves:  # fmt: skip
    """The rule for a fabric whose leaves the spec leaves open. Raises TopologyError where no leaf is large enough."""
    shared = (fabric.leaf_rails or 1) > 1  # no reference design
    if fabric.shape != "rail-optimized" or role == "compute" or fabric.su or fabric.leaf_down or shared:
        return Leaves()
    asked = fabric.leaf_up or "oversubscription" in fabric.model_fields_set or fabric.tiers == 1
    if role == "storage" and design and design.storage_uplinks and design.radix in (None, radix) and not asked:
        up = design.storage_uplinks
        full = sum((item.links * item.speed.base for item in services if item.full and item.speed), Fraction(0))
        wanted = Fraction(nodes * rails * up, design.nodes) + full / speed.base / planes
        return Leaves(design.nodes, design.nodes, up, max(-(-nodes // design.nodes), ceil(wanted / (up * rails))))
    if fabric.leaf_up:
        return _even(fabric, nodes, rails, radix, asks_of(services, planes, 1))
    return Leaves()


def _even(fabric: Fabric, nodes: int, rails: int, radix: int, asks: Sequence[Reserve]) -> Leaves:
    up, other = fabric.leaf_up or 0, sum(ask.ports for ask in asks)
    for units in range(1, nodes + 1):
        unit = -(-nodes // units)
        if unit + up + fabric.peer_links + -(-other // (units * rails)) <= radix:
            return Leaves(unit, unit, up)
    raise TopologyError(
        f"{up} uplinks, {fabric.peer_links} links to the other leaf and {other} links of services on {nodes * rails} "
        f"leaves leave a node no port of {radix}",
        "take larger leaves, or fewer uplinks",
    )


def most_under_one(design: ScalableUnit | None, rack_nodes: int | None) -> int | None:
    """Nodes under one management switch: those of as many racks as the reference design gives it."""
    racks = design.management_racks if design else None
    return racks * rack_nodes if racks and rack_nodes else None


def grown(build: Callable[[int | None], Wiring], least: int | None, more: bool) -> Wiring:
    """The fabric with so many units, or with as many more as its services need ports. Raises TopologyError."""
    try:
        return build(least)
    except TopologyError as error:
        if not more or "free" not in error.problem:
            raise
        first = error
    units = least or 1
    step = 1
    while step <= _MOST_MORE:  # double until it fits, then the fewest that do
        try:
            build(units + step)
        except TopologyError:
            step *= 2
            continue
        low, high = units + step // 2, units + step
        while low < high:
            middle = (low + high) // 2
            try:
                build(middle)
                high = middle
            except TopologyError:
                low = middle + 1
        return build(high)
    raise first
