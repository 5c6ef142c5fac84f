"""Fabrics: selection of adapters and switches, shape, numbers of switches and cables."""

from __future__ import annotations

from dataclasses import replace

from ....catalog import Catalog, Switch
from ....catalog.machine import Adapter
from ....errors import UnknownNameError
from ....spec import ClusterSpec, Fabric
from ....topology import Fabric as Wiring
from ....topology import TopologyError, build_torus
from ...model.plan import FabricPlan, PoolPlan, SwitchTier
from ...model.problems import Problems
from .cabling_parts import CablingParts
from .leaf_rules import WiringRequest
from .pool_adapters import find_common_adapter, find_pool_adapters, with_own_links
from .port_owners import check_port_conflicts
from .roles import get_fabric_role, is_routed
from .services import AttachedEquipment, FabricContext, build_services
from .speeds import compute_speeds
from .spine_counts import check_spines, select_spines
from .subnet import build_subnet_manager
from .switches import SWITCH_KINDS, find_switches
from .upstream import list_upstream
from .wiring import build_wiring, build_with_free_ports, find_rack_nodes

__all__ = ["build_fabrics"]

_NO_EQUIPMENT = AttachedEquipment()
# Settings that use switch ports.
_SWITCH_SETTINGS = ("external_links", "upstream", "manager", "peer_links", "services")
_CABLE_KEYS = {"node-leaf": "node_leaf", "leaf-spine": "leaf_spine", "spine-core": "spine_core"}


def build_fabrics(
    spec: ClusterSpec,
    pools: tuple[PoolPlan, ...],
    catalog: Catalog,
    problems: Problems,
    attached: AttachedEquipment = _NO_EQUIPMENT,
) -> tuple[FabricPlan, ...]:
    """Build every possible fabric; errors are problems at their path."""
    declared = {fabric.name for fabric in spec.fabrics}
    for index, pool in enumerate(spec.pools):
        for position, name in enumerate(pool.fabrics):
            if name not in declared:
                problems.add_unknown_name(
                    f"pools[{index}].fabrics[{position}]",
                    UnknownNameError("fabric", name, declared, f"declare it: fabrics: [{{name: {name}, kind: …}}]"),
                )
    for index, fabric in enumerate(spec.fabrics):
        _check_upstream(spec, index, fabric, problems)
    check_port_conflicts(spec, pools, problems)
    context = FabricContext(spec, catalog, problems, attached)
    built: dict[int, FabricPlan] = {}
    # the management network connects all other devices with a management port, so it is built last
    for index in sorted(range(len(spec.fabrics)), key=lambda item: get_fabric_role(spec.fabrics[item]) == "management"):
        found = _build_fabric(spec.fabrics[index], f"fabrics[{index}]", pools, tuple(built.values()), context)
        if found is not None:
            built[index] = _with_settings(found, index, spec.fabrics[index])
    for index, fabric in enumerate(spec.fabrics):
        _check_upstream_is_built(spec, index, fabric, built, problems)
    return tuple(built[index] for index in sorted(built))


def _with_settings(fabric: FabricPlan, position: int, declared: Fabric) -> FabricPlan:
    """The fabric with the settings that rendered files adopt as they are declared."""
    return replace(
        fabric,
        position=position,
        external_links=declared.external_links,
        peer_links=declared.peer_links,
        upstream_fabric=declared.upstream.fabric if declared.upstream else None,
        cable_spares=declared.cabling.spares if declared.cabling else 0.0,
        subnet_manager=build_subnet_manager(fabric, declared) if fabric.kind == "infiniband" and fabric.tiers else None,
    )


def _check_upstream(spec: ClusterSpec, index: int, fabric: Fabric, problems: Problems) -> None:
    """Check that the upstream fabric exists, is another one, and is of the same kind."""
    if fabric.upstream is None:
        return
    path = f"fabrics[{index}].upstream.fabric"
    others = {item.name: item for item in spec.fabrics if item.name != fabric.name}
    other = others.get(fabric.upstream.fabric)
    if fabric.upstream.fabric == fabric.name:
        problems.add_error(
            "fabric-upstream",
            path,
            f"{fabric.name} is its own upstream fabric",
            "specify another network, or omit upstream",
        )
    elif other is None:
        problems.add_unknown_name(path, UnknownNameError("fabric", fabric.upstream.fabric, others))
    elif _is_cycle(way := list_upstream(spec.fabrics, fabric.name), spec):
        problems.add_error(
            "fabric-upstream",
            path,
            f"{' -> '.join((*way, fabric.name))}: a cycle of upstream fabrics has no topmost network",
            "omit upstream at the network that should be the topmost one",
        )
    elif SWITCH_KINDS.get(other.kind) != SWITCH_KINDS.get(fabric.kind):
        problems.add_error(
            "fabric-upstream",
            path,
            f"{fabric.name} is {fabric.kind}, {other.name} is {other.kind}: no cable connects them",
            "specify a network of the same kind",
        )
    elif is_routed(fabric.kind, get_fabric_role(fabric)) != is_routed(other.kind, get_fabric_role(other)):
        routed, bridged = (fabric, other) if is_routed(fabric.kind, get_fabric_role(fabric)) else (other, fabric)
        problems.add_error(
            "fabric-upstream",
            path,
            f"{routed.name} is routed ({routed.kind}, role {get_fabric_role(routed)}) and "
            f"{bridged.name} is bridged: the VLANs of one do not cross the other",
            "specify an in-band or management network",
        )


