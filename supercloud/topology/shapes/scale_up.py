"""Scale-up domains: accelerators that share memory bandwidth, separate from the network and below it.

NVLink 8 (DGX H100: one node, 4 switch chips, 18 links a GPU), NVLink 72 (GB200: 18 nodes, 18 switch chips, one link
from each GPU to each: RA-11338-001 V01), Infinity Fabric (8 accelerators, each linked to every other), ICI and
NeuronLink (a torus).

Accelerators are numbered node by node. The last domain may be short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..domains import Level
from ..errors import TopologyError, require_at_least
from ..grid import Grid
from ..links import LinkGroup
from .torus import build_ring_links


@dataclass(frozen=True, slots=True)
class ScaleUp:
    """The wiring of accelerators 0..nodes*accelerators-1 in domains of whole nodes."""

    kind: str  # switched, mesh, torus
    nodes: int
    accelerators: int  # of a node
    switches: int  # of a domain
    level: Level  # the domains, in nodes; hops = switches between two accelerators
    link_groups: tuple[LinkGroup, ...]

    @property
    def domain_accelerators(self) -> int:
        """Number of accelerators of a full domain."""
        return self.level.size * self.accelerators

    @property
    def switch_count(self) -> int:
        """Number of switches of all domains."""
        return self.switches * self.level.count

    @property
    def link_count(self) -> int:
        """Number of links of all domains."""
        return sum(group.count for group in self.link_groups)


@dataclass(frozen=True, slots=True)
class SwitchLinks(LinkGroup):
    """Accelerator to scale-up switch: the links of an accelerator use the switches of its domain round-robin."""

    accelerators: int
    links_per_accelerator: int  # links of an accelerator
    domain_accelerators: int  # accelerators of a full domain
    switches: int  # of a domain

    @property
    def count(self) -> int:
        """Number of links."""
        return self.accelerators * self.links_per_accelerator

    def compute_ends(self, number: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Ends of a link, or of an array of links, by number."""
        accelerator, link = number // self.links_per_accelerator, number % self.links_per_accelerator
        switch = accelerator // self.domain_accelerators * self.switches + link % self.switches
        port = (
            accelerator % self.domain_accelerators * -(-self.links_per_accelerator // self.switches)
            + link // self.switches
        )
        return accelerator, link, switch, port, number * 0


@dataclass(frozen=True, slots=True)
class MeshLinks(LinkGroup):
    """Every accelerator of a domain to every other: first all at distance 1 around the ring, then at 2, ..."""

    first: int  # number of the first accelerator
    domains: int
    domain_accelerators: int  # accelerators of a domain
    parallel_links: int  # links between two accelerators

    @property
    def count(self) -> int:
        """Number of links."""
        return self.domains * (self.domain_accelerators * (self.domain_accelerators - 1) // 2) * self.parallel_links

    def compute_ends(self, number: Any) -> tuple[Any, Any, Any, Any, Any]:
        """Ends of a link, or of an array of links, by number."""
        pair, strand = number // self.parallel_links, number % self.parallel_links
        pairs = self.domain_accelerators * (self.domain_accelerators - 1) // 2
        domain, rest = pair // pairs, pair % pairs
        one, apart = rest % self.domain_accelerators, rest // self.domain_accelerators + 1
        base = self.first + domain * self.domain_accelerators
        back = self.domain_accelerators - apart
        one_port, other_port = (apart - 1) * self.parallel_links + strand, (back - 1) * self.parallel_links + strand
        return base + one, one_port, base + (one + apart) % self.domain_accelerators, other_port, number * 0


def build_switched_scale_up(
    nodes: int, *, accelerators: int, links_per_accelerator: int, switches: int, domain_nodes: int = 1
) -> ScaleUp:
    """Build domains of `domain_nodes` nodes whose accelerators have `links_per_accelerator` each.

    The links are distributed over the `switches` of the domain. Raises TopologyError for numbers below 1.
    """
    require_at_least(
        1, nodes=nodes, accelerators=accelerators, links=links_per_accelerator, switches=switches, domain=domain_nodes
    )
    group = SwitchLinks(
        "accelerator", "switch", nodes * accelerators, links_per_accelerator, domain_nodes * accelerators, switches
    )
    return ScaleUp("switched", nodes, accelerators, switches, Level("scale-up", nodes, domain_nodes, 1), (group,))


def build_mesh_scale_up(nodes: int, *, accelerators: int, domain_nodes: int = 1, parallel_links: int = 1) -> ScaleUp:
    """Build domains of `domain_nodes` nodes, each accelerator with `parallel_links` to every other: n(n-1)/2 pairs.

    Raises TopologyError for numbers below 1.
    """
    require_at_least(1, nodes=nodes, accelerators=accelerators, domain=domain_nodes, parallel=parallel_links)
    full, short = divmod(nodes, domain_nodes)
    size = domain_nodes * accelerators
    parts = ((0, full, size), (full * size, 1 if short else 0, short * accelerators))
    groups = tuple(
        MeshLinks("accelerator", "accelerator", first, domains, size, parallel_links)
        for first, domains, size in parts
        if domains and size > 1
    )
    return ScaleUp("mesh", nodes, accelerators, 0, Level("scale-up", nodes, domain_nodes, 0), groups)


def build_torus_scale_up(
    nodes: int, *, accelerators: int, dims: Sequence[int], wrap: bool | Sequence[bool] = True
) -> ScaleUp:
    """Build domains that are tori of accelerators, `dims` along each axis; all of them full.

    Raises TopologyError if a torus does not consist of whole nodes, or the last one would be short.
    """
    require_at_least(1, nodes=nodes, accelerators=accelerators)
    grid = Grid(tuple(dims), (wrap,) * len(dims) if isinstance(wrap, bool) else tuple(wrap))
    domain, rest = divmod(grid.nodes, accelerators)
    if rest or not domain or nodes % domain:
        raise TopologyError(
            f"{nodes} nodes of {accelerators} accelerators do not form whole tori of {grid.nodes}",
            f"use a multiple of {domain} nodes" if domain and not rest else "use dims that contain whole nodes",
        )
    groups = build_ring_links("accelerator", grid, nodes // domain)
    return ScaleUp("torus", nodes, accelerators, 0, Level("scale-up", nodes, domain, 0), groups)
