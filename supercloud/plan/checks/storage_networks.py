"""Checks that servers and clients of a store are on the network that connects them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...catalog import Catalog, Machine
from ...errors import Finding
from ...spec import ClusterSpec, Fabric, Storage
from ..build.fabric.roles import (
    find_adapter,
    find_client_adapter,
    find_client_fabric,
    get_fabric_role,
    list_adapter_kinds,
)
from ..build.storage.clients import explain_fabric_only, list_unreached_pool_names, list_unreached_pools
from ..model.plan import FabricPlan, Plan, PoolPlan
from ..model.storage import ServerGroup
from .rebuild import TrialBudget, add_fabrics, assign_working, explain_untried, find_working, replan, skip_in_trials

__all__ = ["CHECKS"]


@skip_in_trials
def storage_disconnected(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Servers that are not on the network that their clients use, or on no network of the plan."""
    switched = [fabric for fabric in plan.fabrics if fabric.tiers]
    for index, item in enumerate(plan.storage):
        groups = _list_unwired(plan, index)
        for machine in dict.fromkeys(group.machine.name for group in groups):
            own = [group for group in groups if group.machine.name == machine]
            yield _build_unwired_finding(plan, catalog, index, own)
        joined = _list_connected_servers(fabric for fabric in switched if fabric.role != "management")
        for group in item.servers if switched and find_client_fabric(plan.spec, item.fabric) is None else ():
            if group.name not in joined:
                yield Finding(
                    "storage-disconnected",
                    "note",
                    f"storage[{index}]",
                    f"no network of the plan connects the {group.count} servers {group.hosts}",
                    "set 'fabric', or declare an in-band network",
                )


def _list_unwired(plan: Plan, index: int) -> list[ServerGroup]:
    """The servers of a store without a port on the network that clients come over. On the in-band network, used if no
    other network is set, servers with unknown ports are reported by ``storage-in-band``.
    """
    item = plan.storage[index]
    declared = find_client_fabric(plan.spec, item.fabric)
    if declared is None:
        return []
    fabric = next((one for one in plan.fabrics if one.name == declared.name), None)
    if fabric is None:  # no pool is on it; or it could not be built, which is a separate error
        return [] if _has_pools(plan, declared) else list(item.servers)
    if not fabric.tiers:
        return [group for group in item.servers if find_client_adapter(group.machine, declared) is None]
    joined = set() if fabric.role == "management" else _list_connected_servers([fabric])
    lacking = [group for group in item.servers if group.name not in joined]
    return lacking if item.fabric else [group for group in lacking if group.machine.adapters]


def _list_connected_servers(fabrics: Iterable[FabricPlan]) -> set[str]:
    """Names of the groups of service machines with ports on any of the fabrics."""
    return {service.name for fabric in fabrics for service in fabric.services}


def _has_pools(plan: Plan, declared: Fabric) -> bool:
    return any(declared.name in pool.fabrics for pool in plan.pools)


def _build_unwired_finding(plan: Plan, catalog: Catalog, index: int, groups: list[ServerGroup]) -> Finding:
    item, machine = plan.storage[index], groups[0].machine
    declared = find_client_fabric(plan.spec, item.fabric)
    assert declared is not None
    names = " and ".join(group.name for group in groups)
    if get_fabric_role(declared) == "management":
        problem = (
            f"{declared.name} connects management ports only: {machine.name} of {names} cannot serve clients on it"
        )
    elif not _has_pools(plan, declared):
        problem = f"no pool is on {declared.name}, so it has no switches: {names} have no clients on it"
    else:
        has = _format_ports(machine)
        problem = f"{machine.name} of {names} has no port for {declared.name}" + (
            f" (it has {has})" if has else " (its adapters are unknown)"
        )
    path = f"storage[{index}].fabric" if item.fabric else f"storage[{index}].servers.machine"
    return Finding(
        "storage-disconnected", "error", path, problem, _suggest_wiring(plan, catalog, index, declared, groups)
    )


