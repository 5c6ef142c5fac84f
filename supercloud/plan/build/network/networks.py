"""Decisions about networks: subnets, names and AS numbers. Nothing is per node or per switch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from ....catalog import NetworkOs
from ....catalog.contract import RoceProfile
from ....errors import InputError, UnknownNameError
from ....primitives.addresses import AddressRun, Block, allocate_blocks, compute_block_size
from ....primitives.nodes import HostRange
from ....spec import ClusterSpec, Fabric, SlurmScheduler
from ....topology import Fabric as Wiring
from ....topology.links import NodeLinks
from ...model.addressed_links import PoolLinks, RailAddresses, ServerLinks
from ...model.network import BmcRun, NetworksPlan, SwitchRun, Underlay
from ...model.plan import FabricPlan, FacilityPlan, NetworkPlan, PoolPlan, SwitchTier
from ...model.problems import Problems
from ...model.storage import ServerGroup
from ...model.subnet import Subnet, parse_block
from ..fabric.lossless import build_qos_policy
from ..fabric.node_numbers import compute_first_nodes
from ..fabric.roles import is_routed
from ..inputs import BuildInputs, Equipment
from .adapter_qos import find_adapter_qos, iter_adapters
from .address_allocator import AddressAllocator
from .machines import ManagementAllocators, build_machine_runs, iter_management_runs
from .macs import read_macs
from .pool_places import compute_pool_starts
from .rails import allocate_rail_blocks, build_rail_subnets, compute_leaf_addresses, list_server_blocks, split_block
from .server_links import build_server_links, select_upper_half

__all__ = ["build_networks_plan"]

# Private networks (RFC 1918, and RFC 6598 for site-internal traffic); the first free one is used.
_PRIVATE_RANGES = {
    "fabrics": ("172.16.0.0/12", "10.0.0.0/8", "192.168.0.0/16"),
    "management": ("100.64.0.0/10", "192.168.0.0/16", "172.16.0.0/12"),
}
_MAX_FABRICS = 64
# Leaves have half of a fabric's block, spines and cores a quarter each: growth of one does not move the others.
_TIER_SHARES = {"leaf": 2, "spine": 4, "core": 4}


def build_networks_plan(
    inputs: BuildInputs, network: NetworkPlan, equipment: Equipment, hall: FacilityPlan | None
) -> NetworksPlan | None:
    """Everything with an address; None in a cloud, which assigns them."""
    spec, catalog, folder, problems = inputs.spec, inputs.catalog, inputs.folder, inputs.problems
    pools, fabrics, servers = equipment.pools, equipment.fabrics, equipment.servers
    if spec.site.kind != "onprem":
        return None
    cidr = parse_block(network.cidr)
    rails_network = _select_network_block(spec.network.fabrics, "fabrics", [cidr], problems)
    management = _select_network_block(spec.network.management, "management", [cidr, rails_network], problems)
    switched = [item for item in fabrics if isinstance(item.wiring, Wiring) and item.tiers]
    quarters = list(management.subnets(prefixlen_diff=2)) if management.prefixlen <= 22 else [management] * 4
    if management.prefixlen > 22:
        problems.add_error(
            "network-size",
            "network.management",
            f"{management} has {management.num_addresses} addresses, but management requires at least 1024",
            "specify a larger network",
        )
    rooms = ManagementAllocators.from_block(quarters[3])
    server_bmcs = _allocate_blocks(rooms.servers, {group.name: group.count for group in servers}, problems)
    machines = build_machine_runs(network, fabrics, hall, problems)
    scheduler_hosts = _list_scheduler_hosts(spec)
    managed = tuple(iter_management_runs(machines, scheduler_hosts, hall, rooms, problems))
    bmcs = _carve_blocks(quarters[0], {pool.name: pool.nodes for pool in pools}, "network.management", "BMCs", problems)
    tiers = {item.name: {tier.name: tier.count for tier in item.tiers} for item in switched}
    counts = {name: sum(count.values()) for name, count in tiers.items()}
    reach = {
        name: max(_TIER_SHARES[tier] * compute_block_size(number) for tier, number in count.items())
        for name, count in tiers.items()
    }
    boxes = _carve_blocks(quarters[1], reach, "network.management", "switches", problems)
    routed = [item for item in switched if is_routed(item.kind, item.role)]
    joined = [item for item in switched if item in routed or item.kind == "infiniband"]
    loopbacks = _carve_blocks(
        quarters[2], {item.name: reach[item.name] for item in routed}, "network.management", "loopbacks", problems
    )
    rails = allocate_rail_blocks(spec, joined, rails_network, problems)
    box = {
        item.name: Subnet(f"switches-{item.name}", "switch", boxes[item.name], counts[item.name]) for item in switched
    }
    contract = catalog.get(RoceProfile, "roce")
    runs: list[SwitchRun] = []
    attached: dict[str, tuple[ServerLinks, ...]] = {}
    underlays: list[Underlay] = []
    for item in switched:
        position = [fabric.name for fabric in spec.fabrics].index(item.name)
        declared = spec.fabrics[position]
        numbers = _select_as_numbers(declared, position, item, contract, problems) if item in routed else (0, 0)
        own = _build_switch_runs(inputs, position, item, box[item.name], loopbacks.get(item.name), numbers)
        if item.name in rails:
            own_parts = list_server_blocks(item, rails[item.name])
            attached[item.name] = build_server_links(item, own_parts, position, problems)
        runs += own
        wiring = cast(Wiring, item.wiring)
        if item in routed and item.speed and item.name in rails:
            hosts = cast(NodeLinks, wiring.link_groups[0])
            slot = compute_leaf_addresses(hosts)
            sides = hosts.planes * hosts.leaves_per_block
            parts = split_block(rails[item.name], sides)
            underlays.append(
                Underlay(
                    item.name,
                    item.role,
                    item.speed,
                    rails[item.name],
                    RailAddresses(hosts, parts, slot),
                    attached[item.name],
                    tuple(select_upper_half(part) for part in own_parts),
                    tuple(own),
                    loopbacks[item.name],
                    numbers,
                    build_qos_policy(declared, contract, item, wiring),
                    declared.routing.bfd,
                    {
                        key: tool
                        for key, adapter in iter_adapters(item, pools, attached[item.name])
                        if (tool := find_adapter_qos(catalog, adapter))
                    },
                    wiring,
                )
            )
    rail_nets = {
        item.name: tuple(build_rail_subnets(item, rails[item.name], attached[item.name]))
        for item in joined
        if item.name in rails
    }
    subnets = (
        Subnet(
            "service",
            "service",
            network.management,
            len(spec.scheduler.controllers) + sum(len(item.hosts) for item in machines if item.addresses),
        ),
        *(Subnet(f"in-band-{pool.name}", "in-band", pool.addresses.block, pool.nodes) for pool in pools),
        *_build_storage_subnets(servers),
        *(Subnet(f"bmc-{pool.name}", "bmc", bmcs[pool.name], pool.nodes) for pool in pools),
        *(Subnet(f"bmc-{group.name}", "bmc", server_bmcs[group.name], group.count) for group in servers),
        *(Subnet(f"bmc-{run.group}", "bmc", run.addresses.block, len(run.names)) for run in managed),
        *box.values(),
        *(Subnet(f"loopbacks-{item.name}", "loopback", loopbacks[item.name], counts[item.name]) for item in routed),
        *(subnet for found in rail_nets.values() for subnet in found),
    )
    controllers = tuple(
        BmcRun(
            name,
            hosts,
            HostRange(f"bmc-{hosts.prefix}", hosts.first, hosts.last, hosts.width),
            AddressRun(block, 0, len(hosts)),
        )
        for name, hosts, block in (
            *((pool.name, pool.hosts, bmcs[pool.name]) for pool in pools),
            *((group.name, group.hosts, server_bmcs[group.name]) for group in servers),
        )
    )
    linked = tuple(item for found in attached.values() for item in found)
    routes = {item.fabric: item.rails for item in underlays}
    nodes = tuple(
        links
        for item in joined
        if item.name in rail_nets and (item not in routed or item.name in routes)
        for links in _pool_links(spec, item, pools, rail_nets[item.name], routes.get(item.name), attached[item.name])
    )
    plan = NetworksPlan(
        subnets,
        (*controllers, *managed),
        tuple(runs),
        tuple(underlays),
        linked,
        nodes,
        machines,
        {"fabrics": rails_network, "management": management},
    )
    return replace(plan, macs=read_macs(spec, folder, plan, pools, servers, problems))


def _pool_links(
    spec: ClusterSpec,
    item: FabricPlan,
    pools: tuple[PoolPlan, ...],
    subnets: tuple[Subnet, ...],
    rails: RailAddresses | None,
    servers: tuple[ServerLinks, ...],
) -> list[PoolLinks]:
    """The links of a fabric's nodes, pool by pool."""
    members = [next(pool for pool in pools if pool.name == name) for name in item.pools]
    if rails:  # an address follows from the port of the leaf that the cable ends at
        starts = tuple(compute_first_nodes(item, pools).values())
    else:
        nodes = [pool.nodes for pool in members]
        starts = compute_pool_starts(spec, item, nodes, subnets[0].block, bool(servers))
    return [
        PoolLinks(item.name, pool.name, pool.hosts, subnets, first, rails)
        for pool, first in zip(members, starts, strict=True)
    ]


