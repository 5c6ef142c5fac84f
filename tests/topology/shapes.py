"""The builders of the switched shapes, with the numbers of a shape as arguments."""

from typing import Any

from supercloud.topology import Clos, Fabric, FatTree, RailOptimized, TopologyError
from supercloud.topology import build_clos as build_clos_shape
from supercloud.topology import build_fat_tree as build_fat_tree_shape
from supercloud.topology import build_rail_optimized as build_rail_optimized_shape


def build_clos(nodes: int, **numbers: Any) -> Fabric:
    """Wire the racks of a Clos fabric."""
    return build_clos_shape(Clos(nodes, **numbers))


def build_fat_tree(nodes: int, **numbers: Any) -> Fabric:
    """Wire the nodes of a fat-tree."""
    return build_fat_tree_shape(FatTree(nodes, **numbers))


def build_rail_optimized(nodes: int, **numbers: Any) -> Fabric:
    """Wire the nodes of a rail-optimized fabric."""
    return build_rail_optimized_shape(RailOptimized(nodes, **numbers))


def require_reason(error: TopologyError) -> None:
    """Check that a refusal has its numbers and a hint."""
    assert error.problem and error.hint
    assert any(letter.isdigit() for letter in error.problem)
