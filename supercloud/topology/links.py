"""Links as arithmetic: a link group is a rule that computes the two ends of a link from its number.

One formula of `//`, `%`, `*` and `+` is used both with plain integers (one link at a time) and with numpy arrays (in
bulk), so that the two cannot differ and nothing is stored per link. A new kind of wiring is a subclass with `count` and
`compute_ends`.

Devices are numbered from 0 within their kind, over all planes (plane-major); ports are numbered from 0 within their
device. The ports towards the nodes are the first ones, those towards the core the last ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Link(NamedTuple):
    """One cable, with the end nearer to the nodes first."""

    source_kind: str
    source: int
    source_port: int
    target_kind: str
    target: int
    target_port: int
    plane: int


class LinkColumns(NamedTuple):
    """Links as integer arrays of equal length; the kinds of device are those of the link group."""

    source: NDArray[np.int64]
    source_port: NDArray[np.int64]
    target: NDArray[np.int64]
    target_port: NDArray[np.int64]
    plane: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LinkGroup(ABC):
    """All links between two kinds of device, enumerated without being stored."""

    source_kind: str
    target_kind: str

    @property
    def name(self) -> str:
        """Both kinds of device, the one nearer to the nodes first: `leaf-spine`."""
        return f"{self.source_kind}-{self.target_kind}"

    @property
    @abstractmethod
    def count(self) -> int:
        """Number of links; O(1)."""

    @abstractmethod
    def compute_ends(self, number: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Source, source port, target, target port and plane of link `number`, an integer or an integer array."""

    def iter_links(self, start: int = 0, stop: int | None = None) -> Iterator[Link]:
        """Iterate over the links with numbers from start to stop."""
        for number in range(*slice(start, stop).indices(self.count)):
            source, source_port, target, target_port, plane = self.compute_ends(number)
            yield Link(self.source_kind, source, source_port, self.target_kind, target, target_port, plane)

    def build_columns(self, start: int = 0, stop: int | None = None) -> LinkColumns:
        """Return the links with numbers from start to stop as arrays of int64."""
        import numpy as np

        first, last, _ = slice(start, stop).indices(self.count)
        return LinkColumns(*self.compute_ends(np.arange(first, max(first, last), dtype=np.int64)))

    def __iter__(self) -> Iterator[Link]:
        return self.iter_links()

    def __len__(self) -> int:
        return self.count


@dataclass(frozen=True, slots=True)
class NodeLinks(LinkGroup):
    """Node to leaf. Nodes are in units, units in blocks; all nodes of a block share the same `leaves_per_block`
    leaves.

    In a rail-optimized fabric the unit is the SU and side r is rail r; in a fat-tree a block has one leaf. Leaf of
    (unit, side, block) = `unit*unit_stride + side*side_stride + block`. A node's port is `nic*planes + plane`: the
    ports of one NIC, one per plane, are neighbors.
    """

    nodes: int
    planes: int
    nics: int  # node ports per plane
    unit_nodes: int  # nodes per unit
    block_nodes: int  # nodes per block
    leaves_per_block: int  # leaves per block
    unit_stride: int
    side_stride: int
    leaves: int  # per plane

    @property
    def count(self) -> int:
        """Number of links."""
        return self.nodes * self.nics * self.planes

    @property
    def nics_per_leaf(self) -> int:
        """Number of ports of one node on one leaf."""
        return -(-self.nics // self.leaves_per_block)

    def compute_number(self, node: int, nic: int, plane: int = 0) -> int:
        """Number of the link at a port of a node."""
        return (plane * self.nodes + node) * self.nics + nic

    def compute_ends(self, number: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Ends of a link, or of an array of links, by number."""
        per_plane = self.nodes * self.nics
        plane, rest = number // per_plane, number % per_plane
        node, nic = rest // self.nics, rest % self.nics
        unit, place = node // self.unit_nodes, node % self.unit_nodes
        side = nic // self.nics_per_leaf
        leaf = plane * self.leaves + unit * self.unit_stride + side * self.side_stride + place // self.block_nodes
        port = place % self.block_nodes * self.nics_per_leaf + nic % self.nics_per_leaf
        return node, nic * self.planes + plane, leaf, port, plane


@dataclass(frozen=True, slots=True)
class TierLinks(LinkGroup):
    """One switch tier to the next: in a group every lower switch has the same number of links to every upper switch.

    The lower switches come in sections (a plane, or one rail of it). A group is `group_switches` consecutive switches
    of a section (a pod; the last one may be short), or, if `is_strided`, every `group_switches`-th switch: all spines
    at the same position in their pod.
    """

    planes: int
    switches_per_plane: int  # lower switches per plane
    uplinks: int  # of each lower switch
    first_port: int  # of the uplinks
    section_switches: int  # lower switches per section
    group_switches: int
    is_strided: bool
    upper_switches: int  # upper switches per group

    @property
    def count(self) -> int:
        """Number of links."""
        return self.planes * self.switches_per_plane * self.uplinks

    def find_group(self, switch: Any) -> tuple[Any, Any]:
        """The group of a lower switch, counted over all planes, and its position in the group."""
        section, rest = switch // self.section_switches, switch % self.section_switches
        high, low = rest // self.group_switches, rest % self.group_switches
        if self.is_strided:
            return section * self.group_switches + low, high
        return section * -(-self.section_switches // self.group_switches) + high, low

    def compute_ends(self, number: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Ends of a link, or of an array of links, by number."""
        switch, uplink = number // self.uplinks, number % self.uplinks
        group, place = self.find_group(switch)
        parallel = self.uplinks // self.upper_switches
        upper = group * self.upper_switches + uplink // parallel
        upper_port = place * parallel + uplink % parallel
        return switch, self.first_port + uplink, upper, upper_port, switch // self.switches_per_plane


@dataclass(frozen=True, slots=True)
class RingLinks(LinkGroup):
    """Links between neighbors along an axis of a grid, from port `2*axis` (forward) to port `2*axis + 1`
    (backward).
    """

    axis: int
    size: int  # nodes along the axis
    stride: int  # distance of neighbors in node numbers
    rings: int  # lines of nodes along this axis
    is_closed: bool  # the last node is linked to the first

    @property
    def count(self) -> int:
        """Number of links."""
        return self.rings * (self.size if self.is_closed else self.size - 1)

    def compute_ends(self, number: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Ends of a link, or of an array of links, by number."""
        per_ring = self.size if self.is_closed else self.size - 1
        ring, here = number // per_ring, number % per_ring
        corner = ring // self.stride * self.stride * self.size + ring % self.stride
        there = (here + 1) % self.size
        zero = number * 0
        forward, backward = zero + 2 * self.axis, zero + 2 * self.axis + 1
        return corner + here * self.stride, forward, corner + there * self.stride, backward, zero
