"""Size and number of leaves if the spec does not specify them: the rules of reference designs.

Storage (RA-11333-001 V11, storage fabric): a leaf has a port for each node of a scalable unit and the uplinks of the
machine's file, near 4:3; storage servers get as many uplinks as they have ports. Networks whose leaves have a number of
uplinks: the minimum number of leaves, with the nodes spread evenly. Management: one switch for the nodes of a number of
racks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from ....catalog import Machine
from ....catalog.machine import ScalableUnit
from ....primitives.quantity import Rate
from ....spec import Fabric
from ....topology import Fabric as Wiring
from ....topology import NoFreePortsError, TopologyError
from ....topology.reserved import PortRequest
from ...model.fabric import Service

__all__ = [
    "LeafRule",
    "WiringRequest",
    "build_port_requests",
    "build_grown",
    "select_leaf_rule",
    "count_max_switch_nodes",
]

# Maximum number of additional units that are tried: if these are not sufficient, no number is.
_MAX_EXTRA_UNITS = 4096


@dataclass(frozen=True, kw_only=True)
class WiringRequest:
    """What a fabric connects, and with which switches, apart from the settings of its declaration."""

    role: str
    """Role of the network: ``compute``, ``storage``, ``in-band`` or ``management``."""
    nodes: int
    """Nodes of all pools on the fabric."""
    rails: int
    """Ports of a node in a plane."""
    planes: int
    """Independent copies of the network."""
    radix: tuple[int, int, int]
    """Ports of a leaf, a spine and a core switch at the speed of the links."""
    cage_ports: int
    """Ports of a leaf that share a cage."""
    machine: Machine
    """The machine of the first pool."""
    clos_rack_nodes: int
    """Nodes under a top-of-rack switch; 0 for other shapes than a Clos."""
    services: tuple[Service, ...]
    """The users of leaf ports other than nodes."""
    speed: Rate
    """Speed of a leaf's ports."""
    rack_nodes: int | None
    """Nodes of a rack, if racks are known."""
    spines: int | None = None
    """Spines of a pod, instead of those of the declaration."""
    min_units: int | None = None
    """Minimum number of leaves of a fat-tree, or of units of rails, that are built."""
    links: int = 0
    """Further links on the topmost switches of all planes."""

    @property
    def domain_nodes(self) -> int:
        """Nodes of a scale-up domain, which share leaves on compute fabrics, as these carry the traffic of jobs."""
        return self.machine.domain_nodes if self.role == "compute" else 1


@dataclass(frozen=True)
class LeafRule:
    """The decisions of a rule; None leaves them to the rule of the shape."""

    unit_nodes: int | None = None
    down: int | None = None
    uplinks: int | None = None
    min_units: int | None = None
    """Minimum number built, so that there are uplinks for the non-blocking services."""


def build_port_requests(services: Sequence[Service], planes: int, cage_ports: int) -> tuple[PortRequest, ...]:
    """The leaf ports of each service in one plane; split fibers do not share cages with whole ones."""
    return tuple(
        PortRequest(
            item.count_leaf_ports_per_plane(planes),
            needs_own_cage=cage_ports > 1 and (item.split > 1 or item.ports_per_cable > 1),
            ports_per_cage=item.ports_per_cable
            if item.ports_per_cable > 1
            else cage_ports
            if item.can_share_modules and item.split > 1
            else 1,
        )
        for item in services
    )


def select_leaf_rule(fabric: Fabric, request: WiringRequest) -> LeafRule:
    """The rule for a fabric whose leaves the spec does not fix. Raises TopologyError if no leaf is large enough."""
    if not _has_open_leaves(fabric, request.role):
        return LeafRule()
    is_requested = fabric.leaf_up or "oversubscription" in fabric.model_fields_set or fabric.tiers == 1
    if request.role == "storage" and not is_requested:
        unit = request.machine.scalable_unit
        if unit and unit.storage_uplinks and unit.radix in (None, request.radix[0]):
            return _build_storage_rule(unit, unit.storage_uplinks, request)
    if fabric.leaf_up:
        requests = build_port_requests(request.services, request.planes, 1)
        return _select_even_rule(fabric, request.nodes, request.rails, request.radix[0], requests)
    return LeafRule()


def _has_open_leaves(fabric: Fabric, role: str) -> bool:
    """Whether a reference design may fix the leaves: none covers compute networks, or leaves that rails share."""
    if fabric.shape != "rail-optimized" or role == "compute":
        return False
    return not (fabric.su or fabric.leaf_down or (fabric.leaf_rails or 1) > 1)


def _build_storage_rule(unit: ScalableUnit, uplinks: int, request: WiringRequest) -> LeafRule:
    """The rule of the storage fabric's reference design, with uplinks for all of the storage servers' bandwidth."""
    full = sum(
        (item.links * item.speed.base for item in request.services if item.is_non_blocking and item.speed), Fraction(0)
    )
    wanted = Fraction(request.nodes * request.rails * uplinks, unit.nodes) + full / request.speed.base / request.planes
    units = max(-(-request.nodes // unit.nodes), ceil(wanted / (uplinks * request.rails)))
    return LeafRule(unit.nodes, unit.nodes, uplinks, units)


def _select_even_rule(fabric: Fabric, nodes: int, rails: int, radix: int, requests: Sequence[PortRequest]) -> LeafRule:
    up, other = fabric.leaf_up or 0, sum(ask.ports for ask in requests)
    for units in range(1, nodes + 1):
        unit = -(-nodes // units)
        if unit + up + fabric.peer_links + -(-other // (units * rails)) <= radix:
            return LeafRule(unit, unit, up)
    raise TopologyError(
        f"{up} uplinks, {fabric.peer_links} links to the other leaf and {other} links of services on {nodes * rails} "
        f"leaves use all {radix} ports, none is left for nodes",
        "use larger leaves, or fewer uplinks",
    )


def count_max_switch_nodes(reference_unit: ScalableUnit | None, rack_nodes: int | None) -> int | None:
    """Nodes under one management switch: those of the number of racks in the reference design."""
    racks = reference_unit.management_racks if reference_unit else None
    return racks * rack_nodes if racks and rack_nodes else None


def build_grown(build: Callable[[int | None], Wiring], min_units: int | None, can_grow: bool) -> Wiring:
    """The fabric with this number of units, or with more if its services need ports. Raises TopologyError."""
    try:
        return build(min_units)
    except NoFreePortsError as error:
        if not can_grow:
            raise
        first = error
    units = min_units or 1
    step = 1
    while step <= _MAX_EXTRA_UNITS:  # double until it fits, then find the minimum
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