def _select_network_block(declared: str | None, name: str, used: list[Block | None], problems: Problems) -> Block:
    """The network that the user specified, or the first private one that no other uses."""
    choices = [Block(item) for item in _PRIVATE_RANGES[name]]
    free = next((item for item in choices if not any(other and item.overlaps(other) for other in used)), choices[0])
    if declared is None:
        return free
    try:
        return Block(declared)
    except ValueError as error:
        problems.add_error(
            "network-size",
            f"network.{name}",
            f"{declared!r} is not a valid IPv4 network: {error}",
            f"for example {free}",
        )
        return free


def _carve_blocks(
    network: Block, needs: Mapping[str, int], path: str, subject: str, problems: Problems
) -> dict[str, Block]:
    try:
        return allocate_blocks(str(network), needs)
    except InputError as error:
        problems.add_error("network-size", path, f"the part for {subject}: {error}", "specify a larger network")
        return allocate_blocks("0.0.0.0/0", needs)  # so that everything else can still be checked


def _allocate_blocks(allocator: AddressAllocator, needs: Mapping[str, int], problems: Problems) -> dict[str, Block]:
    """A block for each of a list that grows at its end, in sequence."""
    found: dict[str, Block] = {}
    for name, count in needs.items():
        block = allocator.allocate(count)
        if block is None:
            problems.add_error(
                "network-size",
                "network.management",
                f"{allocator.cidr} has no free block for the BMCs of {name}",
                "specify a larger network",
            )
        found[name] = block or Block("0.0.0.0/0")
    return found


