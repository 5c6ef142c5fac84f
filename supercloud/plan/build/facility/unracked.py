"""Machines on networks that the hall does not have: subnet managers and services which facility.machines lacks."""

from __future__ import annotations

from dataclasses import dataclass

from ...model.plan import Plan

__all__ = ["UnrackedEquipment", "find_unracked"]


@dataclass(frozen=True)
class UnrackedEquipment:
    """Equal machines with ports on networks, and without a place in a rack and power."""

    name: str
    path: str
    """Where the spec declares them first."""
    count: int
    """Of them, those that facility.machines does not have."""
    wanted: int
    """All of them."""
    product: str | None
    links: int
    """Of those machines on all networks."""


def find_unracked(plan: Plan) -> tuple[UnrackedEquipment, ...]:
    """Managers and services of ours that facility.machines does not have, or not as many of."""
    if plan.facility is None:
        return ()
    racked = {group.name: group.count for group in plan.facility.service_groups}
    paths: dict[str, str] = {}
    for index, declared in enumerate(plan.spec.fabrics):
        paths.setdefault(f"{declared.name}-manager", f"fabrics[{index}].manager")
        for at, item in enumerate(declared.services):
            paths.setdefault(item.name, f"fabrics[{index}].services[{at}]")
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
