"""Networks with an upstream fabric: the path from one to the topmost, and the switches at which their links end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....spec import Fabric
from ...model.plan import FabricPlan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["list_upstream", "select_top_switches"]


def list_upstream(fabrics: Iterable[Fabric], name: str) -> list[str]:
    """A network of ``fabrics``, its upstream fabric, the upstream fabric of that, and so on, each once. The path
    ends also at a cycle in the spec, and at a network that is not in ``fabrics``.
    """
    fabrics = list(fabrics)
    above = {item.name: item.upstream.fabric for item in fabrics if item.upstream}
    known = {item.name for item in fabrics}
    way = [name]
    while (up := above.get(way[-1])) in known and up not in way:
        way.append(up)
    return way


def select_top_switches(fabric: FabricPlan, links: int) -> NDArray[np.int64]:
    """The topmost switch at which each further link ends: the planes alternate, so that the links reach all planes if
    there are at least as many links as planes.
    """
    import numpy as np  # not required for planning alone

    count, planes = fabric.tiers[-1].count, max(1, fabric.planes)
    turn = np.arange(links) % count
    return turn % planes * (count // planes) + turn // planes
