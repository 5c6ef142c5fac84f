"""A domain of switches that bridge, and the links that its spanning tree blocks (IEEE 802.1D).

Switches are numbered over all networks of the domain in the order of (network, tier, number), and links are columns: a
core of some hundred switches with as many leaves has millions of links.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["BridgeDomain"]


class BridgeDomain:
    """Bridges, and the links between them; all links between two bridges are one bundle.

    Args:
        sizes: the number of switches of each (network, tier).
    """

    def __init__(self, sizes: Mapping[tuple[str, str], int]) -> None:
        self._first: dict[tuple[str, str], int] = {}
        self._count = 0
        for key in sorted(sizes):
            self._first[key] = self._count
            self._count += sizes[key]
        self._codes: dict[str, list[NDArray[np.int64]]] = {}

    def get_first(self, network: str, tier: str) -> int:
        """The number of the first switch of a tier; the others follow."""
        return self._first[network, tier]

    def add_links(self, network: str, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
        """Add links of a network, by the numbers of the bridges at both ends; links within a bridge are ignored."""
        import numpy as np

        apart = left != right
        low, high = np.minimum(left, right)[apart], np.maximum(left, right)[apart]
        self._codes.setdefault(network, []).append(low * self._count + high)

    def count_links(self) -> dict[str, int]:
        """Network -> its links between different bridges."""
        return {network: sum(len(codes) for codes in parts) for network, parts in self._codes.items()}

    def count_blocked(self, root: int) -> dict[str, int]:
        """Network -> links that are not on the shortest path from a bridge to the root, where there are any."""
        import numpy as np

        links = {network: np.concatenate(parts) for network, parts in self._codes.items() if parts}
        if not links:
            return {}
        active, reached = self._build_tree(np.unique(np.concatenate(list(links.values()))), root)
        blocked = {
            network: int(np.count_nonzero(reached[codes // self._count] & ~np.isin(codes, active)))
            for network, codes in links.items()
        }
        return {network: count for network, count in blocked.items() if count}

    def _build_tree(self, bundles: NDArray[np.int64], root: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The bundles that stay active, and which bridges they reach: breadth first, lower numbers first."""
        import numpy as np

        low, high = np.divmod(bundles, self._count)
        source, target = np.concatenate((low, high)), np.concatenate((high, low))
        code = np.concatenate((bundles, bundles))
        order = np.lexsort((target, source))
        target, code = target[order], code[order]
        starts = np.searchsorted(source[order], np.arange(self._count + 1))
        reached = np.zeros(self._count, dtype=np.bool_)
        reached[root] = True
        active, level = [], np.array([root])
        while len(level):
            degrees = starts[level + 1] - starts[level]
            ends = np.cumsum(degrees)
            edges = np.arange(degrees.sum()) + np.repeat(starts[level] - ends + degrees, degrees)
            edges = edges[~reached[target[edges]]]
            _, first = np.unique(target[edges], return_index=True)
            edges = edges[np.sort(first)]
            level = target[edges]
            reached[level] = True
            active.append(code[edges])
        return np.concatenate(active), reached
