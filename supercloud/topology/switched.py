"""What all switched shapes share: from nodes on leaves and a layout of the tiers above to the whole graph."""

from __future__ import annotations

from collections.abc import Callable

from .domains import Level
from .errors import TopologyError
from .graph import Axis, Fabric, Tier
from .links import LinkGroup, NodeLinks, TierLinks
from .reserved import Reserved, ReservedLinks, ReservedPorts, asks_of, check_reserved
from .tiers import Layout, Radix, Units, Upper, most_down, per_tier, ports_up


def leaf_ports(
    radix: int,
    oversubscription: float,
    *,
    down: int | None,
    uplinks: int | None,
    step: int,
    wanted: int | None = None,
    alone: bool = False,
) -> tuple[int, int]:
    """Ports down and up of a leaf: those given, else as many down as fit, a multiple of `step`, `wanted` at most.

    A leaf `alone` has nothing above it and no uplinks. Raises TopologyError if the radix is too small.
    """
    if alone:
        uplinks = 0
    if down is None:
        most = most_down(radix, oversubscription) if uplinks is None else radix - uplinks
        down = max(0, min(most, wanted or most) // step * step)
    if uplinks is None:
        uplinks = ports_up(down, oversubscription)
    if down < step or (uplinks < 1 and not alone) or down + uplinks > radix:
        raise TopologyError(
            f"a leaf of {radix} ports cannot have {down} ports down (at least {step}) and {uplinks} up",
            f"take a radix of {max(down, step) + uplinks} or more, or other ports down and up",
        )
    return down, uplinks


def check_fit(
    nodes: int,
    nics: int,
    unit: int,
    units: Units,
    upper: Upper,
    radix: Radix,
    limit: Callable[[int, float], int] | None = None,
    *alternatives: str,
) -> None:
    """Refuse what the tiers cannot join, with the numbers and what would fit.

    `unit` is the nodes of a unit; `limit` the most nodes at another radix and another leaf oversubscription, None
    where the leaf is given by hand.
    """
    tiers = upper.choose_tiers(units)
    most = upper.max_units(tiers, units)
    if units.count <= most:
        return
    hints = [f"{most * unit} nodes fit" if most else f"not even one unit of {unit} nodes fits"]
    leaf, spine, core = per_tier(radix)
    one_size = leaf == spine == core
    if limit is not None and one_size:
        larger = next((r for r in range(leaf + 1, 1025) if limit(r, 1.0) >= nodes), None)
        if larger is not None:
            hints.append(f"{nodes} need a radix of {larger}")
            if larger <= 2 * leaf:
                hints.append(f"or 2 planes with every port split in two (radix {2 * leaf})")
        ratio = next((o for o in range(2, 17) if limit(leaf, o) >= nodes), None)
        if ratio is not None:
            hints.append(f"or leaves oversubscribed {ratio}:1")
    if tiers < 3:
        hints.append(f"or allow {tiers + 1} tiers")
    size = f"radix {leaf}" if one_size else f"radix {leaf} (leaf), {spine} (spine), {core} (core)"
    reason = f"which join at most {most * unit * nics} ports" if most else upper.describe_shortage(tiers, units)
    raise TopologyError(
        f"{nodes} nodes with {nics} ports each, {nodes * nics} ports on {units.total} leaves, do not fit "
        f"{tiers} tier{'s' * (tiers > 1)} of {size}{', ' if most else ': '}{reason}",
        ", ".join([*hints, *alternatives]),
    )


def assemble(
    shape: str,
    hosts: NodeLinks,
    layout: Layout,
    *,
    radix: Radix,
    down: int,
    leaf_axes: tuple[Axis, ...],
    unit_name: str,
    rails: int = 1,
    reserved: Reserved = 0,
    cage: int = 1,
    peers: int = 0,
    cross_rail_hops: int | None = 1,
    rails_per_leaf: int = 1,
) -> Fabric:
    """The graph of nodes on leaves under the tiers of a layout.

    Of several leaves each keeps the `peers` ports after those for nodes; a single leaf has no other one. Raises
    TopologyError where they do not fit beside nodes and uplinks, or reserved links find no port.
    """
    leaf_radix, spine_radix, core_radix = per_tier(radix)
    units, spines, planes = layout.units, layout.spines, hosts.planes
    peers = peers if units.total * planes > 1 else 0
    if down + units.uplinks + peers > leaf_radix:
        raise TopologyError(
            f"a leaf of {leaf_radix} ports cannot have {down} ports down, {units.uplinks} up and {peers} to the other "
            "leaf of its pair",
            _describe_smaller_leaves(leaf_radix, down, units.uplinks, peers),
        )
    plane = Axis("plane", planes)
    tiers = [Tier("leaf", (plane, *leaf_axes), leaf_radix, down, units.uplinks)]
    groups: list[LinkGroup] = [hosts]
    if asks := asks_of(reserved):
        ports = ReservedPorts(hosts, units.count, asks, leaf_radix - units.uplinks, cage, range(down, down + peers))
        check_reserved(ports)
        groups.append(ReservedLinks("reserved", "leaf", ports, planes, units.total))
    if layout.tiers > 1:
        pods = (Axis("rail", units.sections),) * (units.sections > 1)
        pods += (Axis("pod", layout.section_pods),) * (layout.tiers > 2)
        axes = (plane, *pods, Axis("spine", spines))
        tiers.append(Tier("spine", axes, spine_radix, layout.spine_down, layout.spine_up))
        leaf_spine = TierLinks(
            "leaf",
            "spine",
            planes=planes,
            per_plane=units.total,
            uplinks=units.uplinks,
            first_port=leaf_radix - units.uplinks,
            section=units.count * units.leaves,
            size=layout.pod_units * units.leaves,
            strided=False,
            width=spines,
        )
        groups.append(leaf_spine)
    if layout.tiers > 2:
        axes = (plane, Axis("group", spines), Axis("core", layout.cores))
        tiers.append(Tier("core", axes, core_radix, layout.pods * layout.spine_up // layout.cores, 0))
        spine_core = TierLinks(
            "spine",
            "core",
            planes=planes,
            per_plane=layout.pods * spines,
            uplinks=layout.spine_up,
            first_port=spine_radix - layout.spine_up,
            section=layout.pods * spines,
            size=spines,
            strided=True,
            width=layout.cores,
        )
        groups.append(spine_core)
    levels = _levels(hosts, layout, unit_name)
    return Fabric(
        shape=shape,
        nodes=hosts.nodes,
        node_ports=hosts.nics * planes,
        planes=planes,
        rails=rails,
        tiers=tuple(tiers),
        link_groups=tuple(groups),
        levels=levels,
        bisection=min([1.0, *(level.share for level in levels[:-1] if level.count > 1)]),
        cross_rail_hops=cross_rail_hops,
        rails_per_leaf=rails_per_leaf,
    )


def _describe_smaller_leaves(radix: int, down: int, up: int, peers: int) -> str:
    """Each number of ports that fits beside the two others, if there is one."""
    rest = {"up (leaf_up)": radix - down - peers, "down (leaf_down)": radix - up - peers,
            "to the other leaf (peer_links)": radix - down - up}  # fmt: skip
    able = [f"{ports} {where}" for where, ports in rest.items() if ports > 0]
    return f"take at most {', or '.join(able)}" if able else "take larger leaves, or fewer links to the other leaf"


def _levels(hosts: NodeLinks, layout: Layout, unit_name: str) -> tuple[Level, ...]:
    """Leaf-set, unit, pod and fabric, innermost first; a level that is the next one by construction is left out."""
    nodes, units, pod = hosts.nodes, layout.units, layout.pod_units * hosts.unit
    blocks = -(-hosts.unit // hosts.block)
    levels: list[Level] = []
    if blocks > 1:
        share = hosts.sides * units.uplinks / (hosts.block * hosts.nics)
        levels.append(Level("leaf-set", nodes, hosts.block, 1, share, hosts.unit))
    share = blocks * hosts.sides * units.uplinks / (hosts.unit * hosts.nics)
    out_of_pod = min(share, units.sections * layout.spines * layout.spine_up / (pod * hosts.nics))
    unit_is_pod = layout.tiers == 3 and layout.pod_units == 1
    levels.append(Level(unit_name, nodes, hosts.unit, 1 if blocks == 1 else 3, out_of_pod if unit_is_pod else share))
    if layout.tiers == 3 and not unit_is_pod:
        levels.append(Level("pod", nodes, pod, 3, out_of_pod))
    return (*levels, Level("fabric", nodes, nodes, 2 * layout.tiers - 1))