def _suggest_wiring(plan: Plan, catalog: Catalog, index: int, declared: Fabric, groups: list[ServerGroup]) -> str:
    """Networks and machines with which the servers are connected, each tried on a plan; otherwise the required
    ports.
    """
    store = plan.spec.storage[index]

    def is_wired_with(changed: Storage) -> bool:
        return _is_wired(plan, catalog, index, _replace_store(plan.spec, index, changed))

    others = (store.model_copy(update={"fabric": other.name}) for other in _list_others(plan, declared))
    reached = (item for item in others if _is_as_reached(plan.spec, index, item))
    networks = [f"set storage[{index}].fabric: {item.fabric}" for item in find_working(plan, reached, is_wired_with, 1)]
    if get_fabric_role(declared) == "management":
        return ", or ".join(networks) or "declare an in-band or a storage network, and set it in 'fabric'"
    if not _has_pools(plan, declared):
        lacks = any(find_client_adapter(group.machine, declared) is None for group in groups)
        join = f"add {declared.name} to 'fabrics' of the pools that are its clients"
        return ", or ".join([*networks, join + " and use servers with ports for it" * lacks])
    serving = [name for name in catalog.list_names("machines") if _can_serve(catalog.get(Machine, name), declared)]
    machines = find_working(
        plan, serving, lambda name: is_wired_with(_replace_machine(store, name, groups)), _MAX_LISTED
    )
    kinds = " or ".join(list_adapter_kinds(declared.kind))
    ports = f"use machines with ports for it, defined in a catalog overlay (adapters: role storage, kind {kinds})"
    if not machines and (untried := explain_untried(plan, serving)):
        ports = f"{ports}; {untried}"
    return ", or ".join([*networks, f"use {' or '.join(machines)}" if machines else ports])


def _format_ports(machine: Machine) -> str:
    return ", ".join(f"{one.role}: {one.count} × {one.speed} {one.kind}" for one in machine.adapters)


# Items of a list in a hint.
_MAX_LISTED = 3
# By the networks added to pools: the stores with ports for all of their servers, once that is planned.
_WiredStores = dict[frozenset[tuple[str, str]], frozenset[int]]
# Roles of networks that may carry a store, in the order in which they are suggested.
_STORAGE_ROLES = ("storage", "in-band", "compute")


def _can_serve(machine: Machine, fabric: Fabric) -> bool:
    """Whether a machine may be a server of a store on the fabric: an on-prem machine without accelerators."""
    return (
        machine.provider == "onprem" and not machine.accelerators and find_client_adapter(machine, fabric) is not None
    )


def _replace_machine(store: Storage, machine: str, groups: list[ServerGroup]) -> Storage:
    """The store with another machine for the servers of these groups."""
    changes = {}
    for key in ("servers", "metadata"):
        declared = getattr(store, key)
        if declared and any(group.machine.name == declared.machine for group in groups):
            changes[key] = declared.model_copy(update={"machine": machine})
    return store.model_copy(update=changes)


def _is_as_reached(spec: ClusterSpec, index: int, store: Storage) -> bool:
    """Whether all pools that reach a store still reach it with another declaration of it."""
    return list_unreached_pool_names(_replace_store(spec, index, store), index) <= list_unreached_pool_names(
        spec, index
    )


def _replace_store(spec: ClusterSpec, index: int, store: Storage) -> ClusterSpec:
    return spec.model_copy(update={"storage": (*spec.storage[:index], store, *spec.storage[index + 1 :])})


def _is_wired(plan: Plan, catalog: Catalog, index: int, spec: ClusterSpec) -> bool:
    """Whether another spec can be planned without new errors, with ports for all servers of the store."""
    return index in _list_wired(plan, catalog, spec)


def _list_wired(plan: Plan, catalog: Catalog, spec: ClusterSpec) -> frozenset[int]:
    """The stores with ports for all of their servers, where another spec can be planned without new errors."""
    found, errors = replan(plan, catalog, spec)
    return frozenset(index for index in range(len(found.storage)) if not errors and not _list_unwired(found, index))