def _build_storage_subnets(servers: tuple[ServerGroup, ...]) -> list[Subnet]:
    """The subnet of each file system's servers, whatever their roles."""
    blocks: dict[Block, tuple[str, int]] = {}
    for item in servers:
        name, count = blocks.get(item.addresses.block, (item.storage, 0))
        blocks[item.addresses.block] = (name, count + item.count)
    return [Subnet(f"storage-{name}", "storage", block, count) for block, (name, count) in blocks.items()]


def _select_as_numbers(
    declared: Fabric, position: int, fabric: FabricPlan, contract: RoceProfile, problems: Problems
) -> tuple[int, int]:
    """First and last AS number of a fabric."""
    part = (contract.asn_last - contract.asn_first + 1) // _MAX_FABRICS
    first = contract.asn_first + position * part
    last = first + part - 1
    path = f"fabrics[{position}].routing.asn_range"
    if declared.routing.asn_range:
        low, high = map(int, declared.routing.asn_range.split("-"))
        if not 1 <= low <= high <= 4294967294:
            problems.add_error(
                "network-asn",
                path,
                f"{declared.routing.asn_range} is not a valid range of AS numbers",
                "use numbers from 1 to 4294967294, the lower one first",
            )
            return first, last
        first, last = low, high
    needed = count_as_numbers(fabric)
    if last - first + 1 < needed:
        counts = ", ".join(f"{tier.count} {tier.name}" for tier in fabric.tiers)
        problems.add_error(
            "network-asn",
            path,
            f"{first}-{last} has {last - first + 1} AS numbers, but {fabric.name} needs {needed} ({counts}: one "
            "for each leaf, for the spines of each pod, for the cores of each plane)",
            f"specify {needed} or more, such as {first}-{first + needed - 1}",
        )
    return first, last


