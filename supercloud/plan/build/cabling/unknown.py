"""Links without a cable in the catalog: counted by the devices that they connect, without building cables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....catalog import Switch
from ....primitives.quantity import Rate
from ...model.plan import FabricPlan, Plan, Service
from ..fabric.cabling_parts import CablingParts
from ..fabric.roles import find_adapter

__all__ = ["UnknownLinks", "count_unknown_links"]


@dataclass(frozen=True)
class _LinkEnd:
    side: str
    model: str
    cage: str
    links: int = 1
    """The ports of one cage."""
    link_speed: Rate | None = None
    """Where it differs from the speed of the leaf's port, which may be split."""

    @property
    def cage_key(self) -> str:
        """Identifies the kind of cage within one fabric."""
        return f"{self.side}:{self.cage}"


@dataclass(frozen=True)
class UnknownLinks:
    """Links of one fabric between two kinds of device, without a cable in the catalog."""

    count: int
    description: str
    """For example ``node to leaf``."""
    reason: str
    is_between_switches: bool = False
    """Both ends are switches."""
    has_service_end: bool = False
    """One end is a machine other than a node."""


def count_unknown_links(plan: Plan, fabric: FabricPlan) -> list[UnknownLinks]:
    """Links to leaves and between tiers that no cable of the catalog connects, at any length.

    Links whose cable the spec names are excluded. No cables are built: the kinds depend on the cages alone, and a large
    network has millions of links.
    """
    if not isinstance(fabric.cabling_parts, CablingParts) or fabric.speed is None:
        return []
    found = []
    for between, count, near, far, speed, split in _iter_link_groups(plan, fabric, fabric.speed):
        if count and not _has_cable(fabric, fabric.cabling_parts, near, far, speed, split):
            switches = near.side == far.side == "switch"
            services = between.split(" to ")[0] in {service.name for service in fabric.services}
            found.append(UnknownLinks(count, between, _explain_missing_cable(near, far, speed), switches, services))
    return found


def _iter_link_groups(
    plan: Plan, fabric: FabricPlan, speed: Rate
) -> Iterator[tuple[str, int, _LinkEnd, _LinkEnd, Rate, int]]:
    """The connected devices: their name, the number of links, both ends, the speed and the links that share a port."""
    named = next(item for item in plan.spec.fabrics if item.name == fabric.name).cabling
    tiers = [_build_switch_end(tier.switch, tier.radix) for tier in fabric.tiers]
    for name in fabric.pools if not (named and named.nodes) else ():
        pool = plan.get_pool(name)
        adapter = find_adapter(pool.machine, fabric.role, fabric.kind, speed)
        cage, links = (adapter.cage or "", adapter.cage_links) if adapter else ("", 1)
        node = _LinkEnd("machine", pool.machine.name, cage, links)
        yield (
            f"node to {fabric.tiers[0].name}",
            pool.nodes * fabric.rails * fabric.planes,
            node,
            tiers[0],
            (fabric.get_link_speed(name) or speed),
            1,
        )
    for service in fabric.services:
        if service.cable is None:
            yield (
                f"{service.name} to {fabric.tiers[0].name}",
                service.links,
                _build_service_end(service),
                tiers[0],
                speed,
                service.split,
            )
    for low in range(len(tiers) - 1) if not (named and named.uplinks) else ():
        lower, upper = fabric.tiers[low].name, fabric.tiers[low + 1].name
        yield f"{lower} to {upper}", fabric.link_counts.get(f"{lower}_{upper}", 0), tiers[low], tiers[low + 1], speed, 1


def _build_switch_end(switch: Switch, radix: int) -> _LinkEnd:
    return _LinkEnd("switch", switch.name, switch.cage or "", max(1, radix // switch.cages) if switch.cages else 1)


def _build_service_end(service: Service) -> _LinkEnd:
    return _LinkEnd("machine", service.product or service.name, service.cage or "", link_speed=service.speed)


def _has_cable(fabric: FabricPlan, parts: CablingParts, near: _LinkEnd, far: _LinkEnd, speed: Rate, split: int) -> bool:
    network = "infiniband" if fabric.kind == "infiniband" else "ethernet"
    numbers = range(1, max(near.links, far.links) + 1)
    return any(parts.list_cables(near.cage_key, far.cage_key, network, speed, links, split) for links in numbers)


def _explain_missing_cable(near: _LinkEnd, far: _LinkEnd, speed: Rate) -> str:
    blank = list(dict.fromkeys(item.model for item in (near, far) if not item.cage))
    if blank:
        return f"the cages of {' and of '.join(blank)} are unknown"
    return f"no cable for {near.link_speed or speed} connects {near.cage} of {near.model} and {far.cage} of {far.model}"
