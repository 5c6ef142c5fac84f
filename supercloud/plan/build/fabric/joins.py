"""Networks that join others: the way from one up to the topmost, and the switches that their links end at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ....spec import Fabric
from ...model.plan import FabricPlan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["list_joined", "select_top_switches"]


def list_joined(fabrics: Iterable[Fabric], name: str) -> list[str]:
    """A network of ``fabrics``, the one it joins, the one that one joins, and so on, each once. It ends also
    where the spec declares a cycle, and at a network that is none of ``fabrics``."""
    fabrics = list(fabrics)
    above = {item.name: item.joins.fabric for item in fabrics if item.joins}
    known = {item.name for item in fabrics}
    way = [name]
    while (up := above.get(way[-1])) in known and up not in way:
        way.append(up)
    return way


def select_top_switches(fabric: FabricPlan, links: int) -> NDArray[np.int64]:
    """The topmost switch that each of so many links from elsewhere ends at: one of each plane in turn, so that as few
    links as there are planes reach all of them."""
    import numpy as np  # planning alone does without

    count, planes = fabric.tiers[-1].count, max(1, fabric.planes)
    turn = np.arange(links) % count
    return turn % planes * (count // planes) + turn // planes
