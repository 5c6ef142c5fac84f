"""Checks of InfiniBand subnets: abilities of their manager, partitions, and the NCCL devices."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding, InputError, UnknownNameError
from ...primitives.nodes import expand, fold
from ...spec import Fabric as Declared
from ..build.fabric.partitions import (
    build_partitions,
    compute_pkey,
    expand_hosts,
    find_free_pkey,
    has_tenant_hosts,
    is_default_first,
    select_owners,
)
from ..build.fabric.port_guids import iter_missing_guids
from ..build.fabric.roles import find_client_fabric
from ..build.kubernetes.fabrics import list_attachments
from ..build.network.nccl import list_collective_fabrics, list_rdma_devices
from ..model.plan import FabricPlan, Plan
from .rebuild import replan, skip_in_trials

__all__ = ["CHECKS", "iter_subnets"]

_MANAGERS = {"opensm": "open subnet manager", "switch": "subnet manager of switches"}


def iter_subnets(plan: Plan) -> Iterator[tuple[str, FabricPlan, Declared]]:
    """The path, plan and spec of each planned fabric."""
    for index, item in enumerate(plan.spec.fabrics):
        fabric = next((fabric for fabric in plan.fabrics if fabric.name == item.name), None)
        if fabric is not None:
            yield f"fabrics[{index}]", fabric, item


def _iter_partitioned(plan: Plan) -> Iterator[tuple[str, FabricPlan, Declared]]:
    """On-prem InfiniBand fabrics with partitions."""
    for path, fabric, declared in iter_subnets(plan):
        if fabric.kind == "infiniband" and fabric.tiers and has_tenant_hosts(declared):
            yield path, fabric, declared


def subnet_license(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Functions that the subnet manager does not have."""
    for path, fabric, declared in iter_subnets(plan):
        for name, wanted in (("adaptive_routing", declared.adaptive_routing), ("sharp", declared.sharp)):
            if wanted and fabric.kind != "infiniband":
                yield Finding(
                    "subnet-license",
                    "error",
                    f"{path}.{name}",
                    f"{fabric.name} is {fabric.kind}: {name} applies to InfiniBand only",
                    "omit it",
                )
            elif wanted and declared.subnet_manager != "nvidia":
                yield Finding(
                    "subnet-license",
                    "error",
                    f"{path}.{name}",
                    f"the {_MANAGERS[declared.subnet_manager]} has no {name}",
                    "set subnet_manager: nvidia if it is licensed, or omit it",
                )


