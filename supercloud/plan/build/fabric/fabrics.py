"""Fabrics: adapters and switches found, the shape built, switches and cables counted."""

from __future__ import annotations

from ....catalog import Catalog, Switch
from ....catalog.machine import Adapter
from ....errors import UnknownName
from ....primitives.quantity import Rate
from ....spec import ClusterSpec, Fabric
from ....topology import Fabric as Wiring
from ....topology import TopologyError, torus
from ...model.plan import FabricPlan, PoolPlan, SwitchTier
from ..cabling.parts import Parts
from ..problems import Problems
from .joins import list_joined
from .port_owners import check_ports_taken_once
from .roles import adapter_of, is_routed, role_of
from .services import Others, services_of
from .speeds import compute_speeds
from .spine_counts import check_spines, select_spines
from .wiring import build, rack_nodes, with_room

__all__ = ["fabrics_of"]

_SWITCH_KIND = {"infiniband": "infiniband", "roce": "ethernet", "ethernet": "ethernet"}
_NOTHING = Others()
_CABLES = {"node-leaf": "node_leaf", "leaf-spine": "leaf_spine", "spine-core": "spine_core"}


def fabrics_of(
    spec: ClusterSpec, pools: tuple[PoolPlan, ...], catalog: Catalog, problems: Problems, others: Others = _NOTHING
) -> tuple[FabricPlan, ...]:
    """Every fabric that could be built; what forbids one is a problem at its path."""
    declared = {fabric.name for fabric in spec.fabrics}
    for index, pool in enumerate(spec.pools):
        for position, name in enumerate(pool.fabrics):
            if name not in declared:
                problems.unknown(f"pools[{index}].fabrics[{position}]", UnknownName("fabric", name, declared))
    for index, fabric in enumerate(spec.fabrics):
        _joins(spec, index, fabric, problems)
    check_ports_taken_once(spec, pools, problems)
    built: dict[int, FabricPlan] = {}
    # the management network joins everything else that has a plug for it, so it is built last
    for index in sorted(range(len(spec.fabrics)), key=lambda item: role_of(spec.fabrics[item]) == "management"):
        found = _fabric(
            spec.fabrics[index], f"fabrics[{index}]", spec, pools, tuple(built.values()), others, catalog, problems
        )  # fmt: skip
        if found is not None:
            built[index] = found
    for index, fabric in enumerate(spec.fabrics):
        _joined_is_built(spec, index, fabric, built, problems)
    return tuple(built[index] for index in sorted(built))


def _joins(spec: ClusterSpec, index: int, fabric: Fabric, problems: Problems) -> None:
    """Whether the network that one joins is there, is another one, and speaks the same."""
    if fabric.joins is None:
        return
    path = f"fabrics[{index}].joins.fabric"
    others = {item.name: item for item in spec.fabrics if item.name != fabric.name}
    other = others.get(fabric.joins.fabric)
    if fabric.joins.fabric == fabric.name:
        problems.error("fabric-joins", path, f"{fabric.name} joins itself", "name another network, or leave joins out")
    elif other is None:
        problems.unknown(path, UnknownName("fabric", fabric.joins.fabric, others))
    elif _is_cycle(way := list_joined(spec.fabrics, fabric.name), spec):
        problems.error("fabric-joins", path, f"{' joins '.join((*way, fabric.name))}: a cycle has no topmost network",
                       "leave joins out at the network that is to be the topmost one")  # fmt: skip
    elif _SWITCH_KIND.get(other.kind) != _SWITCH_KIND.get(fabric.kind):
        problems.error("fabric-joins", path, f"{fabric.name} is {fabric.kind}, {other.name} is {other.kind}: no cable "
                       "joins them", "join a network of the same kind")  # fmt: skip
    elif is_routed(fabric.kind, role_of(fabric)) != is_routed(other.kind, role_of(other)):
        routed, bridged = (fabric, other) if is_routed(fabric.kind, role_of(fabric)) else (other, fabric)
        problems.error("fabric-joins", path, f"{routed.name} is routed ({routed.kind}, role {role_of(routed)}) and "
                       f"{bridged.name} is bridged: the VLANs of one do not cross the other",
                       "join an in-band or management network")  # fmt: skip


def _is_cycle(way: list[str], spec: ClusterSpec) -> bool:
    """Whether the last network of a way joins the first."""
    last = next(item for item in spec.fabrics if item.name == way[-1])
    return last.joins is not None and last.joins.fabric == way[0]


