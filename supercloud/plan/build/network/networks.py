"""Decisions about networks: subnets, names and AS numbers. Nothing is per node or per switch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ....catalog.roce_profile import RoceProfile
from ....primitives.addresses import AddressRun, Block
from ....primitives.quantity import Rate
from ....spec import ClusterSpec, SlurmScheduler
from ....topology import Fabric as Wiring
from ...model.addressed_links import PoolLinks, RailAddresses, ServerLinks
from ...model.network import BmcRun, MachineRun, NetworksPlan, SwitchRun, Underlay
from ...model.plan import FabricPlan, FacilityPlan, NetworkPlan, PoolPlan
from ...model.storage import ServerGroup
from ...model.subnet import Subnet
from ..fabric.lossless import build_qos_policy
from ..fabric.node_numbers import compute_first_nodes
from ..fabric.roles import is_routed
from ..given_addresses import find_given_gateway, list_given_runs
from ..inputs import BuildInputs, Equipment
from .adapter_qos import find_adapter_qos, iter_adapters
from .blocks import AddressSpaces, SwitchBlocks, allocate_blocks_in_turn, allocate_bmc_blocks, allocate_switch_blocks
from .machines import ManagementAllocators, build_machine_runs, iter_management_runs
from .macs import read_macs
from .pool_starts import compute_pool_starts
from .rails import build_rail_subnets, compute_leaf_addresses, list_server_blocks, split_block
from .server_links import build_server_links, select_upper_half
from .switches import build_switch_runs, select_as_numbers

__all__ = ["build_networks_plan"]


@dataclass(frozen=True)
class _ManagedDevices:
    """Devices other than switches with a management port, and the blocks of their addresses."""

    machines: tuple[MachineRun, ...]
    bmcs: Mapping[str, AddressRun]
    """Pool -> addresses of its BMCs."""
    server_blocks: Mapping[str, Block]
    """Group of servers -> block of its BMCs."""
    managed: tuple[BmcRun, ...]
    """Service machines and distribution units."""


@dataclass(frozen=True)
class _FabricNetwork:
    """Everything with an address on one fabric."""

    management: Subnet
    loopbacks: Subnet | None
    """None if the fabric is not routed."""
    switches: tuple[SwitchRun, ...]
    underlay: Underlay | None = None
    rails: tuple[Subnet, ...] = ()
    servers: tuple[ServerLinks, ...] = ()
    nodes: tuple[PoolLinks, ...] = ()


def build_networks_plan(
    inputs: BuildInputs, network: NetworkPlan, equipment: Equipment, hall: FacilityPlan | None
) -> NetworksPlan | None:
    """Everything with an address; None in a cloud, which assigns them."""
    spec, problems = inputs.spec, inputs.problems
    if spec.site.kind != "onprem":
        return None
    spaces = AddressSpaces.from_spec(spec, network, problems)
    devices = _build_managed_devices(inputs, network, equipment, hall, spaces)
    switched = [item for item in equipment.fabrics if isinstance(item.wiring, Wiring) and item.tiers]
    blocks = allocate_switch_blocks(inputs, switched, spaces)
    found = [_build_fabric_network(inputs, equipment.pools, item, blocks) for item in switched]
    plan = NetworksPlan(
        (
            *_build_host_subnets(spec, network, equipment, devices),
            *_iter_fabric_subnets(found),
        ),
        (*_build_bmc_runs(equipment, devices), *devices.managed),
        tuple(run for item in found for run in item.switches),
        tuple(item.underlay for item in found if item.underlay),
        tuple(links for item in found for links in item.servers),
        tuple(links for item in found for links in item.nodes),
        devices.machines,
        {"fabrics": spaces.fabrics, "management": spaces.management},
    )
    return replace(plan, macs=read_macs(inputs, plan, equipment))


# -- devices other than switches --------------------------------------------------------------------------------------


def _build_managed_devices(
    inputs: BuildInputs,
    network: NetworkPlan,
    equipment: Equipment,
    hall: FacilityPlan | None,
    spaces: AddressSpaces,
) -> _ManagedDevices:
    problems = inputs.problems
    rooms = ManagementAllocators.from_block(spaces.others)
    servers = {group.name: group.count for group in equipment.servers}
    server_blocks = allocate_blocks_in_turn(rooms.servers, servers, problems)
    machines = build_machine_runs(network, equipment.fabrics, hall, problems)
    managed = tuple(iter_management_runs(machines, _list_scheduler_hosts(inputs.spec), hall, rooms, problems))
    given = list_given_runs(inputs.spec, "bmc", problems)
    needs = {pool.name: pool.nodes for pool in equipment.pools if pool.name not in given}
    blocks = allocate_bmc_blocks(spaces, needs, [run.block for run in given.values()], problems)
    planned = {name: AddressRun(block, 0, needs[name]) for name, block in blocks.items()}
    bmcs = {pool.name: given.get(pool.name) or planned[pool.name] for pool in equipment.pools}
    return _ManagedDevices(machines, bmcs, server_blocks, managed)


def _list_scheduler_hosts(spec: ClusterSpec) -> list[str]:
    """Names of the controllers and of the database host."""
    database = spec.scheduler.database if isinstance(spec.scheduler, SlurmScheduler) else None
    return [host.name for host in (*spec.scheduler.controllers, *((database,) if database else ()))]


def _build_host_subnets(
    spec: ClusterSpec, network: NetworkPlan, equipment: Equipment, devices: _ManagedDevices
) -> tuple[Subnet, ...]:
    """The subnets of hosts on the in-band network, and those of BMCs."""
    pools, servers = equipment.pools, equipment.servers
    machines = sum(len(item.hosts) for item in devices.machines if item.addresses)
    return (
        Subnet("service", "service", network.management, len(spec.scheduler.controllers) + machines),
        *_build_pool_subnets(spec, "in-band", {pool.name: pool.addresses for pool in pools}),
        *_build_storage_subnets(servers),
        *_build_pool_subnets(spec, "bmc", devices.bmcs),
        *(Subnet(f"bmc-{group.name}", "bmc", devices.server_blocks[group.name], group.count) for group in servers),
        *(Subnet(f"bmc-{run.group}", "bmc", run.addresses.block, len(run.names)) for run in devices.managed),
    )


def _build_pool_subnets(
    spec: ClusterSpec, role: Literal["in-band", "bmc"], runs: Mapping[str, AddressRun]
) -> list[Subnet]:
    """The subnet of each pool; pools whose addresses are given may share one, which has the name of the first."""
    found: dict[Block, Subnet] = {}
    for name, run in runs.items():
        first = found.get(run.block)
        gateway = find_given_gateway(spec, "in_band" if role == "in-band" else "bmc", run.block)
        found[run.block] = (
            replace(first, hosts=first.hosts + run.count)
            if first
            else Subnet(f"{role}-{name}", role, run.block, run.count, given_gateway=gateway)
        )
    return list(found.values())


def _build_storage_subnets(servers: tuple[ServerGroup, ...]) -> list[Subnet]:
    """The subnet of each file system's servers, whatever their roles."""
    blocks: dict[Block, tuple[str, int]] = {}
    for item in servers:
        name, count = blocks.get(item.addresses.block, (item.storage, 0))
        blocks[item.addresses.block] = (name, count + item.count)
    return [Subnet(f"storage-{name}", "storage", block, count) for block, (name, count) in blocks.items()]


