"""Pictures that several targets show, each drawn in one place: racks from the front, fabrics tier by tier.

``Picture`` is SVG made of a few shapes. ``elevation`` draws one rack and ``elevations`` a sheet of them, ``fabric`` a
network; ``Things`` knows what everything in a rack is called. A target puts them into files or pages of its own.
"""

from __future__ import annotations

from .elevation import COLOURS, elevation, elevations
from .fabric import diagram
from .svg import Picture, cut, width_of
from .things import Things, shapes

__all__ = ["COLOURS", "Picture", "Things", "cut", "diagram", "elevation", "elevations", "shapes", "width_of"]
