"""Plan -> bill of materials: machines, racks, switches, cables and optics, counted from the planned cables.

``items`` counts, ``bundle`` writes. A new kind of item is one more generator in ``items``.
"""

from __future__ import annotations

from .bundle import render

__all__ = ["render"]
