"""Checks that jobs of one tenant do not run on nodes that a partition of an InfiniBand fabric assigns to another."""

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

# Items of a list in a message.
_MAX_NAMES = 4
_MAX_TEXT_LENGTH = 80
_SPLIT_POOL_HINT = "declare a separate pool for the nodes of each tenant, which is then for its jobs only"
_OWN_POOL_HINT = "declare a separate pool for these nodes, which is then for their tenant's jobs only"
_KUEUE_HINT = (
    "set scheduler.queue: kueue, whose queues reserve pools for tenants (those of Volcano do not reserve nodes)"
)


@dataclass(frozen=True)
class _JobRange:
    """Pools among whose nodes a job is allocated."""

    path: str
    label: str
    pools: tuple[str, ...]
    tenants: frozenset[str]
    """Tenants whose jobs are accepted."""
    hint: str
    """How to restrict jobs to the tenants of the nodes; empty: by ``accounts``."""


def subnet_tenants(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Slurm partitions and Kubernetes pools in which tenants can run on nodes of others."""
    for fabric in plan.spec.fabrics:
        owners = find_host_tenants(fabric) if plan.site.kind == "onprem" and plan.tenants else {}
        for item in _iter_job_ranges(plan) if owners else ():
            # a partition may list a pool that does not exist, which is another finding
            pools = [pool for pool in plan.pools if pool.name in item.pools and fabric.name in pool.fabrics]
            hosts = [host for pool in pools for host in pool.hosts]
            groups = {owners[host] for host in hosts if host in owners}
            if len(groups) == 1:
                yield from _check_foreign_tenants(fabric.name, item, hosts, owners)
            elif groups:
                yield from _check_mixed_tenants(fabric.name, item, groups)


def _check_foreign_tenants(
    fabric: str, job_range: _JobRange, hosts: list[str], owners: Mapping[str, frozenset[str]]
) -> Iterator[Finding]:
    owned = [host for host in hosts if host in owners]
    whose = owners[owned[0]]
    strange = job_range.tenants - whose
    if not strange:
        return
    declare = f"set accounts: [{', '.join(sorted(whose))}] there" if len(owned) == len(hosts) else _OWN_POOL_HINT
    yield Finding(
        "subnet-tenants",
        "warning",
        job_range.path,
        f"{job_range.label} allows jobs of {_format_names(strange)} on {len(owned)} nodes of "
        f"{_format_names(whose)} ({_fold_hosts(owned)}): "
        f"on them they have the P_Key of {_format_names(whose)} on {fabric}",
        job_range.hint or declare,
    )


def _check_mixed_tenants(fabric: str, job_range: _JobRange, groups: Iterable[frozenset[str]]) -> Iterator[Finding]:
    """Nodes of several tenants: who is on a node is a full member of the partitions of its tenants."""
    if not any(job_range.tenants - whose for whose in groups):
        return
    yield Finding(
        "subnet-tenants",
        "warning",
        job_range.path,
        f"{job_range.label} has nodes of {_format_names(frozenset().union(*groups))}, and allows jobs of "
        f"{_format_names(job_range.tenants)} on all of them: a job on a node of another tenant has its P_Key on "
        f"{fabric}, so that the tenants are not isolated",
        _KUEUE_HINT if job_range.hint == _KUEUE_HINT else _SPLIT_POOL_HINT,
    )


def _iter_job_ranges(plan: Plan) -> Iterator[_JobRange]:
    everybody = frozenset(tenant.name for tenant in plan.tenants)
    scheduler = plan.spec.scheduler
    if isinstance(scheduler, SlurmScheduler):
        for index, item in enumerate(plan.scheduler.partitions):
            path = f"scheduler.partitions[{index}]" if scheduler.partitions else "pools"
            yield _JobRange(
                path,
                f"the Slurm partition {item.name}",
                item.pools,
                frozenset(item.accounts) or everybody,
                "" if scheduler.partitions else _OWN_POOL_HINT,
            )
        return
    volcano = scheduler.queue == "volcano"
    for index, pool in enumerate(plan.pools):
        tenants = frozenset() if volcano else frozenset(pool.tenants)
        yield _JobRange(
            f"pools[{index}]",
            f"the pool {pool.name}",
            (pool.name,),
            tenants or everybody,
            _KUEUE_HINT if volcano else _OWN_POOL_HINT,
        )


def _format_names(names: Iterable[str]) -> str:
    found = sorted(names)
    return ", ".join(found[:_MAX_NAMES]) + " …" * (len(found) > _MAX_NAMES)


def _fold_hosts(hosts: list[str]) -> str:
    text = fold(hosts)
    return text if len(text) <= _MAX_TEXT_LENGTH else f"{text[:_MAX_TEXT_LENGTH]} …"
