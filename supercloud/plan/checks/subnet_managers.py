"""Checks of InfiniBand subnet managers: where they run, and whether a port is free for their host."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog, Machine
from ...errors import Finding
from ...spec import Fabric as Declared
from ...spec.fabric import SubnetManager
from ...topology import Fabric as Wiring
from ..build.fabric.partitions import find_manager_node, has_isolated_tenants
from ..model.plan import FabricPlan, Plan
from .rebuild import find_working, replan, skip_in_trials
from .subnet import iter_subnets
from .switch_managers import can_use_switch_manager

__all__ = ["CHECKS"]


def subnet_manager(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Two subnet managers of one fabric, and settings of the one that is not selected."""
    for path, fabric, declared in iter_subnets(plan):
        if fabric.kind != "infiniband" or not fabric.tiers:
            continue
        runs = _find_appliance_manager(plan, catalog, f"{fabric.name}-manager")
        if runs and runs != declared.subnet_manager:
            yield Finding(
                "subnet-manager",
                "warning",
                f"{path}.subnet_manager",
                f"the appliances {fabric.name}-manager run their own subnet manager ({runs}) in addition to the "
                f"{declared.subnet_manager} that is rendered: two would compete for {fabric.name}",
                f"set subnet_manager: {runs}, or use other machines for {fabric.name}-manager",
            )
        if declared.subnet_manager == "nvidia" and not _has_host(fabric):
            yield Finding(
                "subnet-manager",
                "warning",
                f"{path}.subnet_manager",
                f"UFM has no host on {fabric.name}: it runs on no node, so that no port becomes active without one",
                f"set manager: {{links: {_MANAGER_LINKS}}}, and declare {fabric.name}-manager in facility.machines for "
                "its rack and power",
            )
        if declared.m_key and declared.subnet_manager == "nvidia":
            yield Finding(
                "subnet-manager",
                "error",
                f"{path}.m_key",
                "UFM creates and stores M_Keys itself",
                "omit it, or set subnet_manager: opensm",
            )
        if not declared.m_key and declared.subnet_manager == "opensm" and has_isolated_tenants(declared):
            yield Finding(
                "subnet-manager",
                "warning",
                path,
                f"{fabric.name} isolates tenants without an M_Key: root on any node can change the P_Keys",
                "set m_key to the path of a file on the hosts of the subnet manager",
            )


