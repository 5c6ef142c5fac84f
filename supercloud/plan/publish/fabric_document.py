"""A fabric of the published plan. Field names include the unit."""

from __future__ import annotations

from ...primitives.nodes import fold
from ..build.cabling.counts import count_cables
from ..build.fabric.partitions import build_partitions
from ..model.plan import FabricPlan, Plan
from .document_part import DocumentPart

__all__ = ["FabricDocument", "build_fabric_document"]


class SwitchCounts(DocumentPart):
    """Number of switches by tier."""

    leaf: int
    """Switches that nodes are connected to."""
    spine: int
    """Switches that connect leaves."""
    core: int
    """Switches that connect spines of pods."""


class CableCounts(DocumentPart):
    """Switch ports occupied by links of each kind: two links of a splitter share one port."""

    node_leaf: int
    """Ports of leaves for nodes."""
    leaf_spine: int
    """Ports of leaves for spines."""
    spine_core: int
    """Ports of spines for core switches."""
    manager: int
    """Ports for hosts that are not nodes of a pool: subnet managers, storage servers, managed devices."""
    node_node: int
    """Links of a torus."""


class PartitionDocument(DocumentPart):
    """A partition of an InfiniBand fabric, for one tenant."""

    name: str
    """Name of the partition."""
    pkey: str
    """In hexadecimal, without the membership bit, for example 0x1a2b."""
    hosts: str | None
    """Folded host list; null for all hosts of the fabric."""


class FabricDocument(DocumentPart):
    """A network between machines."""

    name: str
    """Name of the fabric."""
    kind: str
    """Technology, such as ``infiniband``, ``ethernet``, ``efa``."""
    shape: str
    """Topology: ``rail-optimized``, ``fat-tree``, ``clos`` or ``torus``; ``managed`` if a cloud decides it."""
    pools: list[str]
    """Pools that are connected to it."""
    speed_gb_s: float | None
    """Speed of one link in Gb/s; null if it is unknown."""
    rails: int
    """Number of rails: links of a node in one plane; dimensions of a torus. In a network of a provider, links of the
    nodes that have the fewest."""
    pool_links: dict[str, int] = {}
    """Pool -> links of its nodes, if they have more than rails times planes: in networks of a provider only."""
    leaf_rails: int
    """Rails of a node on one leaf."""
    planes: int
    """Number of separate planes of switches."""
    unit_nodes: int | None
    """Nodes of a scalable unit; null if the fabric has no units."""
    switch_models: dict[str, str]
    """Tier -> switch of the catalog; empty if the network is a provider's."""
    switches: SwitchCounts
    """Number of its switches by tier."""
    cables: CableCounts
    """Ports by kind of link."""
    links: int
    """All links, including those of splitters, between switches or machines of a pair, and to other networks."""
    cable_pieces: int
    """Number of cables to order: links of one twin-port cable or splitter share it."""
    bisection: float | None
    """Bandwidth between the worst two halves over that of the nodes of one half; null if the network is a
    provider's."""
    partitions: list[PartitionDocument] = []
    """InfiniBand: declared partitions sorted by name; empty if all hosts are in the default partition."""


def build_fabric_document(plan: Plan, fabric: FabricPlan) -> FabricDocument:
    """Build the published form of a fabric."""
    declared = next(item for item in plan.spec.fabrics if item.name == fabric.name)
    cables, all_of_it = fabric.link_counts, count_cables(plan, [fabric])
    bisection = getattr(fabric.wiring, "bisection", None)
    return FabricDocument(
        name=fabric.name,
        kind=fabric.kind,
        shape=fabric.shape,
        pools=list(fabric.pools),
        speed_gb_s=fabric.speed.to("Gb/s") if fabric.speed else None,
        rails=fabric.rails,
        pool_links=dict(sorted(fabric.pool_links.items())),
        leaf_rails=fabric.rails_per_leaf,
        planes=fabric.planes,
        unit_nodes=fabric.unit_nodes,
        switch_models={tier.name: tier.switch.name for tier in fabric.tiers},
        switches=SwitchCounts(
            leaf=fabric.count_switches("leaf"), spine=fabric.count_switches("spine"), core=fabric.count_switches("core")
        ),
        cables=CableCounts(
            node_leaf=cables.get("node_leaf", 0),
            leaf_spine=cables.get("leaf_spine", 0),
            spine_core=cables.get("spine_core", 0),
            manager=cables.get("manager", 0),
            node_node=cables.get("node_node", 0),
        ),
        links=all_of_it.links,
        cable_pieces=all_of_it.pieces,
        bisection=round(bisection, 6) if bisection is not None else None,
        partitions=[
            PartitionDocument(
                name=item.name, pkey=f"0x{item.pkey:04x}", hosts=fold(item.hosts) if item.hosts is not None else None
            )
            for item in (build_partitions(declared) if fabric.kind == "infiniband" else ())
        ],
    )
