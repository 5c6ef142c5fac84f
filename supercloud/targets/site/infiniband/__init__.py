"""Plan -> the configuration of the subnet manager of each InfiniBand fabric.

``engine`` selects the routing engine, ``partitions`` writes the partitions, ``bundle`` lists the files. Subnet managers
differ: the open-source OpenSM has no routing engines with adaptive routing and no SHARP.
"""

from __future__ import annotations

from .bundle import render

__all__ = ["render"]
