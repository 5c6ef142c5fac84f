"""Bridged Ethernet, in-band and out-of-band: VLANs, pairs of switches, access and trunk ports, and the bonds of hosts.

A dialect is a function from a switch to its files, and a line in ``bundle.DIALECTS``.
"""

from .bundle import render

__all__ = ["render"]
