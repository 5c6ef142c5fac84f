"""A declared fabric with what follows from it for all shapes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias, TypedDict

from ....catalog import Machine
from ....catalog.machine import ScalableUnit
from ....spec import Fabric
from ....topology import Fabric as Wiring
from ....topology.reserved import PortRequest
from .leaf_rules import WiringRequest, build_grown, build_port_requests
from .uplinks import Demand

__all__ = ["BuildLeaves", "ShapeContext"]

BuildLeaves: TypeAlias = Callable[[int | None, int | None, int | None, int | None], Wiring]
"""``build(units, size, uplinks, spines)``; None leaves a number to the rules."""


def _find_reference_unit(fabric: Fabric, role: str, machine: Machine, radix: int) -> ScalableUnit | None:
    """The vendor's scalable unit: for compute fabrics only, with leaves of the radix of its design, and if the spec
    does not specify another.
    """
    unit = machine.scalable_unit
    if unit is None or role != "compute" or fabric.su or fabric.leaf_down or (fabric.leaf_rails or 1) > 1:
        return None
    return unit if unit.radix in (None, radix) else None


class SharedNumbers(TypedDict):
    """The numbers that shapes of all kinds have."""

    radix: tuple[int, int, int]
    planes: int
    oversubscription: tuple[float, float]
    reserved: tuple[PortRequest, ...]
    cage_ports: int
    peer_ports: int


@dataclass(frozen=True)
class ShapeContext:
    """A declared fabric with what follows from it for all shapes."""

    fabric: Fabric
    request: WiringRequest
    is_sized: bool
    """Whether the size of a leaf or unit is specified, not a candidate."""

    @cached_property
    def ratio(self) -> tuple[float, float]:
        """Oversubscription of leaf and spine."""
        return float(self.fabric.oversubscription.leaf), float(self.fabric.oversubscription.spine)

    @cached_property
    def reserved(self) -> tuple[PortRequest, ...]:
        """The leaf ports of services in one plane."""
        return build_port_requests(self.request.services, self.request.planes, self.request.cage_ports)

    @cached_property
    def unit(self) -> ScalableUnit | None:
        """The vendor's scalable unit, if the fabric uses it."""
        return _find_reference_unit(self.fabric, self.request.role, self.request.machine, self.request.radix[0])

    @property
    def spines(self) -> int | None:
        """The requested number of spines, or the declared one."""
        return self.request.spines or self.fabric.spines

    @property
    def can_grow(self) -> bool:
        """Whether services may need further leaves: storage on any network; no node is removed for a manager."""
        return self.fabric.tiers != 1 and (
            self.request.role != "compute" or any(service.is_non_blocking for service in self.request.services)
        )

    @property
    def demand(self) -> Demand:
        """The conditions for uplinks that the spec does not specify."""
        links = -(-self.request.links // self.request.planes)
        return Demand(
            self.ratio[0], self.fabric.peer_links, tuple(ask.ports for ask in self.reserved), links, self.spines
        )

    @property
    def shared_numbers(self) -> SharedNumbers:
        """The numbers of this fabric that all shapes have."""
        return SharedNumbers(
            radix=self.request.radix,
            planes=self.request.planes,
            oversubscription=self.ratio,
            reserved=self.reserved,
            cage_ports=self.request.cage_ports,
            peer_ports=self.fabric.peer_links,
        )

    def build_with_services(self, build: BuildLeaves, min_units: int | None, demand: Demand | None) -> Wiring:
        """The wiring with enough units for the services; a ``demand`` leaves spines open."""
        spines = None if demand else self.spines
        return build_grown(lambda count: build(count, None, None, spines), min_units, can_grow=self.can_grow)
