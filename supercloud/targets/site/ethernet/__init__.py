"""Bridged Ethernet, in-band and out-of-band: VLANs, pairs of switches, access and trunk ports, bonds of hosts."""

from .bundle import render

__all__ = ["render"]
