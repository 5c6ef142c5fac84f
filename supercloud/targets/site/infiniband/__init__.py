"""Plan -> what the subnet manager of each InfiniBand fabric is configured by.

``engine`` decides how routes are computed, ``partitions`` who may talk to whom, ``bundle`` lists the files. What a
subnet manager can do differs: the open OpenSM has no engines with adaptive routing and no SHARP.
"""

from __future__ import annotations

from .bundle import render

__all__ = ["render"]
