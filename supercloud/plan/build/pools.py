"""Pools: facts of the machines, names and addresses of the hosts."""

from __future__ import annotations

import contextlib
import ipaddress
import re
from collections.abc import Mapping

from ...catalog import Accelerator, Catalog, Machine, Provider
from ...errors import InputError, UnknownNameError
from ...primitives.addresses import AddressRun, Block, allocate_blocks, suggest_network
from ...primitives.nodes import HostRange
from ...primitives.quantity import Size
from ...spec import ClusterSpec, Pool
from ...spec.hosts import list_host_names
from ..model.plan import NetworkPlan, PoolPlan
from ..model.problems import Problems
from .cloud.domains import select_domain_nodes
from .cloud.threads import with_single_threads
from .given_addresses import list_given_runs
from .site_machines import check_site, select_machines_of_site

__all__ = ["build_network_and_pools"]

# Enough for 9,999 nodes without a change of width: growth of a pool must not rename its nodes.
_HOST_DIGITS = 4
_SERVICE_ADDRESSES = 250
_ANY_NETWORK = "0.0.0.0/0"
_MIN_PREFIX = 8
"""Of a network that is suggested: the largest private one."""
_SERVICE_BLOCK = "service hosts"
# Key: whether the site is on-prem.
_DEFAULT_RANGES = {True: "10.0.0.0/8", False: "10.0.0.0/16"}


def build_network_and_pools(
    spec: ClusterSpec, catalog: Catalog, problems: Problems
) -> tuple[NetworkPlan, tuple[PoolPlan, ...]]:
    """The in-band network, and every pool whose machine is known."""
    onprem = spec.site.kind == "onprem"
    cidr = spec.network.cidr or _DEFAULT_RANGES[onprem]
    domain = spec.network.domain or f"{spec.name}.internal"
    service, addresses = _allocate_addresses(spec, cidr, onprem, problems)
    network = NetworkPlan(_select_range(cidr, onprem), domain, service)
    pools = []
    for index, pool in enumerate(spec.pools):
        machine = _find_machine(pool, f"pools[{index}].machine", spec.site.kind, catalog, problems)
        if machine is None:
            continue
        machine = _with_choices(machine, pool)
        accelerator = _find_accelerator(machine, f"pools[{index}].machine", catalog, problems)
        pools.append(
            PoolPlan(
                name=pool.name,
                machine=machine,
                accelerator=accelerator,
                nodes=pool.nodes,
                spares=pool.spares,
                hosts=_build_host_range(pool, onprem),
                addresses=addresses[pool.name],
                fabrics=pool.fabrics,
                features=_list_features(pool, accelerator),
                slicing=pool.slicing,
                has_imex=machine.domain_nodes > 1 if pool.imex is None else pool.imex,
                reserved_cores=pool.reserve.cores,
                reserved_memory=pool.reserve.memory or Size(0, "B"),
                capacity=pool.capacity,
                can_grow=not onprem and _can_grow(pool),
            )
        )
    return network, tuple(pools)


def _allocate_addresses(
    spec: ClusterSpec, cidr: str, onprem: bool, problems: Problems
) -> tuple[Block, dict[str, AddressRun]]:
    """The block of service hosts, and pool -> the addresses of its nodes."""
    room = cidr if onprem else _ANY_NETWORK  # a cloud assigns the addresses: its subnets are checked separately
    given = list_given_runs(spec, "in_band", problems)
    needs = {_SERVICE_BLOCK: _SERVICE_ADDRESSES}
    needs |= {pool.name: pool.nodes for pool in spec.pools if pool.name not in given}
    try:
        blocks = allocate_blocks(room, needs, [run.block for run in given.values()])
    except InputError as error:
        hint = _suggest_larger(room, needs) if _is_network(room) else suggest_network(room, _DEFAULT_RANGES[onprem])
        problems.add_error("addresses", "network.cidr", str(error), hint)
        blocks = allocate_blocks(_ANY_NETWORK, needs)  # so that everything else can still be checked
    planned = {name: AddressRun(blocks[name], 0, count) for name, count in needs.items() if name != _SERVICE_BLOCK}
    return blocks[_SERVICE_BLOCK], planned | given


