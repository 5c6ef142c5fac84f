"""Checks of the interfaces that file systems are told to use."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..fabric.ipoib import interface_name, ipoib_devices
from ..model import FabricPlan, Plan, StoragePlan

__all__ = ["CHECKS"]

# Products whose files name interfaces.
_NAMING = ("lustre", "weka")


def storage_interfaces(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Stores over InfiniBand or RoCE whose interfaces nobody knows."""
    for index, item in enumerate(plan.storage):
        fabric = next((one for one in plan.fabrics if one.name == item.fabric and one.tiers), None)
        if fabric is None or item.kind not in _NAMING or plan.spec.storage[index].interface:
            continue
        if fabric.kind == "roce":
            yield Finding(
                "storage-interfaces", "warning", f"storage[{index}]",
                f"what interfaces on {fabric.name} are called is not known: the files of {item.name} name eth0 …",
                "set interface to their names, with commas between",
            )  # fmt: skip
        unknown = _without_devices(plan, fabric, item) if fabric.kind == "infiniband" else []
        if unknown:
            yield Finding(
                "storage-interfaces", "note", f"storage[{index}]",
                f"the RDMA devices of {', '.join(unknown)} on {fabric.name} are not known: there ipoib.sh takes "
                f"interfaces that are called {interface_name(fabric, 0)} … already, and stops where none is",
                "name them (systemd.link), put adapters[].devices into a catalog overlay, or set interface",
            )  # fmt: skip


def _without_devices(plan: Plan, fabric: FabricPlan, item: StoragePlan) -> list[str]:
    """Machines that are clients or servers of a store and whose devices on its fabric the catalog does not know."""
    links = fabric.rails * fabric.planes
    clients = {plan.pool(name).machine.name for name in fabric.pools if len(ipoib_devices(plan, fabric, name)) < links}
    names = {group.name: group.machine.name for group in item.servers}
    servers = {names[service.name] for service in fabric.services
               if service.name in names and len(service.devices) * service.count < service.links}  # fmt: skip
    return sorted(clients | servers)


CHECKS = (storage_interfaces,)