def _build_bmc_runs(equipment: Equipment, devices: _ManagedDevices) -> tuple[BmcRun, ...]:
    """The BMCs of nodes, then those of servers."""
    owners = (
        *((pool.name, pool.hosts, devices.bmcs[pool.name]) for pool in equipment.pools),
        *(
            (group.name, group.hosts, AddressRun(devices.server_blocks[group.name], 0, len(group.hosts)))
            for group in equipment.servers
        ),
    )
    return tuple(
        BmcRun(
            name,
            hosts,
            hosts.with_prefix("bmc-"),
            addresses,
        )
        for name, hosts, addresses in owners
    )


# -- fabrics ----------------------------------------------------------------------------------------------------------


def _iter_fabric_subnets(networks: Sequence[_FabricNetwork]) -> Iterator[Subnet]:
    """Those of switches come first, then loopbacks, then rails."""
    yield from (item.management for item in networks)
    yield from (item.loopbacks for item in networks if item.loopbacks)
    yield from (subnet for item in networks for subnet in item.rails)


def _build_fabric_network(
    inputs: BuildInputs, pools: tuple[PoolPlan, ...], fabric: FabricPlan, blocks: SwitchBlocks
) -> _FabricNetwork:
    """The switches of a fabric and, if its links have addresses, the links of its nodes and servers."""
    spec, name = inputs.spec, fabric.name
    routed = is_routed(fabric.kind, fabric.role)
    position = [item.name for item in spec.fabrics].index(name)
    count = sum(tier.count for tier in fabric.tiers)
    management = Subnet(f"switches-{name}", "switch", blocks.management[name], count)
    loopbacks = Subnet(f"loopbacks-{name}", "loopback", blocks.loopbacks[name], count) if routed else None
    profile = inputs.catalog.get(RoceProfile, "roce")
    numbers = select_as_numbers(inputs, position, fabric, profile) if routed else (0, 0)
    switches = build_switch_runs(inputs, position, fabric, management, blocks.loopbacks.get(name), numbers)
    network = _FabricNetwork(management, loopbacks, switches)
    if name not in blocks.rails:
        return network
    servers = build_server_links(fabric, list_server_blocks(fabric, blocks.rails[name]), position, inputs.problems)
    network = replace(network, servers=servers, rails=tuple(build_rail_subnets(fabric, blocks.rails[name], servers)))
    if not routed:
        return replace(network, nodes=_build_pool_links(spec, fabric, pools, network, None))
    if not fabric.speed:
        return network
    underlay = _build_underlay(inputs, pools, fabric, fabric.speed, network, blocks, numbers)
    return replace(network, underlay=underlay, nodes=_build_pool_links(spec, fabric, pools, network, underlay.rails))


