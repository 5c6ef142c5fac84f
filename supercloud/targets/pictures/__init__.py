"""Pictures that several targets use: racks from the front, fabrics by tier.

``Picture`` is SVG made of a few shapes. ``draw_elevation`` draws one rack and ``draw_elevations`` a sheet of them,
``fabric`` a network; ``RackContents`` has the names of all items in racks. Targets embed them in their files or
pages.
"""

from __future__ import annotations

from .elevation import ITEM_COLORS, draw_elevation, draw_elevations
from .fabric import draw_fabric
from .rack_contents import RackContents, group_by_shape
from .svg import Picture, compute_text_width, truncate_text

__all__ = [
    "ITEM_COLORS",
    "Picture",
    "RackContents",
    "truncate_text",
    "draw_fabric",
    "draw_elevation",
    "draw_elevations",
    "group_by_shape",
    "compute_text_width",
]
