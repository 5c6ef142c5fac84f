"""Plan -> every cable of every switched network: lists for installers, NetBox and simulators, and their verification.

``table`` (CSV with labels), ``netbox`` (bulk imports), ``netlist`` (the network in the format of ibsim and
ibnetdiscover); ``readers`` parses the discovery output of a running network, ``compare`` reports the differences. To
add an output format, write it from a ``CableTable`` and add it in ``bundle``; an input format is a parser in
``readers``.
"""

from __future__ import annotations

from .bundle import render

__all__ = ["render"]
