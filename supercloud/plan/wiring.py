"""A declared fabric's numbers, handed to the builder of its shape."""

from __future__ import annotations

from ..catalog import Machine
from ..catalog.machine import ScalableUnit
from ..spec import ClusterSpec, Fabric
from ..topology import Fabric as Wiring
from ..topology import clos, fat_tree, rail_optimized
from ..topology.tiers import most_down
from .apart import leaves_apart
from .model import Service
from .problems import Problems

__all__ = ["build", "rack_nodes", "reference_unit"]


def reference_unit(fabric: Fabric, machine: Machine, radix: int) -> ScalableUnit | None:
    """The maker's scalable unit, where the leaves are those it is drawn for and the user does not say otherwise."""
    unit = machine.scalable_unit
    if unit is None or fabric.su or fabric.leaf_down:
        return None
    return unit if unit.radix in (None, radix) else None


def build(
    fabric: Fabric,
    nodes: int,
    rails: int,
    planes: int,
    radix: tuple[int, ...],
    unit: ScalableUnit | None,
    machine: Machine,
    rack: int,
    services: tuple[Service, ...],
) -> Wiring:
    ratio = (float(fabric.oversubscription.leaf), float(fabric.oversubscription.spine))
    reserved = -(-sum(service.ports for service in services) // planes)
    down = fabric.leaf_down or (unit.leaf_down if unit else None)
    ports = (radix[0], radix[1], radix[2])
    if fabric.joins:
        return leaves_apart(nodes, nics=rails, radix=radix[0], down=fabric.leaf_down, reserved=reserved)
    if fabric.shape == "fat-tree":
        return fat_tree(
            nodes,
            nics=rails,
            radix=ports,
            planes=planes,
            tiers=fabric.tiers,
            down=down,
            uplinks=fabric.leaf_up,
            spines=fabric.spines,
            oversubscription=ratio,
            reserved=reserved,
        )
    if fabric.shape == "clos":
        return clos(
            nodes,
            nics=rails,
            rack=rack,
            radix=ports,
            planes=planes,
            uplinks=fabric.leaf_up,
            pod=fabric.racks_per_pod,
            tiers=fabric.tiers,
            spines=fabric.spines,
            oversubscription=ratio,
            reserved=reserved,
        )
    if down is None and fabric.su is None and machine.domain_nodes > 1:
        # a leaf takes whole scale-up domains, so that none is split over two of them
        most = most_down(radix[0], ratio[0])
        down = most // machine.domain_nodes * machine.domain_nodes or None
    return rail_optimized(
        nodes,
        rails=rails,
        radix=ports,
        unit=fabric.su or (unit.nodes if unit else _only_unit(nodes, radix[0], ratio[0], down)),
        down=down,
        uplinks=fabric.leaf_up,
        planes=planes,
        tiers=fabric.tiers,
        pod=fabric.pod or (unit.pod if unit and unit.pod else "su"),
        spines=fabric.spines,
        oversubscription=ratio,
        reserved=reserved,
    )


def _only_unit(nodes: int, radix: int, ratio: float, down: int | None) -> int | None:
    """All nodes as one unit where a leaf has room for more and no reference design asks for whole leaves."""
    return nodes if down is None and nodes < most_down(radix, ratio) else None


def rack_nodes(fabric: Fabric, path: str, rails: int, spec: ClusterSpec, problems: Problems) -> int | None:
    """Nodes under one top-of-rack switch."""
    if fabric.su:
        return fabric.su
    if fabric.leaf_down:
        return max(1, fabric.leaf_down // rails)
    if spec.facility and spec.facility.rack and spec.facility.rack.nodes:
        return spec.facility.rack.nodes
    problems.error(
        "fabric-rack",
        path,
        "nodes per rack are not known, and every rack of a Clos has a leaf of its own",
        "set 'su' here, or facility.rack.nodes",
    )
    return None
