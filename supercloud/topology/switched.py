"""Common part of all switched shapes: from nodes on leaves and a layout of the tiers above to the whole graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

from .domains import Level
from .errors import TopologyError, require_at_least
from .graph import Axis, Fabric, Tier
from .links import LinkGroup, NodeLinks, TierLinks
from .reserved import PortReservation, ReservedLinks, ReservedPorts, check_reserved, to_port_requests
from .tiers import (
    LeafUnits,
    Oversubscription,
    Radix,
    TierLayout,
    UpperTiers,
    compute_max_down,
    compute_uplinks,
    expand_radix,
)

_MAX_TIERS = 3


@dataclass(frozen=True)
class SwitchedShape:
    """What is to be wired, for all switched shapes. None leaves a number to the rules of the shape."""

    nodes: int
    """Number of nodes."""
    _: KW_ONLY
    radix: Radix
    """Ports of a switch at link speed: one number, or those of a leaf, a spine and a core switch."""
    uplinks: int | None = None
    """Ports of a leaf to the tier above; the default follows from the oversubscription."""
    planes: int = 1
    """Independent copies of the network. All other counts are those of one plane."""
    tiers: int | None = None
    """1 (leaves only), 2 or 3; the default is the minimum."""
    spines: int | None = None
    """Spines of a pod; the default follows from the uplinks."""
    oversubscription: Oversubscription = 1.0
    """Ports down per port up of a leaf, or of a leaf and a spine."""
    reserved: PortReservation = 0
    """Leaf ports for devices other than nodes, which get separate links."""
    cage_ports: int = 1
    """Neighboring ports of a switch that share a cage, for requests that need cages."""
    peer_ports: int = 0
    """Ports of each of several leaves for links to the other leaf of its pair."""

    def require_valid_counts(self) -> None:
        """Raise TopologyError for a count below its minimum, of those that all shapes have."""
        require_at_least(1, nodes=self.nodes, uplinks=self.uplinks, planes=self.planes, tiers=self.tiers)
        require_at_least(1, cage=self.cage_ports)
        require_at_least(0, peers=self.peer_ports)


@dataclass(frozen=True)
class LeafTier:
    """The leaves of a shape and the rails on them."""

    down: int
    """Ports of a leaf for nodes."""
    axes: tuple[Axis, ...]
    """Position of a leaf in its plane, outermost axis first."""
    unit_name: str
    """Name of the level of locality that a unit of leaves forms."""
    rails: int = 1
    cross_rail_hops: int | None = 1
    """Switches between two rails of a node; None if no path joins them."""
    rails_per_leaf: int = 1


def compute_leaf_ports(
    radix: int,
    oversubscription: float,
    *,
    down: int | None,
    uplinks: int | None,
    multiple: int,
    max_down: int | None = None,
    is_alone: bool = False,
) -> tuple[int, int]:
    """Ports down and up of a leaf: the given ones, else as many down as fit, a multiple of `multiple` up to `max_down`.

    A leaf that `is_alone` has no tier above and no uplinks. Raises TopologyError if the radix is too small.
    """
    if is_alone:
        uplinks = 0
    if down is None:
        most = compute_max_down(radix, oversubscription) if uplinks is None else radix - uplinks
        down = max(0, min(most, max_down or most) // multiple * multiple)
    if uplinks is None:
        uplinks = compute_uplinks(down, oversubscription)
    if down < multiple or (uplinks < 1 and not is_alone) or down + uplinks > radix:
        raise TopologyError(
            f"a leaf of {radix} ports cannot have {down} ports down (at least {multiple}) and {uplinks} up",
            f"use a radix of {max(down, multiple) + uplinks} or more, or other ports down and up",
        )
    return down, uplinks


@dataclass(frozen=True, kw_only=True)
class FitContext:
    """A number of nodes, and the leaves and tiers that are to join them."""

    nodes: int
    nics: int
    """Ports of a node in a plane."""
    unit_nodes: int
    """Nodes of a unit of leaves."""
    units: LeafUnits
    upper_tiers: UpperTiers
    radix: Radix
    compute_max_nodes: Callable[[int, float], int] | None = None
    """Maximum number of nodes at another radix and another leaf oversubscription; None if the ports of a leaf are
    specified.
    """
    alternatives: Sequence[str] = ()
    """Other changes that would help, for the hint."""

    @cached_property
    def tiers(self) -> int:
        """The requested or the minimum number of tiers."""
        return self.upper_tiers.select_tier_count(self.units)

    @cached_property
    def max_units(self) -> int:
        """Maximum number of units that the tiers join."""
        return self.upper_tiers.compute_max_units(self.tiers, self.units)

    def require_fit(self) -> None:
        """Raise TopologyError if the tiers cannot join the nodes, with the values and numbers that would fit."""
        tiers, most = self.tiers, self.max_units
        if self.units.count <= most:
            return
        nodes, nics = self.nodes, self.nics
        leaf, spine, core = expand_radix(self.radix)
        size = f"radix {leaf}" if leaf == spine == core else f"radix {leaf} (leaf), {spine} (spine), {core} (core)"
        reason = (
            f", which join at most {most * self.unit_nodes * nics} ports"
            if most
            else f": {self.upper_tiers.describe_shortage(tiers, self.units)}"
        )
        raise TopologyError(
            f"{nodes} nodes with {nics} ports each, {nodes * nics} ports on {self.units.leaf_count} leaves, do not fit "
            f"{tiers} tier{'s' * (tiers > 1)} of {size}{reason}",
            ", ".join(self._list_hints()),
        )

    def _list_hints(self) -> list[str]:
        """What fits, and what would make the nodes fit."""
        most = self.max_units
        hints = [
            f"{most * self.unit_nodes} nodes fit" if most else f"not even one unit of {self.unit_nodes} nodes fits"
        ]
        leaf, spine, core = expand_radix(self.radix)
        if self.compute_max_nodes is not None and leaf == spine == core:
            hints += _list_port_hints(self.nodes, leaf, self.compute_max_nodes)
        if self.tiers < _MAX_TIERS:
            hints.append(f"or allow {self.tiers + 1} tiers")
        return [*hints, *self.alternatives]


def _list_port_hints(nodes: int, radix: int, compute_max_nodes: Callable[[int, float], int]) -> Iterator[str]:
    """The minimum radix and the minimum leaf oversubscription with which the nodes fit."""
    larger = next((number for number in range(radix + 1, 1025) if compute_max_nodes(number, 1.0) >= nodes), None)
    if larger is not None:
        yield f"{nodes} need a radix of {larger}"
        if larger <= 2 * radix:
            yield f"or use 2 planes with every port split in two (radix {2 * radix})"
    ratio = next((number for number in range(2, 17) if compute_max_nodes(radix, number) >= nodes), None)
    if ratio is not None:
        yield f"or leaves oversubscribed {ratio}:1"


def assemble_fabric(
    name: str, shape: SwitchedShape, node_links: NodeLinks, layout: TierLayout, leaves: LeafTier
) -> Fabric:
    """Build the graph of nodes on leaves under the tiers of a layout.

    `name` is that of the shape. With several leaves, each keeps the `peer_ports` ports after those for nodes; a
    single leaf has no pair. Raises TopologyError if they do not fit in addition to nodes and uplinks, or if a
    reserved link has no port.
    """
    leaf_radix, spine_radix, core_radix = expand_radix(shape.radix)
    down, cage_ports = leaves.down, shape.cage_ports
    units, spines, planes = layout.units, layout.spines, node_links.planes
    peer_ports = shape.peer_ports if units.leaf_count * planes > 1 else 0
    if down + units.uplinks + peer_ports > leaf_radix:
        raise TopologyError(
            f"a leaf of {leaf_radix} ports cannot have {down} ports down, {units.uplinks} up and {peer_ports} to the "
            "other leaf of its pair",
            _describe_smaller_leaves(leaf_radix, down, units.uplinks, peer_ports),
        )
    plane = Axis("plane", planes)
    tiers = [Tier("leaf", (plane, *leaves.axes), leaf_radix, down, units.uplinks)]
    groups: list[LinkGroup] = [node_links]
    if asks := to_port_requests(shape.reserved):
        ports = ReservedPorts(
            node_links, units.count, asks, leaf_radix - units.uplinks, cage_ports, range(down, down + peer_ports)
        )
        check_reserved(ports)
        groups.append(ReservedLinks("reserved", "leaf", ports, planes, units.leaf_count))
    if layout.tiers > 1:
        pods = (Axis("rail", units.sections),) * (units.sections > 1)
        pods += (Axis("pod", layout.section_pods),) * (layout.tiers > 2)
        axes = (plane, *pods, Axis("spine", spines))
        tiers.append(Tier("spine", axes, spine_radix, layout.spine_down, layout.spine_up))
        leaf_spine = TierLinks(
            "leaf",
            "spine",
            planes=planes,
            switches_per_plane=units.leaf_count,
            uplinks=units.uplinks,
            first_port=leaf_radix - units.uplinks,
            section_switches=units.count * units.section_leaves,
            group_switches=layout.pod_units * units.section_leaves,
            is_strided=False,
            upper_switches=spines,
        )
        groups.append(leaf_spine)
    if layout.tiers > 2:
        axes = (plane, Axis("group", spines), Axis("core", layout.cores))
        tiers.append(Tier("core", axes, core_radix, layout.pods * layout.spine_up // layout.cores, 0))
        spine_core = TierLinks(
            "spine",
            "core",
            planes=planes,
            switches_per_plane=layout.pods * spines,
            uplinks=layout.spine_up,
            first_port=spine_radix - layout.spine_up,
            section_switches=layout.pods * spines,
            group_switches=spines,
            is_strided=True,
            upper_switches=layout.cores,
        )
        groups.append(spine_core)
    levels = _build_levels(node_links, layout, leaves.unit_name)
    return Fabric(
        shape=name,
        nodes=node_links.nodes,
        node_ports=node_links.nics * planes,
        planes=planes,
        rails=leaves.rails,
        tiers=tuple(tiers),
        link_groups=tuple(groups),
        levels=levels,
        bisection=min([1.0, *(level.uplink_ratio for level in levels[:-1] if level.count > 1)]),
        cross_rail_hops=leaves.cross_rail_hops,
        rails_per_leaf=leaves.rails_per_leaf,
    )


def _describe_smaller_leaves(radix: int, down: int, up: int, peer_ports: int) -> str:
    """List the maximum of each number of ports that fits with the two others, if any."""
    rest = {
        "up (leaf_up)": radix - down - peer_ports,
        "down (leaf_down)": radix - up - peer_ports,
        "to the other leaf (peer_links)": radix - down - up,
    }
    able = [f"{ports} {where}" for where, ports in rest.items() if ports > 0]
    return f"use at most {', or '.join(able)}" if able else "use larger leaves, or fewer links to the other leaf"


def _build_levels(node_links: NodeLinks, layout: TierLayout, unit_name: str) -> tuple[Level, ...]:
    """Leaf set, unit, pod and fabric, innermost first; a level that is the next one by construction is omitted."""
    nodes, units, pod = node_links.nodes, layout.units, layout.pod_units * node_links.unit_nodes
    blocks = -(-node_links.unit_nodes // node_links.block_nodes)
    levels: list[Level] = []
    if blocks > 1:
        share = node_links.leaves_per_block * units.uplinks / (node_links.block_nodes * node_links.nics)
        levels.append(Level("leaf-set", nodes, node_links.block_nodes, 1, share, node_links.unit_nodes))
    share = blocks * node_links.leaves_per_block * units.uplinks / (node_links.unit_nodes * node_links.nics)
    out_of_pod = min(share, units.sections * layout.spines * layout.spine_up / (pod * node_links.nics))
    unit_is_pod = layout.tiers == 3 and layout.pod_units == 1
    levels.append(
        Level(unit_name, nodes, node_links.unit_nodes, 1 if blocks == 1 else 3, out_of_pod if unit_is_pod else share)
    )
    if layout.tiers == 3 and not unit_is_pod:
        levels.append(Level("pod", nodes, pod, 3, out_of_pod))
    return (*levels, Level("fabric", nodes, nodes, 2 * layout.tiers - 1))
