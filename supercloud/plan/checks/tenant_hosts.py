"""Checks that jobs of one tenant do not run on nodes that a partition of an InfiniBand fabric gives to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...catalog import Catalog
from ...errors import Finding
from ...primitives.nodes import fold
from ...spec import SlurmScheduler
from ..build.fabric.tenant_hosts import find_host_tenants
from ..model.plan import Plan

__all__ = ["subnet_tenants"]

# Of a list in a message.
_MOST_NAMES = 4
_LONG = 80
_OWN_POOL = "give these nodes a pool of their own, which is then for their tenant's jobs only"
_NO_VOLCANO = "set scheduler.queue: kueue, whose queues hold pools for tenants (those of Volcano hold no nodes)"


@dataclass(frozen=True)
class _Range:
    """Pools among whose nodes a job gets its own."""

    path: str
    what: str
    pools: tuple[str, ...]
    tenants: frozenset[str]
    """Whose jobs are let in."""
    hint: str
    """How to let in only those of the nodes; empty: by ``accounts``."""


def subnet_tenants(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Partitions of Slurm and pools of Kubernetes that let tenants run on nodes of others.

    Nodes of several tenants in one of them are what ``subnet-jobs`` finds.
    """
    for fabric in plan.spec.fabrics:
        owners = find_host_tenants(fabric) if plan.site.kind == "onprem" and plan.tenants else {}
        for item in _job_ranges(plan) if owners else ():
            pools = [plan.pool(name) for name in item.pools if fabric.name in plan.pool(name).fabrics]
            hosts = [host for pool in pools for host in pool.hosts]
            if len({owners[host] for host in hosts if host in owners}) == 1:
                yield from _find_strangers(fabric.name, item, hosts, owners)


def _find_strangers(
    fabric: str, item: _Range, hosts: list[str], owners: Mapping[str, frozenset[str]]
) -> Iterator[Finding]:
    owned = [host for host in hosts if host in owners]
    whose = owners[owned[0]]
    strange = item.tenants - whose
    if not strange:
        return
    declare = f"set accounts: [{', '.join(sorted(whose))}] there" if len(owned) == len(hosts) else _OWN_POOL
    yield Finding(
        "subnet-tenants", "warning", item.path,
        f"{item.what} lets jobs of {_names(strange)} run on {len(owned)} nodes of {_names(whose)} ({_folded(owned)}): "
        f"there they have the P_Key of {_names(whose)} on {fabric}",
        item.hint or declare,
    )  # fmt: skip


def _job_ranges(plan: Plan) -> Iterator[_Range]:
    everybody = frozenset(tenant.name for tenant in plan.tenants)
    scheduler = plan.spec.scheduler
    if isinstance(scheduler, SlurmScheduler):
        for index, item in enumerate(plan.scheduler.partitions):
            path = f"scheduler.partitions[{index}]" if scheduler.partitions else "pools"
            yield _Range(path, f"the Slurm partition {item.name}", item.pools, frozenset(item.accounts) or everybody,
                         "" if scheduler.partitions else _OWN_POOL)  # fmt: skip
        return
    volcano = scheduler.queue == "volcano"
    for index, pool in enumerate(plan.pools):
        tenants = frozenset() if volcano else frozenset(pool.tenants)
        yield _Range(f"pools[{index}]", f"the pool {pool.name}", (pool.name,), tenants or everybody,
                     _NO_VOLCANO if volcano else _OWN_POOL)  # fmt: skip


def _names(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(found[:_MOST_NAMES]) + " …" * (len(found) > _MOST_NAMES)


def _folded(hosts: list[str]) -> str:
    text = fold(hosts)
    return text if len(text) <= _LONG else f"{text[:_LONG]} …"