def _suggest_larger(cidr: str, needs: Mapping[str, int]) -> str:
    """The smallest network around a range that has enough addresses for new blocks."""
    network = ipaddress.IPv4Network(cidr)
    for prefix in range(network.prefixlen - 1, _MIN_PREFIX - 1, -1):
        larger = network.supernet(new_prefix=prefix)
        with contextlib.suppress(InputError):
            allocate_blocks(str(larger), needs)
            return f"specify a larger network: {larger} is the smallest that is large enough"
    return "specify a larger network"


def _build_host_range(pool: Pool, onprem: bool) -> HostRange:
    """The names of a pool's nodes: those that the spec gives, else the pool's prefix and numbers."""
    if onprem and (names := list_host_names(pool.hosts)):
        return HostRange.from_names(pool.name, names)
    width = max(_HOST_DIGITS, len(str(pool.nodes)))
    return HostRange(f"{pool.hostname or pool.name}-", 1, pool.nodes, width)


def _with_choices(machine: Machine, pool: Pool) -> Machine:
    """The machine as the pool uses it on a cloud: the size of its scale-up domain, and the threads of its cores."""
    if machine.instance and machine.instance.domains:
        machine = machine.model_copy(update={"domain_nodes": select_domain_nodes(machine, pool.nodes, pool.domain)})
    return with_single_threads(machine) if pool.threads_per_core == 1 else machine


def _can_grow(pool: Pool) -> bool:
    """Whether fewer nodes than declared may run."""
    return any(count is not None and count < pool.nodes for count in (pool.initial, pool.min))


def _is_network(text: str) -> bool:
    try:
        return bool(ipaddress.IPv4Network(text))
    except ValueError:
        return False


def _select_range(cidr: str, is_onprem: bool) -> str:
    """The range, or the default if it is not valid (a separate problem), so that everything else can be checked."""
    try:
        return str(ipaddress.IPv4Network(cidr))
    except ValueError:
        return _DEFAULT_RANGES[is_onprem]


def _find_machine(pool: Pool, path: str, site: str, catalog: Catalog, problems: Problems) -> Machine | None:
    try:
        machine = catalog.get(Machine, pool.machine)
    except UnknownNameError as error:
        reason = _explain_unsourced(pool.machine, site, catalog)
        if reason:
            problems.add_error(
                "unknown-name",
                path,
                f"the catalog does not have {pool.machine}: {reason}",
                "add it to a catalog folder of yours and set 'catalog', or use another machine",
            )
        else:
            problems.add_unknown_name(path, select_machines_of_site(error, site, catalog))
        return None
    check_site(machine, path, site, problems)
    return machine


def _explain_unsourced(machine: str, site: str, catalog: Catalog) -> str | None:
    """The reason why the catalog lacks a machine that its provider offers."""
    if site not in catalog.list_names("providers"):
        return None
    known = catalog.get(Provider, site).unsourced
    return next((why for start, why in known.items() if machine.startswith(start)), None)


def _find_accelerator(machine: Machine, path: str, catalog: Catalog, problems: Problems) -> Accelerator | None:
    if machine.accelerators is None:
        return None
    try:
        return catalog.get(Accelerator, machine.accelerators.type)
    except UnknownNameError as error:
        problems.add_unknown_name(path, error)
        return None


def _list_features(pool: Pool, accelerator: Accelerator | None) -> tuple[str, ...]:
    """Features that jobs can request, each once: pool, accelerator, machine, and those that the user added, sorted."""
    names = [accelerator.gres] if accelerator and accelerator.gres else []
    machine = re.sub(r"[^A-Za-z0-9_.-]", "_", pool.machine)
    return tuple(dict.fromkeys([pool.name, *names, machine, *sorted(pool.features)]))
