"""RoCE fabrics with routing and lossless QoS: files for every switch, and for the connected nodes.

A dialect is a module with ``render_switch`` (files of one switch) and ``render_tier`` (common files of all switches of
a tier), and a line in ``bundle.DIALECTS``.
"""

from .bundle import render

__all__ = ["render"]
