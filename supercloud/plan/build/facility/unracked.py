"""Machines on networks that are not in the hall: subnet managers and services that facility.machines lacks."""

from __future__ import annotations

from dataclasses import dataclass

from ....spec import ClusterSpec
from ...model.plan import Plan

__all__ = ["UnrackedEquipment", "find_unracked"]


@dataclass(frozen=True)
class UnrackedEquipment:
    """Equal machines with ports on networks, in no rack and without power."""

    name: str
    path: str
    """Path of their first declaration in the spec."""
    count: int
    """Number of machines that facility.machines lacks."""
    wanted: int
    """Total number."""
    product: str | None
    links: int
    """Links of those machines on all networks."""


def find_unracked(plan: Plan) -> tuple[UnrackedEquipment, ...]:
    """Subnet managers and managed services that facility.machines lacks, or has fewer of."""
    if plan.facility is None:
        return ()
    racked = {group.name: group.count for group in plan.facility.service_groups}
    paths = _find_service_paths(plan.spec)
    found: dict[str, UnrackedEquipment] = {}
    for fabric in plan.fabrics:
        for service in fabric.services:
            lacking = service.count - racked.get(service.name, 0)
            if not service.is_managed or service.hosts is not None or service.name not in paths or lacking <= 0:
                continue
            before = found.get(service.name)
            found[service.name] = UnrackedEquipment(
                service.name,
                paths[service.name],
                max(lacking, before.count if before else 0),
                max(service.count, before.wanted if before else 0),
                service.product or (before.product if before else None),
                -(-service.links * lacking // service.count) + (before.links if before else 0),
            )
    return tuple(found.values())


def _find_service_paths(spec: ClusterSpec) -> dict[str, str]:
    """Name of a subnet manager or service -> path of its first declaration."""
    found: dict[str, str] = {}
    for index, fabric in enumerate(spec.fabrics):
        found.setdefault(f"{fabric.name}-manager", f"fabrics[{index}].manager")
        for position, item in enumerate(fabric.services):
            found.setdefault(item.name, f"fabrics[{index}].services[{position}]")
    return found
