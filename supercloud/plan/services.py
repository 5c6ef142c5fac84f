"""Who has the leaf ports that no node has: managers, declared machines, and, on the management network, everything
else of the plan that has a plug for it."""

from __future__ import annotations

from collections.abc import Iterable

from ..primitives.quantity import Rate
from ..spec import Fabric
from .model import FabricPlan, PoolPlan, Service

__all__ = ["role_of", "services_of"]

_ROLES = ("compute", "storage", "in-band", "management")


def role_of(fabric: Fabric) -> str:
    """Which adapters of the machines a fabric joins."""
    return fabric.role or (fabric.name if fabric.name in _ROLES else "compute")


def services_of(
    fabric: Fabric, speed: Rate, built: tuple[FabricPlan, ...], members: tuple[PoolPlan, ...]
) -> tuple[Service, ...]:
    """The services of a fabric in the order of their ports: managers, the declared ones, the managed devices."""
    found: list[Service] = []
    manager = fabric.manager
    if manager and manager.links:
        count = manager.appliances or manager.links
        found.append(
            Service(f"{fabric.name}-manager", count, manager.links, manager.speed or speed,
                    _split(speed, manager.speed), manager.cage, manager.product, manager.part_number)
        )  # fmt: skip
    for item in fabric.services:
        found.append(
            Service(item.name, item.count, item.count * item.links, item.speed or speed, _split(speed, item.speed),
                    item.cage, item.product, item.part_number, item.ours)
        )  # fmt: skip
    if role_of(fabric) == "management":
        found += _managed(built, {service.name for service in found}, speed)
    return tuple(found)


def _split(speed: Rate, wanted: Rate | None) -> int:
    """How many links of the speed wanted share a port."""
    return max(1, int(speed.base // wanted.base)) if wanted and wanted.base else 1


def _managed(built: Iterable[FabricPlan], named: set[str], speed: Rate) -> Iterable[Service]:
    """A management port for every switch and every service machine of ours on the other networks."""
    machines: dict[str, Service] = {}
    for fabric in built:
        for tier in fabric.tiers:
            boxes = -(-tier.count // tier.switch.chips)
            yield Service(f"{fabric.name}-{tier.name}", boxes, boxes, speed, cage="rj45", product=tier.switch.name)
        for service in fabric.services:
            if service.ours and service.name not in named:
                known = machines.get(service.name)
                if known is None or known.count < service.count:
                    machines[service.name] = service
    for name, service in machines.items():
        yield Service(name, service.count, service.count, speed, cage="rj45", product=service.product,
                      part_number=service.part_number)  # fmt: skip