def _build_underlay(
    inputs: BuildInputs,
    pools: tuple[PoolPlan, ...],
    fabric: FabricPlan,
    speed: Rate,
    network: _FabricNetwork,
    blocks: SwitchBlocks,
    as_numbers: tuple[int, int],
) -> Underlay:
    """The routed network of a fabric; each leaf has a prefix of its own."""
    catalog, wiring, block = inputs.catalog, fabric.require_wiring(), blocks.rails[fabric.name]
    declared = next(item for item in inputs.spec.fabrics if item.name == fabric.name)
    hosts = wiring.node_links
    parts = split_block(block, hosts.planes * hosts.leaves_per_block)
    tools = {key: find_adapter_qos(catalog, adapter) for key, adapter in iter_adapters(fabric, pools, network.servers)}
    return Underlay(
        fabric.name,
        fabric.role,
        speed,
        block,
        RailAddresses(hosts, parts, compute_leaf_addresses(hosts)),
        network.servers,
        tuple(select_upper_half(part) for part in list_server_blocks(fabric, block)),
        network.switches,
        blocks.loopbacks[fabric.name],
        as_numbers,
        build_qos_policy(declared, catalog.get(RoceProfile, "roce"), fabric, wiring),
        declared.routing.bfd,
        {key: tool for key, tool in tools.items() if tool},
        wiring,
    )


def _build_pool_links(
    spec: ClusterSpec,
    fabric: FabricPlan,
    pools: tuple[PoolPlan, ...],
    network: _FabricNetwork,
    rails: RailAddresses | None,
) -> tuple[PoolLinks, ...]:
    """The links of a fabric's nodes, pool by pool; ``rails`` are those of a routed fabric."""
    members = [next(pool for pool in pools if pool.name == name) for name in fabric.pools]
    if rails:  # an address follows from the port of the leaf that the cable ends at
        starts = tuple(compute_first_nodes(fabric, pools).values())
    else:
        nodes = [pool.nodes for pool in members]
        starts = compute_pool_starts(spec, fabric, nodes, network.rails[0].block, bool(network.servers))
    return tuple(
        PoolLinks(fabric.name, pool.name, pool.hosts, network.rails, first, rails)
        for pool, first in zip(members, starts, strict=True)
    )
