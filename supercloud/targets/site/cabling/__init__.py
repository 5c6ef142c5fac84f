"""Plan -> every cable of every switched network: lists for installers, NetBox and simulators, and the way back.

``table`` (CSV with labels), ``netbox`` (bulk imports), ``netlist`` (the network as ibsim and ibnetdiscover see it);
``discovered`` reads what a running network says of itself, ``compare`` names what is wrong with it. To add a form of
output, write it from a ``CableTable`` and give it a line in ``bundle``; a form of input is a reader in ``readers``.
"""

from __future__ import annotations

from .bundle import render

__all__ = ["render"]
