"""The steps that decide whether a job can lie in a pool: its shape, its tenant, its limits, its pinned nodes."""

from __future__ import annotations

import re

from ..errors import InputError, nearest
from ..plan.model import Plan, PoolPlan
from ..primitives.nodes import expand
from ..spec import JobSpec
from ..spec.fleet import FleetSpec
from ..spec.scheduler import SlurmScheduler
from ..spec.tenant import Limits

__all__ = ["Refused", "capability", "licenses", "limits", "pinned", "shape", "tenant"]

_PRIORITIES = ("low", "normal", "high")
_LICENCE = re.compile(r"([^,;:=\s]+)(?:[:=](\d+))?")


class Refused(Exception):
    """A pool cannot have the job: why, and the smallest change that would help."""

    def __init__(self, reason: str, remedy: str = ""):
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


def shape(job: JobSpec, pool: PoolPlan, units: int | None = None) -> tuple[int, int, int]:
    """Nodes, accelerators on each, and nodes that one tensor-parallel group spans (1: it stays inside a node).

    ``units`` are what the job counts on a node, where that is not whole accelerators.

    Accelerators are spread evenly over the fewest nodes: 12 on nodes of 8 are 2 × 6. Where that would take twice the
    nodes it should, the count is refused: such a job is nearly always a slip.
    """
    count, size = job.accelerator_count, pool.per_node if units is None else units
    usable = pool.nodes - pool.spares
    if not count:
        return _at_most(job.nodes or 1, 0, usable, pool, size), 0, 1
    tensor = job.parallelism.tensor if job.parallelism else 1
    inside = min(tensor, size)
    least = -(-count // size)
    choices = [job.nodes] if job.nodes else range(least, 2 * least + 1)
    for nodes in choices:
        if count % nodes == 0 and count // nodes <= size and (count // nodes) % inside == 0:
            per_node = count // nodes
            group = -(-tensor // per_node)
            if tensor > per_node and (tensor % per_node or nodes % group):
                continue
            return _at_most(nodes, per_node, usable, pool, size), per_node, group
    if job.nodes and count > job.nodes * size:
        raise Refused(f"{count} accelerators do not fit {job.nodes} nodes of {size}", f"set nodes to {least}")
    over = f"{job.nodes} nodes" if job.nodes else f"nodes of {size}"
    groups = f" in tensor-parallel groups of {tensor}" if tensor > 1 else ""
    raise Refused(f"{count} accelerators do not divide evenly over {over}{groups}",
                  f"ask for {_near_counts(count, size, job.nodes, inside)}")  # fmt: skip


def _near_counts(count: int, size: int, nodes: int | None, inside: int) -> str:
    """The next even counts below and above."""
    even = []
    for total in range(max(1, count - 2 * size), count + 2 * size + 1):
        over = nodes or -(-total // size)
        if total % over == 0 and total // over <= size and total // over % inside == 0:
            even.append(total)
    below = [total for total in even if total < count][-1:]
    above = [total for total in even if total > count][:1]
    return " or ".join(map(str, below + above)) or f"a multiple of {inside}"


def _at_most(nodes: int, per_node: int, usable: int, pool: PoolPlan, size: int) -> int:
    if nodes <= usable:
        return nodes
    spares = f" ({pool.spares} more are spares)" if pool.spares else ""
    asked = f"{nodes * per_node} accelerators are {nodes} nodes" if per_node else f"the job asks for {nodes} nodes"
    remedy = f"ask for at most {usable * size} accelerators" if per_node else f"ask for at most {usable} nodes"
    raise Refused(f"{asked}, the pool has {usable}{spares}", remedy)


def tenant(job: JobSpec, plan: Plan, nodes: int, fleet: FleetSpec | None = None) -> None:
    """Whether the tenant is there and may have so much at one time: in this cluster, and over all of the fleet."""
    if job.tenant is None:
        return
    known = {item.name: item for item in plan.tenants}
    if job.tenant not in known:
        raise Refused(f"no tenant is called {job.tenant!r}", nearest(job.tenant, known) or "leave out tenant")
    found = known[job.tenant]
    if _PRIORITIES.index(job.priority) > _PRIORITIES.index(found.priority):
        raise Refused(f"tenant {found.name} may not submit with priority {job.priority}",
                      f"set priority to {found.priority}")  # fmt: skip
    shared = next((item.limits for item in fleet.tenants if item.name == found.name), Limits()) if fleet else Limits()
    for has, where in ((found.limits, ""), (shared, f" in {fleet.name}" if fleet else "")):
        for asked, most, what in ((job.accelerator_count, has.accelerators, "accelerators"),
                                  (nodes, has.nodes, "nodes")):  # fmt: skip
            if most is not None and asked > most:
                raise Refused(f"the job needs {asked} {what}, tenant {found.name} may have {most} at one time{where}",
                              f"ask for at most {most} {what}")  # fmt: skip


def capability(job: JobSpec, plan: Plan, pool: PoolPlan) -> None:
    """Whether the machines are had in a way that the job can live with."""
    declared = next((item for item in plan.spec.pools if item.name == pool.name), None)
    kinds = {way.kind for way in declared.capacity} if declared else set()
    if kinds == {"spot"} and not job.preemptible:
        raise Refused("its machines are spot: the cloud may take them back",
                      "leave out preemptible: false, or add on-demand to the pool's capacity")  # fmt: skip


def limits(job: JobSpec, plan: Plan, fleet: FleetSpec | None = None) -> None:
    """Whether the tenant and the cluster let work run so long; partitions have limits of their own."""
    if job.time_limit is None:
        return
    own = next((item.limits.max_time for item in plan.tenants if item.name == job.tenant), None)
    shared = next((item.limits.max_time for item in fleet.tenants if item.name == job.tenant), None) if fleet else None
    for most, whose in ((own, f"tenant {job.tenant}"), (shared, f"tenant {job.tenant}"),
                        (plan.max_time, f"cluster {plan.name}")):  # fmt: skip
        if most is not None and job.time_limit > most:
            raise Refused(f"time_limit {job.time_limit} is more than the {most} of {whose}",
                          f"set time_limit to at most {most}, and save checkpoints")  # fmt: skip


def pinned(job: JobSpec, pool: PoolPlan, nodes: int) -> tuple[str, ...]:
    """The nodes the job insists on, sorted as they were expanded."""
    if not job.place.nodes:
        return ()
    try:
        hosts = expand(",".join(job.place.nodes))
    except InputError as error:
        raise Refused(str(error), "write names as gpu-[0001-0004],gpu-0007") from None
    known = set(pool.hosts)
    for host in hosts:
        if host not in known:
            raise Refused(f"{host!r} is no node of the pool", f"its nodes are {pool.hosts}")
    if len(hosts) != nodes:
        raise Refused(f"place.nodes pins {len(hosts)}, the job needs {nodes}", f"pin {nodes} nodes")
    return tuple(hosts)


def licenses(job: JobSpec, plan: Plan) -> str:
    """The licences it holds, as Slurm writes them; raises :class:`Refused` for what the cluster does not have.

    A cluster has what ``Licenses`` of its slurm.conf says. Those of a licence server (``solver@server``) are in Slurm's
    database, which no plan knows: they are asked for as they are.
    """
    if not job.licenses:
        return ""
    scheduler = plan.spec.scheduler
    if not isinstance(scheduler, SlurmScheduler):
        raise Refused(f"its scheduler, {scheduler.kind}, counts no licences", "leave out licenses, or go to Slurm")
    known = dict(_LICENCE.findall(scheduler.options.get("Licenses", "")))
    for name, count in job.licenses.items():
        if "@" in name:
            continue
        if name not in known:
            declare = f"declare it with scheduler.options: {{Licenses: {name}:{count}}}"
            raise Refused(f"it has no licence {name!r}", "; ".join(filter(None, (nearest(name, known), declare))))
        if count > (most := int(known[name] or 1)):
            raise Refused(f"the job needs {count} of licence {name}, there are {most}", f"ask for at most {most}")
    return ",".join(f"{name}:{count}" for name, count in sorted(job.licenses.items()))
