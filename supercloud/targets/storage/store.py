"""One file system or object store, for the module of its product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...plan.build.storage.clients import (
    explain_fabric_only,
    has_service_hosts,
    list_client_pools,
    list_routed_pools,
    list_unreached_pools,
)
from ...plan.build.storage.interfaces import StoreInterfaces, build_store_interfaces
from ...plan.model.plan import Plan, PoolPlan, ServerGroup, StoragePlan
from ...primitives.bundle import File
from ...primitives.templates import render_template
from ..header import format_origin

__all__ = ["StorageSystem", "format_header"]


def format_header(name: str) -> str:
    """Return the first line of every file."""
    return format_origin(f"from {name}")


@dataclass(frozen=True)
class StorageSystem:
    """A storage of a plan, by its index in the spec."""

    plan: Plan
    index: int

    @property
    def storage_plan(self) -> StoragePlan:
        """Its part of the plan."""
        return self.plan.storage[self.index]

    @property
    def mount_path(self) -> str:
        """Mount point of clients."""
        return self.storage_plan.mount or f"/{self.storage_plan.name}"

    @property
    def fabric_kind(self) -> str:
        """Kind of the fabric that clients use: infiniband, roce, ethernet."""
        found = (fabric.kind for fabric in self.plan.fabrics if fabric.name == self.storage_plan.fabric)
        return next(found, "ethernet")

    @property
    def host_suffix(self) -> str:
        """Suffix of a server's name on the fabric; empty if it uses its in-band address."""
        served = (
            self.plan.networks.list_servers(self.storage_plan.fabric)
            if self.plan.networks and self.storage_plan.fabric
            else ()
        )
        return f"-{self.storage_plan.fabric}" if served else ""

    @property
    def fabric_subnets(self) -> tuple[str, ...]:
        """Subnets of the ports of servers and clients on its fabric; empty if they use their in-band addresses."""
        if not self.plan.networks or not self.host_suffix:
            return ()
        subnets = self.plan.networks.subnets
        return tuple(
            str(item.block) for item in subnets if (item.fabric, item.role) == (self.storage_plan.fabric, "rail")
        )

    @property
    def clients(self) -> tuple[PoolPlan, ...]:
        """Pools whose nodes mount it."""
        return list_client_pools(self.plan, self.index)

    @property
    def routed(self) -> tuple[PoolPlan, ...]:
        """Clients on another network, whose interfaces have different names."""
        return list_routed_pools(self.plan, self.index)

    @property
    def unreached(self) -> dict[str, list[PoolPlan]]:
        """Reason why their nodes do not mount it -> the pools."""
        found: dict[str, list[PoolPlan]] = {}
        for pool in list_unreached_pools(self.plan, self.index):
            need = explain_fabric_only(self.plan, self.index, pool)
            why = f"{need}, and they have none" if need else "no network of the plan connects them to the servers"
            found.setdefault(why, []).append(pool)
        return found

    @property
    def has_service_hosts(self) -> bool:
        """Whether hosts of the in-band network, such as login hosts, reach it."""
        return has_service_hosts(self.plan, self.index)

    @property
    def interfaces(self) -> StoreInterfaces:
        """Interfaces on servers and clients."""
        return build_store_interfaces(self.plan, self.index)

    @property
    def missing_interfaces(self) -> str:
        """Text in files in place of interfaces with unknown names."""
        return (
            f"the interfaces of {self.storage_plan.name} are unknown: "
            f"set storage[{self.index}].interface and render again"
        )

    def get_server_group(self, role: str) -> ServerGroup:
        """Return the servers of a role."""
        return next(group for group in self.storage_plan.servers if group.role == role)

    def format_host(self, role: str, index: int) -> str:
        """Format the address of a server: its name on the fabric, or on the in-band network."""
        return next(iter(self.get_server_group(role).hosts.slice(index, index + 1))) + self.host_suffix

    def render_template(self, template: str, executable: bool = False, **values: Any) -> File:
        """Render a file from a template of the storage folder."""
        text = render_template(
            f"storage/{template}", head=format_header(self.plan.name), store=self, item=self.storage_plan, **values
        )
        return File(text, executable)
