"""Checks of the network adapters of hosts on RoCE fabrics."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..build.network.adapter_qos import iter_adapters
from ..model.plan import Plan

__all__ = ["CHECKS"]


def roce_host_qos(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Hosts on a lossless fabric for whose adapters the catalog has no configuration tool."""
    positions = {fabric.name: index for index, fabric in enumerate(plan.spec.fabrics)}
    for underlay in plan.networks.underlays if plan.networks else ():
        fabric = next(item for item in plan.fabrics if item.name == underlay.fabric)
        unknown = [
            f"{key} ({adapter.model if adapter and adapter.model else 'unknown model'})"
            for key, adapter in iter_adapters(fabric, plan.pools, underlay.servers)
            if key not in underlay.adapter_tools
        ]
        if unknown:
            yield Finding(
                "roce-host-qos",
                "warning",
                f"fabrics[{positions[underlay.fabric]}]",
                f"the catalog has no tool that sets DSCP and PFC on the adapters of {', '.join(unknown)}: the bundle "
                f"roce has no roce-qos.sh for them, and {underlay.fabric} is lossless only where its hosts pause",
                "configure them according to the vendor's manual, with the values in INSTALL.md of roce; if the vendor "
                "has a tool in the catalog, put adapters[].model into an overlay of the machine",
            )


CHECKS = (roce_host_qos,)
