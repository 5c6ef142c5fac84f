"""Locality: groups of nodes close to each other, as ranges of node numbers.

Convention: levels are listed **innermost first** (nearest neighbors first, the whole fabric last), as tiers are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Level:
    """One level of locality: a partition of nodes 0..nodes-1 into consecutive domains; all results are computed.

    `hops` is the number of switches between two nodes that share a domain of this level and none further in.
    `uplink_ratio` is the number of links that leave a full domain over the number of node ports in it: 1 or more is
    non-blocking, and 0 means that no link leaves it (the whole fabric).
    """

    name: str
    nodes: int
    size: int  # nodes in a full domain
    hops: int
    uplink_ratio: float = 0.0
    section_nodes: int = 0  # a new domain starts at multiples of this; 0 = domains follow each other without a break

    @property
    def _section(self) -> tuple[int, int]:
        """Number of nodes after which a new domain starts, and the number of domains in them."""
        span = self.section_nodes or self.size
        return span, -(-span // self.size)

    @property
    def count(self) -> int:
        """Number of domains, short ones included."""
        span, per_span = self._section
        return self.nodes // span * per_span + -(-(self.nodes % span) // self.size)

    def find_domain(self, node: int) -> int:
        """The domain of a node. Raises IndexError for a node out of range."""
        if not 0 <= node < self.nodes:
            raise IndexError(f"node {node} is out of range: there are {self.nodes} nodes")
        span, per_span = self._section
        return node // span * per_span + node % span // self.size

    def list_domain_nodes(self, index: int) -> range:
        """The nodes of one domain. Raises IndexError for an index out of range."""
        if not 0 <= index < self.count:
            raise IndexError(f"domain {index} is out of range: level {self.name} has {self.count}")
        span, per_span = self._section
        start = index // per_span * span + index % per_span * self.size
        return range(start, min(start + self.size, (index // per_span + 1) * span, self.nodes))

    def __iter__(self) -> Iterator[range]:
        return (self.list_domain_nodes(index) for index in range(self.count))

    def __len__(self) -> int:
        return self.count
