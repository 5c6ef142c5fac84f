"""Rail-optimized fabrics: the leaves of each rail, or fewer leaves that rails of a small fabric share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

from ....topology import Fabric as Wiring
from ....topology import RailOptimized, build_rail_optimized
from ....topology.tiers import compute_max_down
from .leaf_rules import LeafRule, select_leaf_rule
from .shape_context import ShapeContext
from .shared_leaves import SmallFabric, has_open_leaves, is_small, select_fewest_switches
from .units import UnitLayout, list_unit_layouts, select_wiring
from .uplinks import Demand, select_leaves

__all__ = ["build_rail_wiring"]


def build_rail_wiring(context: ShapeContext) -> Wiring:
    """The wiring of a rail-optimized fabric. Raises TopologyError."""
    fabric, request = context.fabric, context.request
    build_separate = _RailWiring(context, select_leaf_rule(fabric, request)).build_separate
    is_open = has_open_leaves(fabric, request.role)
    if not (is_open and is_small(request.nodes, context.unit, request.radix[0], context.ratio[0])):
        return build_separate()
    small = SmallFabric(
        request.nodes,
        request.rails,
        request.planes,
        request.domain_nodes,
        request.radix,
        context.ratio,
        context.reserved,
        request.cage_ports,
        fabric.leaf_rails,
        fabric.peer_links,
        context.demand.links,
    )
    return select_fewest_switches(small, build_separate, context.spines, request.min_units)


@dataclass(frozen=True)
class _RailWiring:
    """A fabric whose rails have separate leaves, or leaves for the declared number of rails."""

    context: ShapeContext
    rule: LeafRule

    @property
    def sharing(self) -> int:
        """Rails per leaf."""
        return self.context.fabric.leaf_rails or 1

    @cached_property
    def down(self) -> int | None:
        """Ports of a leaf for nodes, if not left to the rule of the shape."""
        fabric, unit, domain = self.context.fabric, self.context.unit, self.context.request.domain_nodes
        down = self.rule.down or fabric.leaf_down or (unit.leaf_down if unit else None)
        if down is not None or fabric.su is not None or domain <= 1:
            return down
        # a leaf connects whole scale-up domains, so that none is split over two leaves
        whole = self.max_down // self.sharing
        return whole // domain * domain * self.sharing or None

    @property
    def max_down(self) -> int:
        """Maximum number of ports of a leaf for nodes."""
        return compute_max_down(self.context.request.radix[0], self.context.ratio[0])

    @property
    def min_units(self) -> int | None:
        """Minimum number of units that are built."""
        return max(self.rule.min_units or 0, self.context.request.min_units or 0) or None

    @cached_property
    def demand(self) -> Demand | None:
        """The conditions for leaves of other sizes; None if spec, vendor or rule fix them."""
        unit, rule = self.context.unit, self.rule
        # the vendor's compute units are designed without oversubscription
        is_reference = unit is not None and self.context.ratio[0] == 1
        is_fixed = is_reference or self.context.is_sized or rule.unit_nodes or rule.uplinks
        if self.context.fabric.leaf_up or is_fixed:
            return None
        step = None if unit else self.context.request.domain_nodes
        return replace(self.context.demand, step=step, least=self.min_units or 1)

    @cached_property
    def shape(self) -> RailOptimized:
        """What is common to all candidates."""
        request = self.context.request
        return RailOptimized(
            request.nodes,
            rails=request.rails,
            rails_per_leaf=self.sharing,
            tiers=self.context.fabric.tiers,
            down=self.down,
            **self.context.shared_numbers,
        )

    def build_separate(self) -> Wiring:
        """The wiring with the best units."""
        fabric, unit = self.context.fabric, self.context.unit
        can_change_pods = not (fabric.pod or (unit and unit.pod))
        return select_wiring(self._build_units, self._list_layouts(), can_change_pods=can_change_pods)

    def _build_units(self, layout: UnitLayout) -> Wiring:
        """The wiring of these units with the leaves that need the fewest switches."""
        build: Callable[[int | None, int | None, int | None, int | None], Wiring] = partial(self._build, layout)
        found = self.context.build_with_services(build, self.min_units, self.demand)
        if self.demand is None:
            return found
        units = next(axis.size for axis in found.tiers[0].axes if axis.name == "su")
        return select_leaves(build, found, units, self.demand)

    def _build(
        self, layout: UnitLayout, units: int | None, size: int | None, uplinks: int | None, spines: int | None
    ) -> Wiring:
        return build_rail_optimized(
            replace(
                self.shape,
                unit_nodes=size or layout.nodes,
                units=units,
                down=size * self.sharing if size else self.down,
                uplinks=uplinks or self.rule.uplinks or self.context.fabric.leaf_up,
                pod=layout.pod,
                pod_units=layout.pod_units,
                spines=spines,
            )
        )

    def _list_layouts(self) -> list[UnitLayout]:
        """The units that can be built on leaves with this number of ports for nodes."""
        fabric, request, unit = self.context.fabric, self.context.request, self.context.unit
        most = max(request.radix[0] - fabric.leaf_up, 0) if fabric.leaf_up else self.max_down
        block = (self.down or most) // self.sharing
        if unit and self.rule.unit_nodes is None and block:
            leaf_nodes = min(block, unit.nodes)
            return list_unit_layouts(request.nodes, fabric, unit, leaf_nodes, self.context.ratio[0])
        size = self.rule.unit_nodes or fabric.su or (unit.nodes if unit else self._select_single_unit())
        return [UnitLayout(size, fabric.pod or (unit.pod if unit and unit.pod else "su"))]

    def _select_single_unit(self) -> int | None:
        """All nodes as one unit, if a leaf has capacity for more and no reference design requires whole leaves."""
        nodes = self.context.request.nodes
        return nodes if self.down is None and nodes < self.max_down // self.sharing else None
