"""Checks of the network interfaces that file systems use."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding
from ..build.fabric.ipoib import format_interface_name, list_ipoib_devices
from ..build.fabric.roles import is_routed
from ..build.storage.interfaces import StoreInterfaces, build_store_interfaces, find_store_fabric
from ..model.plan import FabricPlan, Plan, StoragePlan

__all__ = ["CHECKS"]

# Products whose files list interfaces; those of the others have names of hosts, whose addresses are on the interfaces.
_KINDS_WITH_INTERFACES = ("lustre", "weka")


def storage_interfaces(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Stores whose interfaces are unknown, or known only if the RDMA devices are."""
    for index, item in enumerate(plan.storage):
        if plan.spec.storage[index].interface:
            continue
        fabric = find_store_fabric(plan, index)
        interfaces = build_store_interfaces(plan, index)
        if not interfaces.is_complete:
            if item.servers and item.kind in _KINDS_WITH_INTERFACES:
                where = f"on {fabric.name}" if fabric else "on the in-band network"
                if unnamed := _list_hosts_without_names(interfaces, item):
                    where = f"of {' and '.join(unnamed)} {where}"
                yield Finding(
                    "storage-interfaces",
                    "warning",
                    f"storage[{index}].interface",
                    f"unknown interface names {where}: the files of {item.name} contain none and exit "
                    "with that message",
                    "set interface to their names, separated by commas",
                )
            continue
        assert fabric is not None
        routed = is_routed(fabric.kind, fabric.role)
        if not item.servers or (fabric.kind != "infiniband" and not routed):
            continue  # network-bonds has the links of bonds
        unknown = _list_machines_without_devices(plan, fabric, item)
        if unknown:
            script = "roce-rails.sh" if routed else "ipoib.sh"
            tcp = f", and {item.name} does not use RDMA" if item.kind == "storage-scale" else ""
            yield Finding(
                "storage-interfaces",
                "note",
                f"storage[{index}]",
                f"the RDMA devices of {', '.join(unknown)} on {fabric.name} are unknown: {script} uses "
                f"interfaces that are already named {format_interface_name(fabric, 0)} … there, and fails if there "
                f"are none{tcp}",
                "name them (systemd.link), add adapters[].devices to a catalog overlay, or set interface",
            )


def _list_hosts_without_names(interfaces: StoreInterfaces, storage: StoragePlan) -> list[str]:
    """The hosts of a store whose interfaces have no names in the plan; empty if no host's interfaces have."""
    if not interfaces.clients and not any(interfaces.servers.values()):
        return []
    return [str(group.hosts) for group in storage.servers if not interfaces.servers[group.role]] + (
        [] if interfaces.clients else ["clients"]
    )


def storage_gateway(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """WEKA whose clients and servers are in different subnets: it uses no kernel routes, and needs explicit gateways.

    On a routed fabric every link is a subnet; on a bridged one the planned servers have a subnet of their own.

    docs.weka.io, mount options (``net=<netdev>/[ip]/[bits]/[gateway]`` where a client is in another subnet) and
    ``weka cluster container net add`` for containers.
    """
    for index, item in enumerate(plan.storage):
        fabric = find_store_fabric(plan, index)
        if item.kind != "weka" or fabric is None or fabric.kind == "infiniband" or not fabric.tiers:
            continue
        routed = is_routed(fabric.kind, fabric.role)
        if not routed and not item.servers:
            continue
        where = (
            f"every link of {fabric.name} is a subnet of its own"
            if routed
            else f"on {fabric.name} the servers of {item.name} are in a subnet of their own"
        )
        values = (
            "net=<interface>/<address>/31/<gateway> for each client"
            if routed
            else "net=<interface>/<address>/<bits>/<gateway> for each client (hosts/subnets.csv has the gateways)"
        )
        show = "; roce-rails.sh show prints those of a host: <address>/31 via <gateway>" if routed else ""
        yield Finding(
            "storage-gateway",
            "warning",
            f"storage[{index}].fabric",
            f"{where}, and the files of {item.name} have no gateway: "
            "WEKA bypasses the routes of the system and cannot reach hosts of other subnets",
            f"use an InfiniBand fabric, or write {values}, and add one to each container "
            f"with weka cluster container net add (--ips, --netmask, --gateway){show}",
        )


def _list_machines_without_devices(plan: Plan, fabric: FabricPlan, storage: StoragePlan) -> list[str]:
    """Machines that are clients or servers of a store and whose devices on its fabric the catalog does not know."""
    links = fabric.rails * fabric.planes
    clients = {
        plan.get_pool(name).machine.name for name in fabric.pools if len(list_ipoib_devices(plan, fabric, name)) < links
    }
    names = {group.name: group.machine.name for group in storage.servers}
    servers = {
        names[service.name]
        for service in fabric.services
        if service.name in names and len(service.devices) * service.count < service.links
    }
    return sorted(clients | servers)


CHECKS = (storage_gateway, storage_interfaces)