def _is_cycle(way: list[str], spec: ClusterSpec) -> bool:
    """Whether the upstream fabric of the last network of a path is the first."""
    last = next(item for item in spec.fabrics if item.name == way[-1])
    return last.upstream is not None and last.upstream.fabric == way[0]


def _check_upstream_is_built(
    spec: ClusterSpec, index: int, fabric: Fabric, built: dict[int, FabricPlan], problems: Problems
) -> None:
    """Check that the upstream fabric has switches: a network that no pool uses is not built."""
    if fabric.upstream is None or index not in built or spec.site.kind != "onprem":
        return
    for at, other in enumerate(spec.fabrics):
        if other.name != fabric.upstream.fabric or other.name == fabric.name or (at in built and built[at].tiers):
            continue
        used = any(other.name in pool.fabrics for pool in spec.pools)
        if at not in built and used:
            continue  # the reason is reported at its own path
        why = "is a torus and has no switches" if at in built else "is in the fabrics of no pool, so it is not built"
        problems.add_error(
            "fabric-upstream",
            f"fabrics[{index}].upstream.fabric",
            f"{other.name}, the upstream fabric of {fabric.name}, {why}",
            f"add {other.name} to the fabrics of a pool, or specify another network",
        )


def _build_fabric(
    fabric: Fabric, path: str, pools: tuple[PoolPlan, ...], built: tuple[FabricPlan, ...], context: FabricContext
) -> FabricPlan | None:
    members = tuple(pool for pool in pools if fabric.name in pool.fabrics)
    # before the first problem that ends the build, so that unknown names of a fabric without pools are reported too
    switches = None
    if context.spec.site.kind == "onprem" and fabric.shape != "torus":
        switches = find_switches(fabric, path, context.catalog, context.problems)
        _check_cable_names(fabric, path, context)
    adapter = find_common_adapter(fabric, path, members, context)
    if not members or adapter is None:
        return None
    rails = _compute_rails(fabric, path, adapter, context.problems)
    if rails is None:
        return None
    base = FabricPlan(
        fabric.name,
        fabric.kind,
        "managed",
        tuple(pool.name for pool in members),
        adapter.speed,
        rails,
        fabric.planes or adapter.planes,
        (),
        {},
        None,
    )
    if context.spec.site.kind != "onprem":
        return with_own_links(base, find_pool_adapters(fabric, members, context.catalog), declared_rails=fabric.rails)
    if fabric.shape == "torus":
        return _build_torus_fabric(fabric, path, base, sum(pool.nodes for pool in members), context.problems)
    return _build_switched_fabric(fabric, path, base, members, built, switches, context)


def _compute_rails(fabric: Fabric, path: str, adapter: Adapter, problems: Problems) -> int | None:
    """Rails of a fabric in each plane; None if the adapters do not have the links for rails and planes."""
    planes = fabric.planes or adapter.planes
    if adapter.count % planes:
        problems.add_error(
            "fabric-planes",
            f"{path}.planes",
            f"{adapter.count} links per node cannot be spread evenly over {planes} planes",
            f"use a divisor of {adapter.count}",
        )
        return None
    if fabric.upstream and planes > 1:
        problems.add_error(
            "fabric-planes",
            f"{path}.planes",
            f"{fabric.name} has {planes} planes: leaves below {fabric.upstream.fabric} are switches of one network",
            "omit upstream",
        )
        return None
    rails = fabric.rails or adapter.count // planes
    if rails * planes > adapter.count:
        problems.add_error(
            "fabric-adapters",
            f"{path}.rails",
            f"{rails} rails in {planes} plane{'s' * (planes > 1)} need {rails * planes} links per node, "
            f"{rails * planes - adapter.count} more than the {adapter.count} it has",
            f"set rails: {adapter.count // planes}, or omit it",
        )
        return None
    return rails