def count_as_numbers(fabric: FabricPlan) -> int:
    """AS numbers of a fabric: one for each leaf, for the spines of each pod, for the cores of each plane."""
    wiring = cast(Wiring, fabric.wiring)
    pods = sum(tier.count // tier.axes[-1].size for tier in wiring.tiers if tier.name == "spine")
    return fabric.count_switches("leaf") + pods + fabric.planes


def _build_switch_runs(
    inputs: BuildInputs,
    position: int,
    fabric: FabricPlan,
    management_subnet: Subnet,
    loopbacks: Block | None,
    as_numbers: tuple[int, int],
) -> list[SwitchRun]:
    runs = []
    for tier in fabric.tiers:
        wired = cast(Wiring, fabric.wiring).get_tier(tier.name)
        system = None if fabric.kind == "infiniband" else _find_network_os(inputs, position, tier)
        first, last = as_numbers
        asn = {"leaf": (first + fabric.planes, 1), "spine": (last, -1), "core": (first, 1)}[tier.name]
        run = AddressRun(_select_tier_block(management_subnet.block, tier.name), 0, tier.count)
        own = AddressRun(_select_tier_block(loopbacks, tier.name), 0, tier.count) if loopbacks else None
        runs.append(
            SwitchRun(
                fabric.name, wired, tier.switch, system, run, management_subnet, own, asn if loopbacks else (0, 0)
            )
        )
    return runs


def _select_tier_block(block: Block, tier: str) -> Block:
    """The part of a fabric's block for a tier."""
    half, other = block.subnets(prefixlen_diff=1)
    third, fourth = other.subnets(prefixlen_diff=1)
    return {"leaf": half, "spine": third, "core": fourth}[tier]


def _find_network_os(inputs: BuildInputs, position: int, tier: SwitchTier) -> NetworkOs | None:
    declared, catalog, problems = inputs.spec.fabrics[position], inputs.catalog, inputs.problems
    path = f"fabrics[{position}]"
    name, key = declared.os, "os"
    if declared.systems:
        of = declared.systems
        by_tier = {"leaf": of.leaf, "spine": of.spine or of.leaf, "core": of.core or of.spine or of.leaf}
        name, key = by_tier[tier.name], f"systems.{tier.name}"
    if name:
        try:
            return catalog.get(NetworkOs, name)
        except UnknownNameError as error:
            if declared.systems or tier.name == "leaf":
                problems.add_unknown_name(f"{path}.{key}", error)
            return None
    known = list(catalog.iter_entries(NetworkOs))
    return next((item for item in known if tier.switch.vendor in item.vendors), None) or next(
        (item for item in known if "*" in item.vendors), None
    )


def _list_scheduler_hosts(spec: ClusterSpec) -> list[str]:
    """Names of the controllers and of the database host."""
    database = spec.scheduler.database if isinstance(spec.scheduler, SlurmScheduler) else None
    return [host.name for host in (*spec.scheduler.controllers, *((database,) if database else ()))]