@skip_in_trials
def subnet_manager_port(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Fabrics without a free switch port for the host of the subnet manager, as nodes and uplinks use all ports."""
    for path, fabric, declared in iter_subnets(plan):
        wiring = fabric.wiring
        if fabric.kind != "infiniband" or not isinstance(wiring, Wiring) or not fabric.tiers or _has_host(fabric):
            continue
        if declared.subnet_manager == "switch":
            continue
        used = 2 * sum(group.count for group in wiring.link_groups)
        used -= sum(group.count for group in wiring.link_groups if group.source_kind in ("node", "reserved"))
        used += declared.external_links + 2 * declared.peer_links * (fabric.count_switches("leaf") // 2)
        ports = sum(tier.count * tier.radix for tier in wiring.tiers)
        if used >= ports:
            yield Finding(
                "subnet-manager-port",
                "warning",
                path,
                f"all {ports} switch ports of {fabric.name} are in use: none is free for a separate host of its subnet "
                f"manager, {_describe_fallback(plan, fabric, declared)}",
                _suggest_switches(fabric, declared) + _suggest_manager_port(plan, catalog, path),
            )


def _describe_fallback(plan: Plan, fabric: FabricPlan, declared: Declared) -> str:
    """Where the manager runs without a separate host, as the rendered instructions say."""
    node = find_manager_node(plan, fabric) if declared.subnet_manager == "opensm" else ""
    if node:
        return f"so that OpenSM runs on a node, such as {node}: it must run whenever the fabric does"
    return "and without a subnet manager no port becomes active"


def _suggest_switches(fabric: FabricPlan, declared: Declared) -> str:
    """The manager of the switches, which needs no port, if it has all that the open one is declared for."""
    is_suggested = declared.subnet_manager == "opensm" and can_use_switch_manager(fabric, declared)
    return "set subnet_manager: switch, or " if is_suggested else ""


# Hosts of a subnet manager that are suggested: one may fail.
_MANAGER_LINKS = 2


def _suggest_manager_port(plan: Plan, catalog: Catalog, path: str) -> str:
    """A setting that gives the hosts of the manager a port, tried on a plan; and further changes that it requires."""
    fabrics = tuple(_with_manager_ports(item) if item.kind == "infiniband" else item for item in plan.spec.fabrics)
    tried, errors = replan(plan, catalog, plan.spec.model_copy(update={"fabrics": fabrics}))
    error = next((item for item in errors if item.path.startswith(path)), None)
    ports = f"set manager: {{links: {_MANAGER_LINKS}}} (a leaf port for each of two hosts)"
    if error:
        return f"{ports}; to have ports for it, {error.hint}"
    before, after = _count_switches(plan, path), _count_switches(tried, path)
    price = ""
    if after > before:
        price = f"; this requires {after} switches instead of {before}"
        price += "".join(f", but {item}" for item in _list_smaller_pools(plan, catalog, path, fabrics, before))
    return f"{ports}, or declare the hosts in services (racks and power: facility.machines){price}"


def _count_switches(plan: Plan, path: str) -> int:
    return next((sum(tier.count for tier in fabric.tiers) for at, fabric, _ in iter_subnets(plan) if at == path), 0)


# How many nodes, or scale-up domains, fewer are tried.
_MOST_FEWER = 8


def _list_smaller_pools(
    plan: Plan, catalog: Catalog, path: str, fabrics: tuple[Declared, ...], switches: int
) -> list[str]:
    """The number of nodes of the largest pool with which no further switches are required, tried on a plan; empty if
    there is none.
    """
    names = next((fabric.pools for at, fabric, _ in iter_subnets(plan) if at == path), ())
    pool = max((plan.get_pool(name) for name in names), key=lambda item: item.nodes, default=None)
    if pool is None:
        return []
    step = pool.machine.domain_nodes

    def is_enough(nodes: int) -> bool:
        pools = tuple(
            item.model_copy(update={"nodes": nodes}) if item.name == pool.name else item for item in plan.spec.pools
        )
        spec = plan.spec.model_copy(update={"fabrics": fabrics, "pools": pools})
        tried, errors = replan(plan, catalog, spec)
        return not errors and _count_switches(tried, path) <= switches

    first = pool.nodes - pool.nodes % step or pool.nodes
    smaller = [first - step * number for number in range(_MOST_FEWER + 1)]
    found = find_working(plan, [nodes for nodes in smaller if 0 < nodes < pool.nodes], is_enough, 1)
    of_pool = f" in {pool.name}" if len(names) > 1 else ""
    return [f"with {nodes} nodes{of_pool} {switches} {'is' if switches == 1 else 'are'} enough" for nodes in found]


def _with_manager_ports(fabric: Declared) -> Declared:
    """The fabric with ports for the hosts of its manager, if it declares none."""
    if fabric.manager is None:
        return fabric.model_copy(update={"manager": SubnetManager(links=_MANAGER_LINKS)})
    if fabric.manager.links:
        return fabric
    return fabric.model_copy(update={"manager": fabric.manager.model_copy(update={"links": _MANAGER_LINKS})})


def _has_host(fabric: FabricPlan) -> bool:
    """Whether a machine that is not a node has a port, so that the manager can run on it."""
    return any(
        item.name == f"{fabric.name}-manager" or (item.is_managed and item.hosts is None) for item in fabric.services
    )


def _find_appliance_manager(plan: Plan, catalog: Catalog, name: str) -> str | None:
    """The subnet manager that the machines of that name run, if they are appliances of one."""
    declared = plan.spec.facility.machines if plan.spec.facility else ()
    machine = next((item.machine for item in declared if item.name == name), None)
    known = machine is not None and machine in catalog.list_names("machines")
    return catalog.get(Machine, machine).subnet_manager if known and machine else None


CHECKS = (
    subnet_manager,
    subnet_manager_port,
)
