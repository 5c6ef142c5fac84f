"""The wiring of nodes: the canonical graph, its builders from numbers alone, and scale-up domains.

A builder takes counts and ports, those of a switched shape as one value, and returns a `Fabric`: tiers of switches,
link groups, levels of locality, each listed from the nodes outwards, all as formulas, nothing per node. All numbers
start at 0. The package has no products and no locations. Names are loaded on first use; numpy only by `build_columns`.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .domains import Level
    from .errors import NoFreePortsError, TopologyError
    from .graph import Axis, Fabric, FabricColumns, Tier
    from .grid import Grid, count_surface_links
    from .links import Link, LinkColumns, LinkGroup
    from .shapes.clos import Clos, build_clos
    from .shapes.fat_tree import FatTree, build_fat_tree
    from .shapes.rail import RailOptimized, build_rail_optimized
    from .shapes.scale_up import ScaleUp, build_mesh_scale_up, build_switched_scale_up, build_torus_scale_up
    from .shapes.torus import build_torus
    from .sharing import LeafArrangement, LeafRequirements, compute_arrangements

__all__ = [
    "Axis",
    "Clos",
    "Fabric",
    "FabricColumns",
    "FatTree",
    "Grid",
    "LeafArrangement",
    "LeafRequirements",
    "Level",
    "Link",
    "LinkColumns",
    "LinkGroup",
    "NoFreePortsError",
    "RailOptimized",
    "ScaleUp",
    "Tier",
    "TopologyError",
    "build_clos",
    "build_fat_tree",
    "build_mesh_scale_up",
    "build_rail_optimized",
    "build_switched_scale_up",
    "build_torus",
    "build_torus_scale_up",
    "compute_arrangements",
    "count_surface_links",
]

_MODULES = {
    "domains": ("Level",),
    "errors": ("NoFreePortsError", "TopologyError"),
    "graph": ("Axis", "Fabric", "FabricColumns", "Tier"),
    "grid": ("Grid", "count_surface_links"),
    "links": ("Link", "LinkColumns", "LinkGroup"),
    "shapes.clos": ("Clos", "build_clos"),
    "shapes.fat_tree": ("FatTree", "build_fat_tree"),
    "shapes.rail": ("RailOptimized", "build_rail_optimized"),
    "shapes.scale_up": ("ScaleUp", "build_mesh_scale_up", "build_switched_scale_up", "build_torus_scale_up"),
    "shapes.torus": ("build_torus",),
    "sharing": ("LeafArrangement", "LeafRequirements", "compute_arrangements"),
}


def __getattr__(name: str) -> object:
    for module, names in _MODULES.items():
        if name in names:
            value: object = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
