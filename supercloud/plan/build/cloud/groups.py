"""Groups of instances: one for each pool and way to get its machines, in the order in which they are tried."""

from __future__ import annotations

from dataclasses import dataclass

from ....catalog import Accelerator, Machine
from ....spec.pool import Capacity, OnDemand, Pool
from ...model.cloud import Interface, NodeGroup
from ...model.plan import PoolPlan
from .given import Given
from .zones import pool_zones, way_zone

__all__ = ["addresses_per_node", "groups_of", "image_key", "interfaces_of"]

_WORDS = {
    "reservation": "reserved",
    "reservation-group": "reserved-group",
    "capacity-block": "block",
    "spot": "spot",
    "on-demand": "on-demand",
    "flex-start": "flex",
}
_MAKERS = {"NVIDIA": "nvidia", "AMD": "amd", "AWS": "aws"}
_PLAIN = (Interface(0, 0, "interface", True),)


@dataclass(frozen=True)
class _Way:
    """A way with its key."""

    key: str
    order: int
    capacity: Capacity


def groups_of(given: Given, zones: tuple[str, ...]) -> tuple[NodeGroup, ...]:
    """All groups, still without subnets."""
    return tuple(group for pool in given.pools for group in _groups(given, pool, zones))


def _groups(given: Given, pool: PoolPlan, zones: tuple[str, ...]) -> list[NodeGroup]:
    declared = given.spec.pools[given.index(pool)]
    own = pool_zones(given, pool, zones)
    interfaces = interfaces_of(given, pool)
    found = []
    for way in _ways(declared):
        zone = way_zone(way.capacity)
        at = (zone,) if zone else own
        found.append(
            NodeGroup(
                key=way.key,
                pool=pool.name,
                order=way.order,
                capacity=way.capacity,
                nodes=pool.nodes,
                initial=_initial(declared, way.order),
                subnets=(),
                zones=at,
                interfaces=interfaces,
                cluster_placement=_placement(given, pool, declared, way.capacity, at),
                disk=declared.disk or given.provider.defaults.disk,
                image=image_key(given, pool.machine, pool.accelerator),
                domain_nodes=pool.machine.domain_nodes,
                minimum=(declared.min or 0) if way.order == 0 else 0,
                local=declared.local,
                addresses=addresses_per_node(given, pool.machine, interfaces),
            )
        )
    return found


def _ways(pool: Pool) -> list[_Way]:
    """Keys come of the kind, and of a number where a kind is there again: another way beside it renames nothing."""
    found: list[_Way] = []
    seen: dict[str, int] = {}
    for order, capacity in enumerate(pool.capacity or (OnDemand(kind="on-demand"),)):
        word = _WORDS[capacity.kind]
        seen[word] = seen.get(word, 0) + 1
        suffix = f"-{seen[word]}" if seen[word] > 1 else ""
        found.append(_Way(f"{pool.name}-{word}{suffix}", order, capacity))
    return found


def _initial(pool: Pool, order: int) -> int:
    if order:
        return 0
    if pool.initial is not None:
        return pool.initial
    return pool.nodes if pool.min is None else pool.min


def interfaces_of(given: Given, pool: PoolPlan) -> tuple[Interface, ...]:
    """Every network card where the pool has a fabric, else the one interface that every instance has."""
    instance = pool.machine.instance
    kinds = {fabric.kind for fabric in given.spec.fabrics if fabric.name in pool.fabrics}
    if instance is None or not instance.layout or not kinds & given.provider.fabrics.keys():
        return _PLAIN
    return tuple(
        Interface(card, item.device, item.kind, item.address) for item in instance.layout for card in item.cards()
    )


def addresses_per_node(given: Given, machine: Machine, interfaces: tuple[Interface, ...]) -> int:
    """Addresses of the subnets that a node takes, those of its pods among them where they live there."""
    own = sum(interface.address for interface in interfaces) or 1
    instance = machine.instance
    if given.kubernetes and instance and instance.addresses_per_interface:
        own += given.provider.network.pod_interfaces * instance.addresses_per_interface
    return own


def _placement(given: Given, pool: PoolPlan, declared: Pool, way: Capacity, zones: tuple[str, ...]) -> bool:
    """Whether there is a placement group: what the way allows, in one zone, for machines that take one."""
    rule = given.provider.way(way.kind)
    instance = pool.machine.instance
    if rule is None or rule.placement == "refused" or declared.placement == "none" or len(zones) > 1:
        return False
    if instance is None or "cluster" not in instance.placement:
        return False
    return declared.placement == "cluster" or (rule.placement == "usual" and bool(pool.fabrics))


def image_key(given: Given, machine: Machine, accelerator: Accelerator | None) -> str:
    """Key of the image for a machine: scheduler, maker of the accelerator, instruction set."""
    arch = machine.instance.arch if machine.instance else given.arch
    maker = _MAKERS.get(accelerator.vendor, accelerator.vendor.lower()) if accelerator else "none"
    scheduler = given.spec.scheduler.kind
    for image in given.provider.images:
        if (image.scheduler, image.arch, image.accelerator) == (scheduler, arch, maker):
            return image.key
    return f"{scheduler}-{maker}-{'arm' if arch == 'aarch64' else 'x86'}"