def subnet_partitions(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Partitions of unknown tenants, of hosts that are not on the fabric, or with the key of another
    partition.
    """
    tenants = {tenant.name for tenant in plan.spec.tenants}
    for path, fabric, declared in iter_subnets(plan):
        yield from _check_keys(path, declared)
        hosts = {name for pool in fabric.pools for name in plan.get_pool(pool).hosts} if declared.partitions else set()
        for index, item in enumerate(declared.partitions):
            place = f"{path}.partitions[{index}]"
            if tenants and item.tenant not in tenants:
                error = UnknownNameError("tenant", item.tenant, tenants)
                yield Finding("unknown-name", "error", f"{place}.tenant", str(error.args[0]), error.hint)
            if item.hosts is None:
                continue
            try:
                strange = [host for host in expand(item.hosts) if host not in hosts]
            except InputError as error:
                yield Finding("subnet-partitions", "error", f"{place}.hosts", str(error), "such as train-[0001-0064]")
                continue
            if strange:
                yield Finding(
                    "subnet-partitions",
                    "error",
                    f"{place}.hosts",
                    f"{len(strange)} of its hosts are not on {fabric.name}, such as {strange[0]}",
                    f"the fabric has {', '.join(str(plan.get_pool(pool).hosts) for pool in fabric.pools)}",
                )


def _check_keys(path: str, declared: Declared) -> Iterator[Finding]:
    """Two tenants with one key. Keys are derived from names, so none is reassigned here: one tenant
    added or removed would change the key of the other.
    """
    keys = [compute_pkey(item.tenant) if item.pkey is None else item.pkey for item in declared.partitions]
    taken = set(keys)
    owners: dict[int, str] = {}
    for index, (item, key) in enumerate(zip(declared.partitions, keys, strict=True)):
        owner = owners.setdefault(key, item.tenant)
        if owner == item.tenant:
            continue
        free = find_free_pkey(item.tenant, taken)
        taken |= {free} if free is not None else set()
        yield Finding(
            "subnet-partitions",
            "error",
            f"{path}.partitions[{index}].pkey",
            f"{item.tenant} has the key {key:#06x} of {owner}: they would be one partition",
            f"set pkey: {free}; if {item.tenant} is already in use, set another key for {owner} instead"
            if free is not None
            else "no key is free: declare fewer partitions",
        )


@skip_in_trials
def subnet_isolation(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Partitions without hosts next to others with hosts: their key is on all ports, so that no tenant is isolated."""
    for path, fabric, declared in _iter_partitioned(plan):
        nodes = [host for pool in fabric.pools for host in plan.get_pool(pool).hosts]
        owned = {host for item in declared.partitions if item.hosts for host in expand_hosts(item.hosts)}
        free = [host for host in nodes if host not in owned]
        names = sorted({item.tenant for item in declared.partitions if item.hosts})
        open_to_all = [index for index, item in enumerate(declared.partitions) if not item.hosts]
        for index in open_to_all:
            yield Finding(
                "subnet-isolation",
                "warning",
                f"{path}.partitions[{index}]",
                f"{declared.partitions[index].tenant} has no hosts, so its key is on every port of {fabric.name}: "
                f"the nodes of {', '.join(names[:4])}{' …' * (len(names) > 4)} reach all others with it, and no tenant "
                "is isolated",
                _suggest_separation(plan, catalog, path, index, free, len(open_to_all)),
            )


def _suggest_separation(plan: Plan, catalog: Catalog, path: str, index: int, free: list[str], shared_by: int) -> str:
    """Hosts for a partition that has none, tried on a plan; and further changes that it requires."""
    if not free:
        return "remove the partition, because every node belongs to another tenant, or add nodes for it"
    if shared_by > 1:
        return (
            f"set hosts to a part of the nodes that belong to no tenant ({_fold_hosts(free)}), for each such partition"
        )
    fabrics = list(plan.spec.fabrics)
    at = next(place for place in range(len(fabrics)) if path == f"fabrics[{place}]")
    partitions = list(fabrics[at].partitions)
    partitions[index] = partitions[index].model_copy(update={"hosts": fold(free)})
    fabrics[at] = fabrics[at].model_copy(update={"partitions": tuple(partitions)})
    _, errors = replan(plan, catalog, plan.spec.model_copy(update={"fabrics": tuple(fabrics)}))
    return f"set hosts: {_fold_hosts(free)}" + "".join(f"; then {item.hint}" for item in errors[:1])


def subnet_guids(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Members of partitions with unknown GUIDs."""
    for path, fabric, _ in _iter_partitioned(plan):
        for item in iter_missing_guids(plan, fabric):
            yield Finding("subnet-guids", "error", f"{path}{item.path}", item.problem, item.hint)


def subnet_reach(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Nodes that cannot reach other nodes, or not with the P_Key that programs use by default."""
    for path, fabric, declared in _iter_partitioned(plan):
        yield from _check_node_partitions(plan, path, fabric, declared)
        served = _list_served_hosts(fabric)
        if is_default_first(fabric, declared) and not served:
            yield Finding(
                "subnet-reach",
                "warning",
                path,
                f"no server is on {fabric.name}: nodes are limited members of its default partition and cannot reach "
                "anything",
                _suggest_server_change(plan, declared),
            )
        if not is_default_first(fabric, declared) and served:
            yield Finding(
                "subnet-reach",
                "note",
                path,
                f"{', '.join(served)}: tenants reach these machines over {fabric.name} in the default partition, "
                "which is not at index 0 of the nodes: nodes have their addresses on child interfaces of it",
                "declare a separate storage fabric (role: storage), which needs no child interfaces",
            )


def _check_node_partitions(plan: Plan, path: str, fabric: FabricPlan, declared: Declared) -> Iterator[Finding]:
    """Nodes in no partition, or in partitions of several tenants, of which one is at index 0."""
    partitions = build_partitions(declared)
    nodes = [host for pool in fabric.pools for host in plan.get_pool(pool).hosts]
    owners = select_owners(nodes, partitions)
    alone = [host for host in nodes if host not in owners]
    if alone:
        yield Finding(
            "subnet-reach",
            "warning",
            f"{path}.partitions",
            f"{len(alone)} nodes are in no partition of {fabric.name} and cannot reach each other: "
            f"{_fold_hosts(alone)}",
            "add them to the hosts of a tenant",
        )
    if is_default_first(fabric, declared):
        return
    for item in partitions:
        twice = [host for host in item.hosts or () if owners.get(host, item.name) != item.name]
        if twice:
            yield Finding(
                "subnet-reach",
                "warning",
                f"{path}.partitions",
                f"{len(twice)} nodes of {item.name} also belong to {owners[twice[0]]}, whose key is at index 0 "
                f"on them: {_fold_hosts(twice)}",
                f"jobs of {item.name} must set NCCL_IB_PKEY to the index of 0x{item.pkey:04x} (see GUIDE.md of "
                "the target infiniband), or assign each node to one tenant",
            )


def _suggest_server_change(plan: Plan, declared: Declared) -> str:
    """How to connect servers to a fabric without servers: a store may use it already, but lack machines or ports."""
    services = f"declare the servers in the services of {declared.name}"
    for index, item in enumerate(plan.storage):
        if find_client_fabric(plan.spec, item.fabric) is declared:
            if item.servers:
                return f"storage[{index}] uses it, but its servers have no port for it: see storage-disconnected"
            return f"set storage[{index}].servers, or {services}"
    return f"set the fabric in storage[].fabric, or {services}"


def _list_served_hosts(fabric: FabricPlan) -> list[str]:
    return [item.name for item in fabric.services if item.name != f"{fabric.name}-manager"]


def nccl_devices(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Pools with unknown RDMA devices, so that NCCL_IB_HCA is not set."""
    for index, pool in enumerate(plan.pools if plan.site.kind == "onprem" else ()):
        lacking = [fabric for fabric in list_collective_fabrics(plan, pool) if not list_rdma_devices(pool, fabric)]
        if not lacking or pool.accelerator is None:
            continue
        others = [fabric.name for fabric in plan.fabrics if fabric.name in pool.fabrics and fabric.role == "storage"]
        yield Finding(
            "nccl-devices",
            "warning" if others else "note",
            f"pools[{index}].machine",
            f"the RDMA devices of {pool.machine.name} on {lacking[0].name} are unknown: NCCL_IB_HCA is not set, and "
            "NCCL uses all active devices" + (f", including those on {', '.join(others)}" if others else ""),
            "add their names (ibdev2netdev, in rail order) to a catalog overlay: adapters[].devices",
        )


def subnet_jobs(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Nodes that a scheduler may allocate to one job although they cannot reach each other."""
    for path, fabric, declared in _iter_partitioned(plan):
        partitions = build_partitions(declared)
        if is_default_first(fabric, declared) or any(item.hosts is None for item in partitions):
            continue
        owners = select_owners((), partitions)
        for what, pools in _iter_job_ranges(plan):
            hosts = (host for pool in pools if pool in fabric.pools for host in plan.get_pool(pool).hosts)
            names = sorted({owners[host] for host in hosts if host in owners})
            if len(names) > 1:
                yield Finding(
                    "subnet-jobs",
                    "warning",
                    f"{path}.partitions",
                    f"{what} has nodes of {', '.join(names[:4])}{' …' * (len(names) > 4)}, which cannot reach each "
                    f"other over {fabric.name}: a job on nodes of two of them cannot communicate",
                    "declare separate pools for each tenant, for its jobs only",
                )
        yield from _check_pod_functions(plan, path, fabric)


def _check_pod_functions(plan: Plan, path: str, fabric: FabricPlan) -> Iterator[Finding]:
    """Pods with functions of ports, which are in no partition of a tenant."""
    for pool in plan.pools if plan.scheduler.kind == "kubernetes" else ():
        if any(way.fabric.name == fabric.name and way.mode == "sr-iov" for way in list_attachments(plan, pool)):
            yield Finding(
                "subnet-jobs",
                "warning",
                f"{path}.partitions",
                f"pods of {pool.name} get functions of ports (SR-IOV), each with its own GUID, which is in "
                "no partition of a tenant",
                "allocate whole nodes of the pool to tenants (no slicing), or let ib-kubernetes with UFM add "
                "their GUIDs",
            )


def _iter_job_ranges(plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Pools among whose nodes a job is allocated."""
    if plan.scheduler.kind == "slurm":
        yield from ((f"the Slurm partition {item.name}", item.pools) for item in plan.scheduler.partitions)
    else:
        yield from ((f"the pool {item.name}", (item.name,)) for item in plan.pools)


def _fold_hosts(hosts: list[str]) -> str:
    text = fold(hosts)
    return text if len(text) <= _MAX_TEXT_LENGTH else f"{text[:_MAX_TEXT_LENGTH]} …"


# Characters of a list of hosts in a message.
_MAX_TEXT_LENGTH = 80

CHECKS = (
    nccl_devices,
    subnet_isolation,
    subnet_guids,
    subnet_jobs,
    subnet_license,
    subnet_partitions,
    subnet_reach,
)
