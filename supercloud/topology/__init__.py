"""How nodes are wired: the canonical graph, the builders that make it from numbers alone, and scale-up domains.

A builder takes counts and ports and returns a `Fabric`: tiers of switches, link groups, levels of locality, each
listed from the nodes outwards, all arithmetic, nothing per node. Everything counts from 0. Nothing here knows a
product or a place. Names are loaded when first used; numpy only by `columns`.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .domains import Level
    from .errors import NoFreePorts, TopologyError
    from .graph import Axis, Fabric, FabricColumns, Tier
    from .grid import Grid, faces
    from .links import Columns, Link, LinkGroup
    from .shapes.clos import clos
    from .shapes.fat_tree import fat_tree
    from .shapes.rail import rail_optimized
    from .shapes.scale_up import ScaleUp, scale_up_mesh, scale_up_switched, scale_up_torus
    from .shapes.torus import torus
    from .sharing import Arrangement, Ports, compute_arrangements

__all__ = [
    "Arrangement",
    "Axis",
    "Columns",
    "Fabric",
    "FabricColumns",
    "Grid",
    "Level",
    "Link",
    "LinkGroup",
    "NoFreePorts",
    "Ports",
    "ScaleUp",
    "Tier",
    "TopologyError",
    "clos",
    "compute_arrangements",
    "faces",
    "fat_tree",
    "rail_optimized",
    "scale_up_mesh",
    "scale_up_switched",
    "scale_up_torus",
    "torus",
]

_MODULES = {
    "domains": ("Level",),
    "errors": ("NoFreePorts", "TopologyError"),
    "graph": ("Axis", "Fabric", "FabricColumns", "Tier"),
    "grid": ("Grid", "faces"),
    "links": ("Columns", "Link", "LinkGroup"),
    "shapes.clos": ("clos",),
    "shapes.fat_tree": ("fat_tree",),
    "shapes.rail": ("rail_optimized",),
    "shapes.scale_up": ("ScaleUp", "scale_up_mesh", "scale_up_switched", "scale_up_torus"),
    "shapes.torus": ("torus",),
    "sharing": ("Arrangement", "Ports", "compute_arrangements"),
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
