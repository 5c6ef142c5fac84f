"""The steps that decide whether a job fits a pool: its shape, its tenant, its limits, its pinned nodes."""

from __future__ import annotations

import re

from ....errors import InputError, suggest_nearest
from ....plan.model.plan import Plan, PoolPlan
from ....primitives.nodes import expand
from ....spec import JobSpec
from ....spec.fleet import FleetSpec
from ....spec.scheduler import SlurmScheduler
from ....spec.tenant import TenantLimits
from .shape import JobChange, ShrinkAdvisor, compute_even_shape

__all__ = [
    "RefusalError",
    "require_capacity_type",
    "require_node_tenant",
    "require_licenses",
    "require_time_limit",
    "expand_pinned_nodes",
    "compute_shape",
    "require_tenant",
]

_PRIORITY_ORDER = ("low", "normal", "high")
_LICENSE_PATTERN = re.compile(r"([^,;:=\s]+)(?:[:=](\d+))?")


class RefusalError(Exception):
    """The job does not fit the pool: the reason, the smallest change that helps, and that change as fields of the job.

    ``other`` is an alternative, in words and as fields; without fields it does not change the job.
    """

    def __init__(
        self,
        reason: str,
        suggestion: str = "",
        change: JobChange | None = None,
        other: tuple[str, JobChange] | None = None,
    ):
        super().__init__(reason)
        self.reason, self.suggestion, self.change, self.other = reason, suggestion, change or {}, other

    @property
    def advice(self) -> str:
        """Both alternatives in words, whether or not they are enough."""
        return f"{self.suggestion}, or {self.other[0]}" if self.other else self.suggestion


def compute_shape(job: JobSpec, pool: PoolPlan, advisor: ShrinkAdvisor) -> tuple[int, int, int]:
    """Nodes, accelerators on each, and nodes that one tensor-parallel group spans (1: it stays inside a node)."""
    count, size = job.accelerator_count, advisor.units_per_node
    if not count:
        return _require_usable_nodes(job.nodes or 1, 0, pool, advisor), 0, 1
    tensor = job.parallelism.tensor if job.parallelism else 1
    found = compute_even_shape(count, job.nodes, tensor, size)
    if found:
        return _require_usable_nodes(found[0], found[1], pool, advisor), found[1], found[2]
    if job.nodes and count > job.nodes * size:
        raise RefusalError(f"{count} accelerators do not fit {job.nodes} nodes of {size}", *advisor())
    over = f"{job.nodes} nodes" if job.nodes else f"nodes of {size}"
    groups = f" in tensor-parallel groups of {tensor}" if tensor > 1 else ""
    raise RefusalError(f"{count} accelerators do not divide evenly over {over}{groups}", *advisor())


def _require_usable_nodes(nodes: int, per_node: int, pool: PoolPlan, advisor: ShrinkAdvisor) -> int:
    if nodes <= advisor.usable_nodes:
        return nodes
    spares = f" ({pool.spares} more are spares)" if pool.spares else ""
    request = f"{nodes * per_node} accelerators are {nodes} nodes" if per_node else f"the job requests {nodes} nodes"
    raise RefusalError(f"{request}, the pool has {advisor.usable_nodes}{spares}", *advisor())


def require_tenant(
    job: JobSpec, plan: Plan, nodes: int, advisor: ShrinkAdvisor, fleet: FleetSpec | None = None
) -> None:
    """Check that the tenant exists and that its limits allow the job: in this cluster, and over the whole fleet."""
    if job.tenant is None:
        return
    known = {item.name: item for item in plan.tenants}
    if job.tenant not in known:
        raise RefusalError(f"unknown tenant {job.tenant!r}", suggest_nearest(job.tenant, known) or "omit tenant")
    found = known[job.tenant]
    if _PRIORITY_ORDER.index(job.priority) > _PRIORITY_ORDER.index(found.priority):
        raise RefusalError(
            f"tenant {found.name} may not submit with priority {job.priority}",
            f"set priority to {found.priority}",
            {"priority": found.priority},
        )
    shared = (
        next((item.limits for item in fleet.tenants if item.name == found.name), TenantLimits())
        if fleet
        else TenantLimits()
    )
    for has, where in ((found.limits, ""), (shared, f" in {fleet.name}" if fleet else "")):
        if has.accelerators is not None and job.accelerator_count > has.accelerators:
            raise RefusalError(
                f"the job needs {job.accelerator_count} accelerators, tenant {found.name} is limited to "
                f"{has.accelerators} at one time{where}",
                *advisor(accelerators=has.accelerators),
            )
        if has.nodes is not None and nodes > has.nodes:
            raise RefusalError(
                f"the job needs {nodes} nodes, tenant {found.name} is limited to {has.nodes} at one time{where}",
                *advisor(nodes=has.nodes),
            )


