"""Groups of instances: one for each pool and source of capacity, in the order in which they are tried."""

from __future__ import annotations

from dataclasses import dataclass

from ....catalog import Accelerator, Machine, Provider
from ....spec.pool import Capacity, OnDemand, Pool
from ...model.cloud import Interface, NodeGroup
from ...model.plan import PoolPlan
from .inputs import CloudInputs
from .zones import get_capacity_zone, select_pool_zones

__all__ = [
    "build_interfaces",
    "build_node_groups",
    "count_addresses_per_node",
    "count_capacity_nodes",
    "format_image_key",
]

_KEY_WORDS = {
    "reservation": "reserved",
    "reservation-group": "reserved-group",
    "capacity-block": "block",
    "spot": "spot",
    "on-demand": "on-demand",
    "flex-start": "flex",
}
_DEFAULT_INTERFACES = (Interface(0, 0, "interface", True),)


@dataclass(frozen=True)
class _CapacityOption:
    """A capacity source with its key."""

    key: str
    order: int
    capacity: Capacity


def build_node_groups(inputs: CloudInputs, zones: tuple[str, ...]) -> tuple[NodeGroup, ...]:
    """All groups, without their subnets."""
    return tuple(group for pool in inputs.pools for group in _build_pool_groups(inputs, pool, zones))


def _build_pool_groups(inputs: CloudInputs, pool: PoolPlan, zones: tuple[str, ...]) -> list[NodeGroup]:
    declared = inputs.spec.pools[inputs.find_pool_index(pool)]
    own = select_pool_zones(inputs, pool, zones)
    interfaces = build_interfaces(inputs, pool)
    found = []
    left = pool.nodes if declared.initial is None and declared.min is None else (declared.initial or declared.min or 0)
    for way in _list_capacity_options(declared):
        most = min(pool.nodes, count_capacity_nodes(inputs.provider, pool, way.capacity) or pool.nodes)
        initial = min(left, most) if not way.order or most < pool.nodes else 0
        left -= initial
        zone = get_capacity_zone(way.capacity)
        at = (zone,) if zone else own
        found.append(
            NodeGroup(
                key=way.key,
                pool=pool.name,
                rank=way.order,
                capacity=way.capacity,
                max_nodes=most,
                initial_nodes=initial,
                subnets=(),
                zones=at,
                interfaces=interfaces,
                has_placement_group=_has_placement_group(inputs, pool, declared, way.capacity, at),
                disk=declared.disk or inputs.provider.defaults.disk,
                image=format_image_key(inputs, pool.machine, pool.accelerator),
                domain_nodes=pool.machine.domain_nodes,
                placement_group=declared.placement_group,
                cores=_count_single_thread_cores(pool, declared),
                min_nodes=min(declared.min or 0, most) if way.order == 0 else 0,
                local_disk_mount=declared.local,
                addresses_per_node=count_addresses_per_node(inputs, pool.machine, interfaces),
            )
        )
    return found


def _list_capacity_options(pool: Pool) -> list[_CapacityOption]:
    """Keys consist of the kind, and of a number if the kind repeats: an additional capacity source renames no other."""
    found: list[_CapacityOption] = []
    seen: dict[str, int] = {}
    for order, capacity in enumerate(pool.capacity or (OnDemand(kind="on-demand"),)):
        word = _KEY_WORDS[capacity.kind]
        seen[word] = seen.get(word, 0) + 1
        suffix = f"-{seen[word]}" if seen[word] > 1 else ""
        found.append(_CapacityOption(f"{pool.name}-{word}{suffix}", order, capacity))
    return found


def _count_single_thread_cores(pool: PoolPlan, declared: Pool) -> int | None:
    """Cores of a machine on which one thread of each is used; the machine of the plan has no others."""
    cpu = pool.machine.cpu
    if declared.threads_per_core != 1 or cpu is None or cpu.arch == "aarch64":
        return None
    return cpu.sockets * cpu.cores_per_socket


def count_capacity_nodes(provider: Provider, pool: PoolPlan, capacity: Capacity) -> int | None:
    """Maximum number of nodes under one identifier of capacity; None if it is unknown or unlimited.

    A block of machines that are sold in scale-up domains is one domain.
    """
    rule = provider.find_capacity_rule(capacity.kind)
    most = rule.most if rule else None
    if rule is None or not rule.one_domain or pool.machine.instance is None or not pool.machine.instance.domains:
        return most
    return pool.machine.domain_nodes


def build_interfaces(inputs: CloudInputs, pool: PoolPlan) -> tuple[Interface, ...]:
    """All network cards if the pool has a fabric, else the default interface of every instance."""
    instance = pool.machine.instance
    kinds = {fabric.kind for fabric in inputs.spec.fabrics if fabric.name in pool.fabrics}
    if instance is None or not instance.layout or not kinds & inputs.provider.fabrics.keys():
        return _DEFAULT_INTERFACES
    return tuple(
        Interface(card, item.device, item.kind, item.address) for item in instance.layout for card in item.iter_cards()
    )


def count_addresses_per_node(inputs: CloudInputs, machine: Machine, interfaces: tuple[Interface, ...]) -> int:
    """Subnet addresses per node, including those of its pods where pods use subnet addresses."""
    own = sum(interface.has_address for interface in interfaces) or 1
    instance = machine.instance
    if inputs.has_managed_kubernetes and instance and instance.addresses_per_interface:
        own += inputs.provider.network.pod_interfaces * instance.addresses_per_interface
    return own


def _has_placement_group(
    inputs: CloudInputs, pool: PoolPlan, declared: Pool, capacity: Capacity, zones: tuple[str, ...]
) -> bool:
    """Whether there is a placement group: if the capacity source allows it, in a single zone, for machines that support
    one.
    """
    rule = inputs.provider.find_capacity_rule(capacity.kind)
    instance = pool.machine.instance
    if rule is None or rule.placement == "refused" or declared.placement == "none" or len(zones) > 1:
        return False
    if declared.placement_group is not None:
        return False
    if instance is None or "cluster" not in instance.placement:
        return False
    return declared.placement == "cluster" or (rule.placement == "usual" and bool(pool.fabrics))


def format_image_key(inputs: CloudInputs, machine: Machine, accelerator: Accelerator | None) -> str:
    """Key of the image for a machine: scheduler, vendor of the accelerator, instruction set."""
    arch = machine.instance.arch if machine.instance else inputs.arch
    vendor = accelerator.vendor.lower() if accelerator else "none"
    scheduler = inputs.spec.scheduler.kind
    for image in inputs.provider.images:
        if (image.scheduler, image.arch, image.accelerator) == (scheduler, arch, vendor):
            return image.key
    return f"{scheduler}-{vendor}-{'arm' if arch == 'aarch64' else 'x86'}"