def _build_switched_fabric(
    fabric: Fabric,
    path: str,
    base: FabricPlan,
    members: tuple[PoolPlan, ...],
    built: tuple[FabricPlan, ...],
    switches: tuple[Switch, ...] | None,
    context: FabricContext,
) -> FabricPlan | None:
    """The fabric with its switches, services and cables; None with a problem if it cannot be built."""
    problems = context.problems
    if fabric.leaf_rails and fabric.shape not in (None, "rail-optimized"):
        problems.add_error(
            "fabric-rails",
            f"{path}.leaf_rails",
            f"a leaf of a {fabric.shape} connects all rails of its nodes",
            "remove leaf_rails, or set shape: rail-optimized",
        )
        return None
    if switches is None:
        return None
    adapters = find_pool_adapters(fabric, members, context.catalog)
    speeds = compute_speeds(fabric, path, adapters, switches, problems)
    if speeds is None:
        return None
    rack_nodes = find_rack_nodes(fabric, path, base.rails, context.spec, problems) if fabric.shape == "clos" else 0
    if rack_nodes is None:
        return None
    services = build_services(fabric, path, speeds.port_speed, built, context)
    leaf, spine, core = (switch.find_radix(speeds.port_speed) or 0 for switch in switches)
    request = WiringRequest(
        role=get_fabric_role(fabric),
        nodes=sum(pool.nodes for pool in members),
        rails=base.rails,
        planes=base.planes,
        radix=(leaf, spine, core),
        cage_ports=max(1, leaf // switches[0].cages) if switches[0].cages else 1,
        machine=members[0].machine,
        clos_rack_nodes=rack_nodes,
        services=services,
        speed=speeds.port_speed,
        rack_nodes=context.attached.rack_nodes,
        links=fabric.external_links + dict(context.attached.downstream_links).get(fabric.name, 0),
    )
    wiring = _build_checked_wiring(fabric, path, request, problems)
    if wiring is None:
        return None
    wired = replace(base, speed=speeds.port_speed, pool_speeds=speeds.pool_speeds, role=request.role, services=services)
    return _add_wiring(wired, wiring, switches, CablingParts(context.catalog))


def _check_cable_names(fabric: Fabric, path: str, context: FabricContext) -> None:
    """Check that the catalog has the requested cables."""
    known = context.catalog.list_names("cables")
    for key in ("nodes", "uplinks", "peers"):
        wanted = getattr(fabric.cabling, key) if fabric.cabling else None
        if wanted and wanted not in known:
            context.problems.add_unknown_name(f"{path}.cabling.{key}", UnknownNameError("cable", wanted, known))


def _build_checked_wiring(fabric: Fabric, path: str, request: WiringRequest, problems: Problems) -> Wiring | None:
    """The wiring; None with a problem if the switches cannot connect everything."""

    def build_with(declared: Fabric) -> Wiring:
        return build_with_free_ports(
            lambda spines, min_units: build_wiring(declared, replace(request, spines=spines, min_units=min_units)),
            declared,
            request.links,
        )

    try:
        wiring = build_with(fabric)
    except TopologyError as error:
        hint = select_spines(build_with, fabric, request.links) or error.hint
        problems.add_error("fabric-fit", path, error.problem, hint)
        return None
    check_spines(build_with, fabric, path, wiring, request.links, problems)
    return wiring


def _add_wiring(base: FabricPlan, wiring: Wiring, switches: tuple[Switch, ...], parts: CablingParts) -> FabricPlan:
    """The fabric with its tiers and numbers of cables."""
    tiers = tuple(
        SwitchTier(tier.name, switch, tier.count, tier.radix)  # type: ignore[arg-type]
        for tier, switch in zip(wiring.tiers, switches, strict=False)
    )
    cables = {key: wiring.link_counts.get(name, 0) for name, key in _CABLE_KEYS.items()}
    cables["manager"] = wiring.link_counts.get("reserved-leaf", 0)  # includes all other services
    unit_nodes = next((level.size for level in wiring.levels if level.name in ("su", "unit", "rack")), None)
    return replace(
        base,
        shape=wiring.shape,
        tiers=tiers,
        link_counts=cables,
        unit_nodes=unit_nodes,
        wiring=wiring,
        cabling_parts=parts,
    )


def _build_torus_fabric(
    fabric: Fabric, path: str, base: FabricPlan, nodes: int, problems: Problems
) -> FabricPlan | None:
    unusable = [key for key in _SWITCH_SETTINGS if getattr(fabric, key)]
    for key in unusable:
        problems.add_error(
            "fabric-upstream" if key == "upstream" else "fabric-shape",
            f"{path}.{key}",
            f"{fabric.name} is a torus, which has no switches: {key} cannot be cabled",
            f"remove {key}, or use another shape",
        )
    if unusable:
        return None
    if fabric.dims is None:
        problems.add_error(
            "fabric-dims", path, "'dims' is required: a torus has two or three", "such as dims: [4, 4, 8]"
        )
        return None
    try:
        wiring = build_torus(fabric.dims)
    except TopologyError as error:
        problems.add_error("fabric-dims", f"{path}.dims", error.problem, error.hint)
        return None
    if wiring.nodes != nodes:
        shape = " × ".join(map(str, fabric.dims))
        problems.add_error(
            "fabric-dims",
            f"{path}.dims",
            f"{shape} = {wiring.nodes} positions for {nodes} nodes",
            "all positions of a torus must be used: change the dimensions or the number of nodes",
        )
        return None
    cables = {
        "node_leaf": 0,
        "leaf_spine": 0,
        "spine_core": 0,
        "manager": 0,
        "node_node": sum(wiring.link_counts.values()),
    }
    return replace(base, shape="torus", rails=len(fabric.dims), planes=1, link_counts=cables, wiring=wiring)