def require_node_tenant(job: JobSpec, plan: Plan, pool: PoolPlan) -> None:
    """Check that nodes reserved for tenants are of the job's tenant, where no Slurm partition enforces it."""
    if plan.scheduler.kind != "slurm" and pool.tenants and job.tenant not in pool.tenants:
        raise RefusalError(
            f"its nodes are in the InfiniBand partition of tenant {' and '.join(pool.tenants)}; only its jobs "
            "run there",
            f"set tenant to {pool.tenants[0]}",
            {"tenant": pool.tenants[0]},
        )


def require_capacity_type(job: JobSpec, plan: Plan, pool: PoolPlan) -> None:
    """Check that the job tolerates the capacity type of the machines."""
    declared = next((item for item in plan.spec.pools if item.name == pool.name), None)
    kinds = {way.kind for way in declared.capacity} if declared else set()
    if kinds == {"spot"} and not job.preemptible:
        raise RefusalError(
            "its machines are spot instances, which the cloud may reclaim",
            "omit preemptible: false, or add on-demand to the pool's capacity",
            {"preemptible": None},
        )


def require_time_limit(job: JobSpec, plan: Plan, fleet: FleetSpec | None = None) -> None:
    """Check the time limits of the tenant and the cluster; partitions have separate limits."""
    if job.time_limit is None:
        return
    own = next((item.limits.max_time for item in plan.tenants if item.name == job.tenant), None)
    shared = next((item.limits.max_time for item in fleet.tenants if item.name == job.tenant), None) if fleet else None
    for most, whose in (
        (own, f"tenant {job.tenant}"),
        (shared, f"tenant {job.tenant}"),
        (plan.max_time, f"cluster {plan.name}"),
    ):
        if most is not None and job.time_limit > most:
            raise RefusalError(
                f"time_limit {job.time_limit} exceeds the maximum of {whose}, {most}",
                f"set time_limit to at most {most}, and save checkpoints",
                {"time_limit": str(most)},
            )


def expand_pinned_nodes(job: JobSpec, pool: PoolPlan, nodes: int) -> tuple[str, ...]:
    """The nodes the job pins, in the order of their expansion."""
    if not job.place.nodes:
        return ()
    try:
        hosts = expand(",".join(job.place.nodes))
    except InputError as error:
        raise RefusalError(str(error), "write names as gpu-[0001-0004],gpu-0007") from None
    known = set(pool.hosts)
    for host in hosts:
        if host not in known:
            raise RefusalError(
                f"{host!r} is not a node of the pool",
                f"its nodes are {pool.hosts}; or omit place.nodes",
                {"place.nodes": None},
            )
    if len(hosts) != nodes:
        raise RefusalError(
            f"place.nodes pins {len(hosts)}, the job needs {nodes}",
            f"pin {nodes} nodes, or omit place.nodes",
            {"place.nodes": None},
        )
    return tuple(hosts)


def require_licenses(job: JobSpec, plan: Plan) -> str:
    """The licenses it holds, in Slurm's notation; raises :class:`RefusalError` for licenses that the cluster does not
    have.

    The licenses of a cluster are those in ``Licenses`` of its slurm.conf. Those of a license server
    (``solver@server``) are in Slurm's database, which is not part of the plan: they are requested unchecked.
    """
    if not job.licenses:
        return ""
    scheduler = plan.spec.scheduler
    if not isinstance(scheduler, SlurmScheduler):
        raise RefusalError(
            f"its scheduler, {scheduler.kind}, does not support licenses",
            "omit licenses, or use a Slurm cluster",
            {"licenses": None},
        )
    known = dict(_LICENSE_PATTERN.findall(scheduler.options.get("Licenses", "")))
    for name, count in job.licenses.items():
        if "@" in name:
            continue
        if name not in known:
            declare = f"declare it with scheduler.options: {{Licenses: {name}:{count}}}"
            raise RefusalError(
                f"unknown license {name!r}", "; ".join(filter(None, (suggest_nearest(name, known), declare)))
            )
        if count > (most := int(known[name] or 1)):
            raise RefusalError(
                f"the job needs {count} of license {name}, the cluster has {most}",
                f"request at most {most}",
                {"licenses": {**job.licenses, name: most}},
            )
    return ",".join(f"{name}:{count}" for name, count in sorted(job.licenses.items()))
