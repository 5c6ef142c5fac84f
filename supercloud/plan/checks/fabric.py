"""Checks of fabrics."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from ...catalog import Catalog, Switch
from ...errors import Finding
from ...primitives.quantity import Rate
from ...spec import ClusterSpec, Pool
from ...topology import Fabric as Wiring
from ...topology.links import NodeLinks
from ..build.fabric.roles import find_adapter, is_port_assumed
from ..build.fabric.spine_counts import TIERS_WITH_CORE
from ..build.fabric.uplinks import compute_even_uplinks
from ..model.plan import FabricPlan, Plan
from .rebuild import rebuild_fabric, replan, skip_in_trials


def _find_fabric_path(plan: Plan, name: str) -> str:
    return f"fabrics[{[fabric.name for fabric in plan.spec.fabrics].index(name)}]"


def fabric_unused(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A fabric that no pool uses."""
    used = {name for pool in plan.spec.pools for name in pool.fabrics}
    for index, fabric in enumerate(plan.spec.fabrics):
        if fabric.name not in used:
            yield Finding(
                "fabric-unused",
                "warning",
                f"fabrics[{index}]",
                f"no pool uses fabric {fabric.name}",
                "add it to 'fabrics' of a pool, or remove it",
            )


def fabric_rack_management(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Parts of rack products on the management switches within their rack, which are on no network of the plan."""
    joined = {name for fabric in plan.fabrics if fabric.role == "management" and fabric.tiers for name in fabric.pools}
    for index, pool in enumerate(plan.pools):
        group = next((item for item in (plan.facility.racks if plan.facility else ()) if item.pool == pool.name), None)
        product = pool.machine.rack
        if pool.name not in joined or product is None or group is None or not product.management_switches:
            continue
        parts = {"NVLink switch trays": product.switch_trays, "power shelves": product.power_shelves}
        text = " and ".join(f"{count * group.count} {name}" for name, count in parts.items() if count)
        yield Finding(
            "fabric-rack-management",
            "note",
            f"pools[{index}].machine",
            f"{text} of the {group.count} racks of {pool.name} are connected to the {product.management_switches} "
            "management switches that come with each rack: they are in no cable list and have no addresses in this "
            "plan",
            f"connect the {product.management_switches * group.count} switches of the racks by hand",
        )


def fabric_port_assumed(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Machines on a management network whose management port is not in the catalog."""
    for fabric in plan.fabrics:
        if fabric.role != "management" or not fabric.tiers:
            continue
        machines = [plan.get_pool(name).machine for name in fabric.pools] + [group.machine for group in plan.servers]
        names = sorted({item.name for item in machines if is_port_assumed(item, fabric.role, fabric.kind)})
        if names:
            yield Finding(
                "fabric-port-assumed",
                "note",
                _find_fabric_path(plan, fabric.name),
                f"unknown management port of {', '.join(names)}: counted as one of {fabric.speed} on RJ45",
                "add it to a catalog overlay (adapters, role: management)",
            )


def fabric_torus(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A torus on-prem: its links between nodes have no cables, addresses and host scripts in the plan."""
    for fabric in plan.fabrics:
        if plan.site.kind != "onprem" or fabric.shape != "torus" or not isinstance(fabric.wiring, Wiring):
            continue
        yield Finding(
            "fabric-torus",
            "warning",
            _find_fabric_path(plan, fabric.name),
            f"{sum(fabric.wiring.link_counts.values())} links of {fabric.name} connect nodes without switches: "
            "the plan has their number and the order of nodes only; their cables and transceivers are in no cable list "
            "and no bill of materials, and their ports have no addresses and no host scripts",
            "get cables and network settings from the vendor of the machines, and suppress this with a reason",
        )


def fabric_rails_disjoint(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Rails that are not connected to each other in the fabric: neither in spines nor by links between leaves."""
    paired = {item.name for item in plan.spec.fabrics if item.peer_links}
    for fabric in plan.fabrics:
        if not isinstance(fabric.wiring, Wiring) or fabric.name in paired:
            continue
        if fabric.wiring.has_disjoint_rails and fabric.rails > 1:
            yield Finding(
                "fabric-rails-disjoint",
                "note",
                _find_fabric_path(plan, fabric.name),
                f"the {fabric.rails} rails of "
                f"{fabric.name} are not connected to each other: traffic between them uses a node's scale-up links",
                "set pod: su to connect them in the spines",
            )


def fabric_uplinks_unused(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Leaves with dedicated uplink ports under separate spines: the spine links use ports that devices could use."""
    for index, declared in enumerate(plan.spec.fabrics):
        fabric = next((item for item in plan.fabrics if item.name == declared.name), None)
        if fabric is None or len(fabric.tiers) < 2 or declared.upstream or not fabric.tiers[0].switch.uplink_ports:
            continue
        leaf, spine = fabric.tiers[0], fabric.tiers[1]
        others = [item.name for item in plan.fabrics if item.role == "in-band" and item.tiers]
        yield Finding(
            "fabric-uplinks-unused",
            "warning",
            f"fabrics[{index}]",
            f"{spine.count} {spine.name} switches connect the {leaf.count} leaves of {fabric.name} by "
            f"{fabric.link_counts['leaf_spine']} links of {fabric.speed}; the {leaf.switch.uplink_ports} uplink "
            f"ports of each {leaf.switch.name} remain unused",
            f"set upstream: {{fabric: {others[0] if others else 'in-band'}, links: 2}}"
            + ("" if others else ", and declare that network"),
        )


def fabric_spines(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Far more spines than uplinks fill, because the declared uplinks of leaves spread evenly over no fewer."""
    for index, declared in enumerate(plan.spec.fabrics):
        fabric = next((item for item in plan.fabrics if item.name == declared.name), None)
        if fabric is None or not isinstance(fabric.wiring, Wiring) or len(fabric.tiers) != 2 or declared.spines:
            continue
        if not (declared.su or declared.leaf_down or declared.leaf_up):
            continue
        leaf, spine = fabric.wiring.tiers
        found = compute_even_uplinks(fabric.wiring, declared.peer_links)
        if found is None:
            continue
        changed = rebuild_fabric(plan, catalog, declared.model_copy(update={"leaf_up": found}))
        if changed and len(changed.tiers) == len(fabric.tiers) and 2 * changed.tiers[1].count <= spine.count:
            yield Finding(
                "fabric-spines",
                "warning",
                f"fabrics[{index}]",
                f"{leaf.up} uplinks of a leaf spread evenly over no fewer than {spine.count // fabric.planes} spines: "
                f"each of them has {spine.down} of {spine.radix} ports in use",
                f"set leaf_up: {found}, which takes {changed.tiers[1].count // fabric.planes} spines",
            )


def fabric_core_spines(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A declared number of spines under core switches that requires more switches than the default; ``tiers: 3`` states
    intended. If it requires more tiers too, ``fabric-tiers`` is the error.
    """
    refused = {item.path for item in plan.findings if item.check == "fabric-tiers"}
    for index, declared in enumerate(plan.spec.fabrics):
        fabric = next((item for item in plan.fabrics if item.name == declared.name), None)
        if (
            fabric is None
            or f"fabrics[{index}].spines" in refused
            or declared.spines is None
            or declared.tiers is not None
            or len(fabric.tiers) != TIERS_WITH_CORE
        ):
            continue
        usual = rebuild_fabric(plan, catalog, declared.model_copy(update={"spines": None}))
        switches, without = (sum(tier.count for tier in item.tiers) for item in (fabric, usual or fabric))
        if switches > without:
            yield Finding(
                "fabric-core-spines",
                "warning",
                f"fabrics[{index}].spines",
                f"{fabric.name} requires {switches} switches with spines: {declared.spines} in each pod, {without} "
                "without it",
                f"omit spines, or set tiers: {TIERS_WITH_CORE} if this is intended",
            )


def fabric_speed(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Links between accelerators, or to storage, that are slower than the adapters although no speed was set."""
    for index, declared in enumerate(plan.spec.fabrics):
        fabric = next((item for item in plan.fabrics if item.name == declared.name), None)
        if fabric is None or not fabric.tiers or fabric.speed is None or declared.speed:
            continue
        if fabric.role not in ("compute", "storage"):
            continue
        most = _compute_adapter_speed(plan, fabric, fabric.speed)
        if most <= fabric.speed:
            continue
        yield Finding(
            "fabric-speed",
            "warning",
            f"fabrics[{index}]",
            f"links of {fabric.name} run at {fabric.speed}, {most - fabric.speed} below the speed of the adapters "
            f"({most}): {' and '.join(sorted({tier.switch.name for tier in fabric.tiers}))} has no ports of {most}",
            f"use {_describe_switches(catalog, fabric.tiers[0].switch.kind, most)}"
            + ("" if fabric.pool_speeds else f", or set speed: {fabric.speed} if this is intended"),
        )


def _compute_adapter_speed(plan: Plan, fabric: FabricPlan, default: Rate) -> Rate:
    """The speed of the fastest adapter of the pools on a fabric."""
    found = [find_adapter(plan.get_pool(name).machine, fabric.role, fabric.kind) for name in fabric.pools]
    return max((item.speed for item in found if item), default=default)


def _describe_switches(catalog: Catalog, kind: str, speed: Rate) -> str:
    """A few switches with ports of this speed, for a hint."""
    names = [item.name for item in catalog.iter_entries(Switch) if item.kind == kind and item.find_radix(speed)]
    return _format_names(names)


def _format_names(names: list[str]) -> str:
    """A few of the names, for a hint."""
    return ", ".join(sorted(names)[:4]) if names else "switches with such ports"


@skip_in_trials
def fabric_split_domain(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Scale-up domains whose nodes are on different leaves, which also have nodes of other domains."""
    for fabric in plan.fabrics:
        for name, (split, domains) in _split_domains(plan, fabric).items():
            hosts = fabric.require_wiring().node_links
            size, domain = min(hosts.unit_nodes, hosts.block_nodes), plan.get_pool(name).machine.domain_nodes
            yield Finding(
                "fabric-split-domain",
                "warning",
                _find_fabric_path(plan, fabric.name),
                f"leaves have {size} nodes, scale-up domains of pool {name} have {domain}: {split} of "
                f"{domains} are split over leaves",
                _suggest_leaf_size(plan, catalog, fabric, name)
                if size % domain
                else _suggest_pool_order(plan, catalog, fabric, name),
            )


def _split_domains(plan: Plan, fabric: FabricPlan) -> dict[str, tuple[int, int]]:
    """Pool -> its scale-up domains that are split over leaves, and all its domains; pools without a split domain
    are omitted. Only leaves of compute fabrics keep domains together.
    """
    if not isinstance(fabric.wiring, Wiring) or fabric.role != "compute" or fabric.shape != "rail-optimized":
        return {}
    hosts = fabric.wiring.node_links
    found, first = {}, 0
    for name in fabric.pools:
        pool = plan.get_pool(name)
        domain = pool.machine.domain_nodes
        starts = range(first, first + pool.nodes, domain) if domain > 1 else range(0)
        split = [at for at in starts if _is_split(hosts, at, domain, first + pool.nodes)]
        if split:
            found[name] = (len(split), len(starts))
        first += pool.nodes
    return found


# Pools of more than this many on one fabric are not tried in every order.
_MOST_ORDERED = 4


def _suggest_pool_order(plan: Plan, catalog: Catalog, fabric: FabricPlan, name: str) -> str:
    """An order of pools, or a separate fabric for the pool, with which no fabric has split domains; tried on a plan."""
    members = [pool for pool in plan.spec.pools if pool.name in fabric.pools]
    first = next(pool for pool in members if pool.name == name)
    orders = [[first, *(pool for pool in members if pool is not first)]]
    if len(members) <= _MOST_ORDERED:
        orders += [list(order) for order in permutations(members)]
    for order in orders:
        if _has_whole_domains(plan, catalog, _reorder_pools(plan.spec, order)):
            if order is orders[0]:
                return f"declare pool {name} before the others of {fabric.name}"
            return f"declare the pools of {fabric.name} in the order {', '.join(pool.name for pool in order)}"
    if len(members) > 1 and _has_whole_domains(plan, catalog, _separate_pool(plan.spec, fabric, first)):
        return f"declare pool {name} with a separate fabric"
    return "use numbers of nodes that fill leaves, in all pools but the last"


def _reorder_pools(spec: ClusterSpec, order: list[Pool]) -> ClusterSpec:
    """A spec with some of the pools in this order; the others keep their position."""
    taken = iter(order)
    pools = tuple(next(taken) if pool in order else pool for pool in spec.pools)
    return spec.model_copy(update={"pools": pools})


def _separate_pool(spec: ClusterSpec, fabric: FabricPlan, pool: Pool) -> ClusterSpec:
    """A spec in which a pool is on a copy of the fabric."""
    declared = next(item for item in spec.fabrics if item.name == fabric.name)
    other = f"{fabric.name}-{pool.name}"
    copy = declared.model_copy(update={"name": other, "role": fabric.role})
    moved = pool.model_copy(update={"fabrics": [other if item == fabric.name else item for item in pool.fabrics]})
    pools = tuple(moved if item is pool else item for item in spec.pools)
    return spec.model_copy(update={"pools": pools, "fabrics": (*spec.fabrics, copy)})


def _has_whole_domains(plan: Plan, catalog: Catalog, spec: ClusterSpec) -> bool:
    """Whether a spec can be planned, with no split domain on any fabric."""
    found, errors = replan(plan, catalog, spec)
    return not errors and not any(_split_domains(found, item) for item in found.fabrics)


def _suggest_leaf_size(plan: Plan, catalog: Catalog, fabric: FabricPlan, pool: str) -> str:
    """A setting that gives leaves whole scale-up domains, if the leaves have enough ports."""
    declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
    down = plan.get_pool(pool).machine.domain_nodes * fabric.rails_per_leaf
    if rebuild_fabric(plan, catalog, declared.model_copy(update={"leaf_down": down})):
        return f"set leaf_down to a multiple of {down}"
    return (
        "set leaf_rails: 1"
        if fabric.rails_per_leaf > 1
        else f"use leaves with more ports: a domain needs {down} downlinks"
    )


def _is_split(node_links: NodeLinks, first: int, domain_nodes: int, stop: int) -> bool:
    """Whether a domain has nodes on several leaves, and does not fill them. Nodes are counted over all pools; the last
    domain of a pool, which ends before ``stop``, may be short.
    """

    def find_leaf(node: int) -> tuple[int, int]:
        unit, place = divmod(node, node_links.unit_nodes)
        return unit, place // node_links.block_nodes

    end = first + domain_nodes
    if find_leaf(first) == find_leaf(min(end, stop) - 1):
        return False
    fills = (first == 0 or find_leaf(first - 1) != find_leaf(first)) and find_leaf(end - 1) != find_leaf(end)
    return not fills
