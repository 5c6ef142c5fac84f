"""RoCE fabrics, ready to route and to be lossless: files for every switch, and for the nodes that hang on them.

A dialect is a module with ``render_switch`` (files of one switch) and ``render_tier`` (files that all switches of a
tier have in common), and a line in ``bundle.DIALECTS``.
"""

from .bundle import render

__all__ = ["render"]
