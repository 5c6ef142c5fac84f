"""The machine of a service at each reserved leaf port: the common source for cables, addresses and switches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ....topology.reserved import ReservedLinks
from ...model.fabric import FabricPlan

__all__ = ["ServiceLinks", "build_service_links"]

Ints = NDArray[np.int64]


class ServiceLinks(NamedTuple):
    """The links of all services of a fabric, as columns of equal length."""

    service: Ints
    """Index in the fabric's services."""
    machine: Ints
    """Machine of the service, from 0."""
    port: Ints
    """Port of the machine, from 0."""
    leaf: Ints
    leaf_port: Ints
    lane: Ints
    """Number of the splitter's end, from 1; 0 if the leaf's port is not split."""
    plane: Ints


def build_service_links(fabric: FabricPlan) -> ServiceLinks | None:
    """Assign the reserved ports machine by machine, so that the links of one machine are on neighboring leaves: on the
    two of a pair, or on different rails. A splitter, or a cable that occupies a cage, serves one machine per end.

    The ports of a service alternate between the planes. None if a fabric has no services.
    """
    groups = fabric.require_wiring().link_groups
    reserved = next((group for group in groups if isinstance(group, ReservedLinks)), None)
    if reserved is None or not fabric.services:
        return None
    _, _, leaf, port, plane = reserved.build_columns()
    planes = max(1, fabric.planes)
    whole, start = sum(service.count_leaf_ports_per_plane(planes) for service in fabric.services), 0
    parts: list[tuple[Ints, ...]] = []
    for number, service in enumerate(fabric.services):
        link = np.arange(service.links)
        size = service.ports_per_cable if service.ports_per_cable > 1 else service.split
        piece, within = link // size, link % size
        machine, port_of = link % service.count, link // service.count
        if service.links % service.count == 0 and service.count % size == 0:
            each = service.links // service.count
            machine, port_of = piece // each * size + within, piece % each
        place = piece // planes * service.ports_per_cable + (within if service.ports_per_cable > 1 else 0)
        row = piece % planes * whole + start + place
        lane = within + 1 if service.ports_per_cable == 1 and service.split > 1 else link * 0
        parts.append((link * 0 + number, machine, port_of, row, lane))
        start += service.count_leaf_ports_per_plane(planes)
    owner, machine, port_of, row, lane = (np.concatenate(column) for column in zip(*parts, strict=True))
    return ServiceLinks(owner, machine, port_of, leaf[row], port[row], lane, plane[row])