@skip_in_trials
def storage_clients(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Pools that cannot reach a store: it is not mounted on their nodes."""
    places = {pool.name: place for place, pool in enumerate(plan.spec.pools)}
    known: _WiredStores = {}
    budget = TrialBudget()
    for index, item in enumerate(plan.storage):
        fabric = find_client_fabric(plan.spec, item.fabric)
        pools = list_unreached_pools(plan, index)
        suggestions = _suggest_client_changes(plan, catalog, index, fabric, pools, known, budget) if fabric else {}
        for pool in pools if fabric else ():
            assert fabric is not None
            where = (
                f"{item.name} is not mounted at {item.mount} on them" if item.mount else f"{item.name} is not reached"
            )
            need = explain_fabric_only(plan, index, pool)
            way = f"and {need}" if need else "nor on a network connected to it"
            yield Finding(
                "storage-clients",
                "warning",
                f"pools[{places[pool.name]}].fabrics",
                f"{pool.nodes} nodes of {pool.name} are not on {fabric.name}, {way}: {where}, and jobs that use it "
                "do not run on them",
                ", or ".join([*suggestions[pool.name], "suppress this with a reason if the pool does not need it"]),
            )


def _suggest_client_changes(
    plan: Plan,
    catalog: Catalog,
    index: int,
    fabric: Fabric,
    unreached: Sequence[PoolPlan],
    known: _WiredStores,
    budget: TrialBudget,
) -> dict[str, list[str]]:
    """Changes with which each pool reaches the store, by the pool's name, tried on plans: its network, tried for the
    pools of a machine together and with those found for other machines, or another network for the store on which no
    other pool loses it.

    ``known`` has the results of earlier trials: pools may lack the network of several stores.
    """
    spec = plan.spec
    places = {pool.name: place for place, pool in enumerate(spec.pools)}

    def is_wired_with(added: dict[str, str]) -> bool:
        key = frozenset(added.items())
        if key not in known:
            known[key] = _list_wired(plan, catalog, add_fabrics(spec, added))
        return index in known[key]

    added: dict[str, str] = {}
    untried: set[str] = set()
    for machine in {pool.machine.name: pool.machine for pool in unreached}.values():
        if find_adapter(machine, get_fabric_role(fabric), fabric.kind):
            alike = [pool for pool in unreached if pool.machine.name == machine.name]
            found, is_complete = assign_working(plan, alike, [fabric.name], is_wired_with, budget, added)
            added.update(found)
            untried.update(pool.name for pool in alike if not (is_complete or pool.name in found))
    others = _find_other_networks(plan, catalog, index, fabric)
    suggestions: dict[str, list[str]] = {}
    for pool in unreached:
        path = f"pools[{places[pool.name]}].fabrics"
        own = [f"add {fabric.name} to {path}"] if pool.name in added else []
        if pool.name in untried:
            own = [f"try {fabric.name} in {path} (not all were tested because the plan is large)"]
        own += [f"set storage[{index}].fabric: {name}" for name, left in others.items() if pool.name not in left]
        suggestions[pool.name] = own[:_MAX_LISTED]
    return suggestions


def _find_other_networks(plan: Plan, catalog: Catalog, index: int, fabric: Fabric) -> dict[str, frozenset[str]]:
    """Other networks for a store with which more pools reach it and none loses it, each tried on a plan -> the pools
    that still do not reach it.
    """
    spec = plan.spec
    before = list_unreached_pool_names(spec, index)
    changed: dict[str, tuple[ClusterSpec, frozenset[str]]] = {}
    for other in _list_others(plan, fabric):
        store = _replace_store(spec, index, spec.storage[index].model_copy(update={"fabric": other.name}))
        left = list_unreached_pool_names(store, index)
        if left < before:
            changed[other.name] = store, left
    working = find_working(plan, changed, lambda name: _is_wired(plan, catalog, index, changed[name][0]), len(changed))
    return {name: changed[name][1] for name in working}


def _list_others(plan: Plan, fabric: Fabric) -> list[FabricPlan]:
    """The other networks with switches that may carry a store, those for storage first."""
    found = [item for item in plan.fabrics if item.name != fabric.name and item.tiers and item.role in _STORAGE_ROLES]
    return sorted(found, key=lambda item: _STORAGE_ROLES.index(item.role))


def storage_in_band(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Servers with addresses of the in-band network but no port on it, although the plan has switches for it."""
    in_band = [fabric for fabric in plan.fabrics if fabric.role == "in-band" and fabric.tiers]
    joined = _list_connected_servers(in_band)
    for index, item in enumerate(plan.storage) if in_band else ():
        lacking = [group for group in item.servers if group.name not in joined]
        for machine in dict.fromkeys(group.machine.name for group in lacking):
            groups = [group for group in lacking if group.machine.name == machine]
            yield _build_in_band_finding(plan, index, groups, in_band[0])


def _build_in_band_finding(plan: Plan, index: int, groups: list[ServerGroup], network: FabricPlan) -> Finding:
    """The finding on the groups of servers of one machine that have no port on the in-band network."""
    machine = groups[0].machine
    key = "metadata" if all(group.role == "mds" for group in groups) else "servers"
    declared = getattr(plan.spec.storage[index], key)
    return Finding(
        "storage-in-band",
        "warning",
        f"storage[{index}].{key if declared else 'servers'}.machine",
        f"{', '.join(str(group.hosts) for group in groups)} have addresses of {network.name} "
        f"({', '.join(str(group.addresses) for group in groups)}) and no free port for it: {machine.name} has "
        + (_format_ports(machine) or "no known adapter"),
        f"use machines with ports for it, or add those of {machine.name} to a catalog overlay (adapters, role: "
        "in-band)",
    )


CHECKS = (storage_clients, storage_in_band, storage_disconnected)
