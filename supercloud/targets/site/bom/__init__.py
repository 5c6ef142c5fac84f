"""Plan -> what to buy: machines, racks, switches, cables and optics, counted from the very cables that are laid.

``items`` counts, ``bundle`` writes. A new kind of thing is one more generator in ``items``.
"""

from __future__ import annotations

from .bundle import render

__all__ = ["render"]
