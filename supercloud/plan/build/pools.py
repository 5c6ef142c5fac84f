"""Pools: machines looked up, hosts named, addresses given."""

from __future__ import annotations

import ipaddress
import re
from typing import cast

from ...catalog import Accelerator, Catalog, Machine, Provider
from ...errors import InputError, UnknownName
from ...primitives.addresses import AddressRun, allocate
from ...primitives.nodes import HostRange
from ...primitives.quantity import Size
from ...spec import ClusterSpec, Pool
from ..model.plan import NetworkPlan, PoolPlan
from .cloud.domains import domain_of
from .problems import Problems

__all__ = ["network_and_pools"]

# Enough for 9,999 nodes without a change of width: growing a pool must not rename its nodes.
_HOST_DIGITS = 4
_SERVICE_HOSTS = 250
_ANY = "0.0.0.0/0"
_SERVICE = "service hosts"
# By whether the site is on-prem.
_USUAL = {True: "10.0.0.0/8", False: "10.0.0.0/16"}


def network_and_pools(
    spec: ClusterSpec, catalog: Catalog, problems: Problems
) -> tuple[NetworkPlan, tuple[PoolPlan, ...]]:
    """The ordinary network and every pool whose machine is known."""
    onprem = spec.site.kind == "onprem"
    cidr = spec.network.cidr or _USUAL[onprem]
    room = cidr if onprem else _ANY  # on a cloud, addresses are its own: subnets are checked there
    domain = spec.network.domain or f"{spec.name}.internal"
    needs = {_SERVICE: _SERVICE_HOSTS} | {pool.name: pool.nodes for pool in spec.pools}
    try:
        blocks = allocate(room, needs)
    except InputError as error:
        larger = "give a larger network" if _is_network(room) else f"such as {_USUAL[onprem]}"
        problems.error("addresses", "network.cidr", str(error), larger)
        blocks = allocate(_ANY, needs)  # so that everything else can still be checked
    network = NetworkPlan(_range(cidr, onprem), domain, blocks[_SERVICE])
    pools = []
    for index, pool in enumerate(spec.pools):
        machine = _machine(pool, f"pools[{index}].machine", spec.site.kind, catalog, problems)
        if machine is None:
            continue
        if machine.instance and machine.instance.domains:
            machine = machine.model_copy(update={"domain_nodes": domain_of(machine, pool.nodes, pool.domain)})
        accelerator = _accelerator(machine, f"pools[{index}].machine", catalog, problems)
        width = max(_HOST_DIGITS, len(str(pool.nodes)))
        hosts = HostRange(f"{pool.hostname or pool.name}-", 1, pool.nodes, width)
        pools.append(
            PoolPlan(
                name=pool.name,
                machine=machine,
                accelerator=accelerator,
                nodes=pool.nodes,
                spares=pool.spares,
                hosts=hosts,
                addresses=AddressRun(blocks[pool.name], 0, pool.nodes),
                fabrics=pool.fabrics,
                features=_features(pool, accelerator),
                slicing=pool.slicing,
                imex=machine.domain_nodes > 1 if pool.imex is None else pool.imex,
                reserved_cores=pool.reserve.cores,
                reserved_memory=pool.reserve.memory or Size(0, "B"),
            )
        )
    return network, tuple(pools)


def _is_network(text: str) -> bool:
    try:
        return bool(ipaddress.IPv4Network(text))
    except ValueError:
        return False


def _range(cidr: str, onprem: bool) -> str:
    """The range, or the usual one where it is none (a problem by itself), so that everything else can be checked."""
    try:
        return str(ipaddress.IPv4Network(cidr))
    except ValueError:
        return _USUAL[onprem]


def _machine(pool: Pool, path: str, site: str, catalog: Catalog, problems: Problems) -> Machine | None:
    try:
        machine = catalog.machine(pool.machine)
    except UnknownName as error:
        reason = _unsourced(pool.machine, site, catalog)
        if reason:
            problems.error("unknown-name", path, f"the catalog does not have {pool.machine}: {reason}",
                           "describe it in a catalog of your own under 'catalog', or take another machine")  # fmt: skip
        else:
            problems.unknown(path, error)
        return None
    if machine.provider != site:
        problems.error(
            "machine-site", path, f"{machine.name} is a machine of {machine.provider}, the site is {site}",
            f"take a machine of {site}: supercloud catalog machines",
        )  # fmt: skip
    return machine


def _unsourced(machine: str, site: str, catalog: Catalog) -> str | None:
    """Why the catalog does not have a machine that its provider has."""
    if site not in catalog.names("providers"):
        return None
    known = cast(Provider, catalog.get("providers", site)).unsourced
    return next((why for start, why in known.items() if machine.startswith(start)), None)


def _accelerator(machine: Machine, path: str, catalog: Catalog, problems: Problems) -> Accelerator | None:
    if machine.accelerators is None:
        return None
    try:
        return catalog.accelerator(machine.accelerators.type)
    except UnknownName as error:
        problems.unknown(path, error)
        return None


def _features(pool: Pool, accelerator: Accelerator | None) -> tuple[str, ...]:
    """What a job can ask for: accelerator, machine, pool, and what the user added. Sorted, without repeats."""
    names = {pool.name, re.sub(r"[^A-Za-z0-9_.-]", "_", pool.machine), *pool.features}
    if accelerator and accelerator.gres:
        names.add(accelerator.gres)
    return tuple(sorted(names))
