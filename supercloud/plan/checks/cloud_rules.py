"""How many rules the groups that guard a cloud's interfaces will have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ...catalog import Catalog, StorageService
from ..cloud_model import CloudPlan

__all__ = ["rules_of"]

# Everything from and to the group itself: what a fabric needs.
_SELF = 1


def rules_of(cloud: CloudPlan, catalog: Catalog) -> Iterator[tuple[str, int, str]]:
    """(what is guarded, rules inwards, path in the spec) of each group.

    Nodes: themselves, and a rule for each range that may log in. File systems: a rule for each range of ports, from
    nodes.
    """
    yield "hosts that users log in to", _SELF + len(cloud.network.access), "network.access"
    for item in cloud.storage:
        if item.kind == "bucket":
            continue
        service = cast(StorageService, catalog.get("storage-services", item.product))
        yield f"the file system {item.name}", _SELF + len(service.tcp_ports) + len(service.udp_ports), "storage"