def _joined_is_built(
    spec: ClusterSpec, index: int, fabric: Fabric, built: dict[int, FabricPlan], problems: Problems
) -> None:
    """Whether the network that one joins has switches: one that no pool uses is not built."""
    if fabric.joins is None or index not in built or spec.site.kind != "onprem":
        return
    for at, other in enumerate(spec.fabrics):
        if other.name != fabric.joins.fabric or other.name == fabric.name or (at in built and built[at].tiers):
            continue
        used = any(other.name in pool.fabrics for pool in spec.pools)
        if at not in built and used:
            continue  # why it could not be built is said at its own place
        why = "is a torus and has no switches" if at in built else "is in no pool's fabrics, so it is not built"
        problems.error("fabric-joins", f"fabrics[{index}].joins.fabric",
                       f"{fabric.name} joins {other.name}, which {why}",
                       f"add {other.name} to the fabrics of a pool, or join another network")  # fmt: skip


def _fabric(
    fabric: Fabric,
    path: str,
    spec: ClusterSpec,
    pools: tuple[PoolPlan, ...],
    built: tuple[FabricPlan, ...],
    others: Others,
    catalog: Catalog,
    problems: Problems,
) -> FabricPlan | None:
    members = tuple(pool for pool in pools if fabric.name in pool.fabrics)
    adapter = _adapter(fabric, path, members, catalog, problems)
    if not members or adapter is None:
        return None
    names = tuple(pool.name for pool in members)
    planes = fabric.planes or adapter.planes
    if adapter.count % planes:
        problems.error(
            "fabric-planes",
            f"{path}.planes",
            f"{adapter.count} links per node do not spread evenly over {planes} planes",
            f"take a divisor of {adapter.count}",
        )
        return None
    rails = fabric.rails or adapter.count // planes
    if rails * planes > adapter.count:
        problems.error(
            "fabric-adapters",
            f"{path}.rails",
            f"{rails} rails in {planes} plane{'s' * (planes > 1)} take {rails * planes} links of a node, "
            f"{rails * planes - adapter.count} more than the {adapter.count} it has",
            f"set rails: {adapter.count // planes}, or leave it out",
        )
        return None
    if spec.site.kind != "onprem":
        return FabricPlan(fabric.name, fabric.kind, "managed", names, adapter.speed, rails, planes, (), {}, None)
    if fabric.shape == "torus":
        return _torus(fabric, path, names, sum(pool.nodes for pool in members), adapter, problems)
    if fabric.leaf_rails and fabric.shape not in (None, "rail-optimized"):
        problems.error("fabric-rails", f"{path}.leaf_rails", f"a leaf of a {fabric.shape} has all rails of its nodes",
                       "remove leaf_rails, or set shape: rail-optimized")  # fmt: skip
        return None
    switches = _switches(fabric, path, catalog, problems)
    if switches is None:
        return None
    speeds = compute_speeds(fabric, path, _adapters(fabric, members, catalog), switches, problems)
    if speeds is None:
        return None
    speed = speeds.ports
    radix = tuple(switch.radix(speed) or 0 for switch in switches)
    rack = rack_nodes(fabric, path, rails, spec, problems) if fabric.shape == "clos" else 0
    if rack is None:
        return None
    nodes = sum(pool.nodes for pool in members)
    for key in ("nodes", "uplinks", "peers"):
        wanted = getattr(fabric.cabling, key) if fabric.cabling else None
        if wanted and wanted not in catalog.names("cables"):
            problems.unknown(f"{path}.cabling.{key}", UnknownName("cable", wanted, catalog.names("cables")))
    services = services_of(fabric, path, spec, speed, built, others, catalog, problems)
    cage = max(1, radix[0] // switches[0].cages) if switches[0].cages else 1

    links = fabric.exits + dict(others.joining).get(fabric.name, 0)

    def wired(declared: Fabric) -> Wiring:
        return with_room(
            lambda spines, least: build(
                declared, role_of(fabric), nodes, rails, planes, radix, cage, members[0].machine, rack, services,
                speed, others.rack_nodes, spines, least, links,
            ), declared, links,
        )  # fmt: skip

    try:
        wiring = wired(fabric)
    except TopologyError as error:
        problems.error("fabric-fit", path, error.problem, select_spines(wired, fabric, links) or error.hint)
        return None
    check_spines(wired, fabric, path, wiring, links, problems)
    tiers = tuple(
        SwitchTier(tier.name, switch, tier.count, tier.radix)  # type: ignore[arg-type]
        for tier, switch in zip(wiring.tiers, switches, strict=False)
    )
    cables = {key: wiring.link_counts.get(name, 0) for name, key in _CABLES.items()}
    cables["manager"] = wiring.link_counts.get("reserved-leaf", 0)  # and of every other service
    unit_nodes = next((level.size for level in wiring.levels if level.name in ("su", "unit", "rack")), None)
    return FabricPlan(
        fabric.name, fabric.kind, wiring.shape, names, speed, rails, planes, tiers, cables, unit_nodes, wiring,
        role=role_of(fabric), services=services, parts=Parts(catalog),
        pool_speeds=speeds.pools,
    )  # fmt: skip


def _adapter(
    fabric: Fabric, path: str, members: tuple[PoolPlan, ...], catalog: Catalog, problems: Problems
) -> Adapter | None:
    """The adapters the machines have for this fabric: the same number in all of them."""
    found: Adapter | None = None
    slowest = _slowest(fabric, catalog)
    for pool in members:
        fitting = adapter_of(pool.machine, role_of(fabric), fabric.kind, slowest)
        if fitting is None:
            has = ", ".join(f"{item.role}: {item.count} × {item.speed} {item.kind}" for item in pool.machine.adapters)
            problems.error(
                "fabric-adapters",
                path,
                f"{pool.machine.name} of pool {pool.name} has no {role_of(fabric)} adapter for {fabric.kind}"
                + (f" (it has {has})" if has else " (none is known)"),
                "set another kind or role, or take the pool out of this fabric",
            )
            return None
        links = (fitting.count, fitting.planes)
        if found and (found.count, found.planes) != links and not fabric.rails:
            problems.error(
                "fabric-adapters",
                path,
                f"pools have {found.count} and {links[0]} links per node; one fabric needs the same number",
                "declare a fabric for each, or set 'rails'",
            )
            return None
        found = min(found or fitting, fitting, key=lambda item: item.count)
    return found


def _adapters(fabric: Fabric, members: tuple[PoolPlan, ...], catalog: Catalog) -> dict[str, Adapter]:
    """Pool -> the adapters its machine has for this fabric."""
    slowest = _slowest(fabric, catalog)
    found = {pool.name: adapter_of(pool.machine, role_of(fabric), fabric.kind, slowest) for pool in members}
    return {name: item for name, item in found.items() if item}


def _slowest(fabric: Fabric, catalog: Catalog) -> Rate | None:
    """The slowest ports of the leaves, which are those for management where a switch has several kinds."""
    name = fabric.switches.leaf if fabric.switches else fabric.switch
    known = catalog.switch(name).modes if name in catalog.names("switches") else ()
    return min((mode.speed for mode in known), default=None)


def _switches(fabric: Fabric, path: str, catalog: Catalog, problems: Problems) -> tuple[Switch, ...] | None:
    if fabric.switches:
        of = fabric.switches
        names = {
            "switches.leaf": of.leaf,
            "switches.spine": of.spine or of.leaf,
            "switches.core": of.core or of.spine or of.leaf,
        }
    elif fabric.switch:
        names = {"switch": fabric.switch, "": fabric.switch, " ": fabric.switch}
    else:
        problems.error(
            "fabric-switch",
            path,
            "'switch' is missing: on-prem, a fabric is built of switches",
            "name one: supercloud catalog switches",
        )
        return None
    found: list[Switch] = []
    for key, name in names.items():
        try:
            switch = catalog.switch(name)
        except UnknownName as error:
            if key.strip():
                problems.unknown(f"{path}.{key}", error)
            continue
        if switch.kind != _SWITCH_KIND.get(fabric.kind):
            if key.strip():
                problems.error(
                    "fabric-switch",
                    f"{path}.{key}",
                    f"{switch.name} is a switch for {switch.kind}, the fabric is {fabric.kind}",
                    "take another switch or kind",
                )
            continue
        found.append(switch)
    return tuple(found) if len(found) == len(names) else None


def _torus(
    fabric: Fabric, path: str, names: tuple[str, ...], nodes: int, adapter: Adapter, problems: Problems
) -> FabricPlan | None:
    if fabric.dims is None:
        problems.error("fabric-dims", path, "'dims' is missing: a torus has two or three", "such as dims: [4, 4, 8]")
        return None
    try:
        wiring = torus(fabric.dims)
    except TopologyError as error:
        problems.error("fabric-dims", f"{path}.dims", error.problem, error.hint)
        return None
    if wiring.nodes != nodes:
        shape = " × ".join(map(str, fabric.dims))
        problems.error(
            "fabric-dims",
            f"{path}.dims",
            f"{shape} = {wiring.nodes} places for {nodes} nodes",
            "a torus is full: change the dimensions or the number of nodes",
        )
        return None
    cables = {
        "node_leaf": 0,
        "leaf_spine": 0,
        "spine_core": 0,
        "manager": 0,
        "node_node": sum(wiring.link_counts.values()),
    }
    return FabricPlan(
        fabric.name, fabric.kind, "torus", names, adapter.speed, len(fabric.dims), 1, (), cables, None, wiring
    )
