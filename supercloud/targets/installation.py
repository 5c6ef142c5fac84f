"""The page above the folders of all targets: the order of their installation, and the hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from ..plan.build.fabric.partitions import find_manager_node, list_manager_hosts, list_service_hosts
from ..plan.build.fabric.rdma_devices import list_rdma_hosts
from ..plan.build.fabric.roles import is_routed
from ..plan.build.fabric.switch_manager import list_manager_switches
from ..plan.build.network.address_servers import list_address_servers
from ..plan.build.network.bonds import find_bond_groups
from ..plan.build.storage.clients import has_service_hosts, list_client_pools
from ..plan.model.plan import FabricPlan, HostPlan, Plan, PoolPlan
from ..primitives.bundle import Bundle
from ..primitives.nodes import expand, fold
from ..primitives.templates import render_template
from . import list_targets

__all__ = ["render_order"]

_ONLY_READ = ("diagram",)
"""Targets whose files are not installed anywhere."""


def render_order(plan: Plan) -> Bundle:
    """Render INSTALL.md of the whole output. Cloud clusters have none: their machines configure themselves at boot."""
    if plan.site.kind != "onprem":
        return Bundle({})
    targets, values = list_targets(plan), _build_values(plan)
    text = _render_page(values, ())
    added = [name for name in targets if name not in _ONLY_READ and f"`{name}/" not in text]
    return Bundle({"INSTALL.md": _render_page(values, added) if added else text})


def _build_values(plan: Plan) -> dict[str, Any]:
    """The values of the page, besides the added targets."""
    servers = list_address_servers(plan)
    served = {server.name for server in servers}
    schedulers = list(dict.fromkeys(host.name for host in _list_schedulers(plan)))
    return {
        "plan": plan,
        "targets": list_targets(plan),
        "servers": servers,
        "drivers": [pool for pool in plan.pools if pool.accelerator],
        "schedulers": schedulers,
        "others": _list_other_hosts(plan, schedulers, served),
        "rdma": list_rdma_hosts(plan) if plan.networks else [],
        "is_switched": _is_switched,
        "nvlink_domains": [pool for pool in plan.pools if _has_nvlink(pool) and pool.machine.domain_nodes > 1],
        "outside": [
            (item, _describe_clients(plan, index)) for index, item in enumerate(plan.storage) if not item.servers
        ],
    } | _group_fabrics(plan)


def _render_page(values: Mapping[str, Any], added: Sequence[str]) -> str:
    """Render the page; ``added``: targets that have no row of their own in the template."""
    return render_template("installation/INSTALL.md.j2", added=added, **values)


def _group_fabrics(plan: Plan) -> dict[str, Any]:
    """Group the fabrics with switches by the way in which they are installed."""
    joined = [fabric for fabric in plan.fabrics if fabric.tiers]
    ethernet = [item for item in joined if item.kind != "infiniband"]
    return {
        "bridged": [item for item in ethernet if not is_routed(item.kind, item.role)],
        "routed": [item for item in ethernet if is_routed(item.kind, item.role)],
        "managers": [(item, _describe_managers(plan, item)) for item in joined if item.kind == "infiniband"],
        "bonds": any(find_bond_groups(item) for item in joined if item.role == "in-band"),
    }


def _list_schedulers(plan: Plan) -> tuple[HostPlan, ...]:
    database = plan.scheduler.database
    return (*plan.scheduler.controllers, *((database,) if database else ()))


def _list_other_hosts(plan: Plan, schedulers: Sequence[str], served: Set[str]) -> list[str]:
    """Hosts besides nodes and login hosts that need an operating system, each group once.

    Those on leaf ports of data networks include the hosts of subnet managers; machines that their vendor manages have
    an operating system of their own. ``served`` has one already.
    """
    fabrics = [item for item in plan.fabrics if item.role != "management"]
    services = [item for fabric in fabrics for item in fabric.services if item.is_managed and item.name != "login"]
    groups = [*([name] for name in schedulers), *(expand(str(group.hosts)) for group in plan.servers)]
    groups += [list_service_hosts(item) for item in services]
    listed, found = set(served), []
    for group in groups:
        names = [name for name in group if name not in listed]
        listed.update(names)
        found += [fold(names)] if names else []
    return found


def _describe_clients(plan: Plan, index: int) -> str:
    """Describe the hosts that mount a storage."""
    nodes = [str(pool.hosts) for pool in list_client_pools(plan, index)]
    logins = plan.scheduler.kind == "slurm" and has_service_hosts(plan, index)
    return ", ".join([*nodes, *["login hosts"] * logins]) or "its clients"


def _has_nvlink(pool: PoolPlan) -> bool:
    """Whether NVLink switches connect the accelerators of a pool."""
    link = pool.accelerator.scale_up if pool.accelerator else None
    return bool(link and link.kind.startswith("NVLink") and link.wiring == "switched")


def _is_switched(pool: PoolPlan) -> bool:
    """Whether NVLink switches may be on the machine's board, whose service is a package of the driver."""
    return _has_nvlink(pool) and pool.machine.domain_nodes == 1


def _describe_managers(plan: Plan, fabric: FabricPlan) -> str:
    """Describe the hosts of a subnet manager; without a declared machine or switch, a node."""
    kind = fabric.require_subnet_manager().kind
    declared = list_manager_switches(fabric) if kind == "switch" else list_manager_hosts(fabric)
    if declared:
        return ", ".join(declared)
    if kind == "nvidia":
        return "hosts of UFM, which the spec does not declare"
    node = find_manager_node(plan, fabric)
    return f"a host on it, such as {node}" if node else "a host on it that belongs to no tenant"
