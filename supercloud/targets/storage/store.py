"""One file system or object store as its product's module sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..._version import __version__
from ...plan.build.storage.clients import (
    client_pools,
    has_service_hosts,
    routed_pools,
    unreached_pools,
    why_on_fabric_only,
)
from ...plan.build.storage.interfaces import store_interfaces
from ...plan.model.plan import Plan, PoolPlan, ServerGroup, StoragePlan
from ...primitives.bundle import File
from ...primitives.templates import fill
from ...spec import Storage

__all__ = ["Store", "head"]


def head(name: str) -> str:
    """The first line of every file."""
    return f"made by supercloud {__version__} from {name}; edits are lost"


@dataclass(frozen=True)
class Store:
    """A store of a plan, by its place in the spec."""

    plan: Plan
    index: int

    @property
    def item(self) -> StoragePlan:
        """What was decided about it."""
        return self.plan.storage[self.index]

    @property
    def declared(self) -> Storage:
        """What was said about it."""
        return self.plan.spec.storage[self.index]

    @property
    def mount(self) -> str:
        """Where clients see it."""
        return self.item.mount or f"/{self.item.name}"

    @property
    def kind(self) -> str:
        """Of the fabric it is reached over: infiniband, roce, ethernet."""
        found = (fabric.kind for fabric in self.plan.fabrics if fabric.name == self.item.fabric)
        return next(found, "ethernet")

    @property
    def suffix(self) -> str:
        """What a server's name on the fabric has after its own; nothing where its ordinary address is the one there."""
        served = self.plan.networks.served(self.item.fabric) if self.plan.networks and self.item.fabric else ()
        return f"-{self.item.fabric}" if served else ""

    @property
    def clients(self) -> tuple[PoolPlan, ...]:
        """The pools whose nodes mount it."""
        return client_pools(self.plan, self.index)

    @property
    def routed(self) -> tuple[PoolPlan, ...]:
        """Those of its clients that are on another network, whose interfaces have other names."""
        return routed_pools(self.plan, self.index)

    @property
    def unreached(self) -> dict[str, list[PoolPlan]]:
        """Why their nodes do not mount it -> the pools."""
        found: dict[str, list[PoolPlan]] = {}
        for pool in unreached_pools(self.plan, self.index):
            need = why_on_fabric_only(self.plan, self.index, pool)
            why = f"{need}, and they have none" if need else "no network of the plan leads from there to the servers"
            found.setdefault(why, []).append(pool)
        return found

    @property
    def has_service_hosts(self) -> bool:
        """Whether hosts of the ordinary network, such as login hosts, reach it."""
        return has_service_hosts(self.plan, self.index)

    @property
    def interfaces(self) -> tuple[str, ...]:
        """Interfaces on servers and clients; empty where their names are not known."""
        return store_interfaces(self.plan, self.index)

    @property
    def lack(self) -> str:
        """What a file says in place of interfaces whose names are not known."""
        return f"the interfaces of {self.item.name} are not known: set storage[{self.index}].interface and render again"

    def group(self, role: str) -> ServerGroup:
        """The servers of a role."""
        return next(group for group in self.item.servers if group.role == role)

    def host(self, role: str, index: int) -> str:
        """A server as it is reached: by its name on the fabric, or on the ordinary network."""
        return next(iter(self.group(role).hosts.part(index, index + 1))) + self.suffix

    def fill(self, template: str, executable: bool = False, **values: Any) -> File:
        """A file from a template of the storage folder."""
        text = fill(f"storage/{template}", head=head(self.plan.name), store=self, item=self.item, **values)
        return File(text, executable)
