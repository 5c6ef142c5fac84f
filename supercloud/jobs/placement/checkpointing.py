"""Failures and checkpoints: how long until a node of a job fails, how often to save, how many spares to hold.

Formulas with their check values: Young (CACM 1974), Daly (FGCS 2006), and the effective training time of Kokolis et
al. (arXiv 2410.21680 §4). Times are seconds, rates are failures of one node in a day.
"""

from __future__ import annotations

from math import exp, sqrt

from ...catalog import Catalog
from ...catalog.reliability import FailureRate
from ...plan.model.plan import Plan
from ...spec import JobSpec

__all__ = ["daly", "effective_time", "failure_time", "proposed_interval", "spares", "waste", "write_seconds", "young"]

_DAY = 86_400.0
_BYTES_PER_PARAMETER = 14  # bf16 weights, fp32 master weights and both moments of Adam: spec.storage.Checkpoint


def failure_time(nodes: int, rate: float) -> float:
    """Mean time until one of the nodes fails."""
    return _DAY / (nodes * rate)


def young(cost: float, failure: float) -> float:
    """Interval between checkpoints that take ``cost`` each, to first order."""
    return sqrt(2 * cost * failure)


def daly(cost: float, failure: float) -> float:
    """The same to higher order: time of work between two checkpoints."""
    if cost >= 2 * failure:
        return failure
    part = cost / (2 * failure)
    return young(cost, failure) * (1 + sqrt(part) / 3 + part / 9) - cost


def waste(cost: float, interval: float, failure: float, restart: float) -> float:
    """Part of the time that is lost to saving, to work done twice and to starting again."""
    return cost / interval + interval / (2 * failure) + restart / failure


def effective_time(nodes: int, rate: float, interval: float, cost: float, restart: float) -> float:
    """Part of the time in which training goes on (ETTR)."""
    return (1 - nodes * rate / _DAY * (restart + interval / 2)) / (1 + cost / interval)


def spares(nodes: int, rate: float, repair: float, certainty: float) -> int:
    """Nodes to hold back so that with this certainty no more are in repair at one time (a Poisson quantile)."""
    expected = nodes * rate * repair / _DAY
    chance = exp(-expected)
    reached, count = chance, 0
    while reached < certainty and count < nodes:
        count += 1
        chance *= expected / count
        reached += chance
    return count


def write_seconds(job: JobSpec, plan: Plan) -> float | None:
    """How long training stands still for a checkpoint, as far as one can tell."""
    saved = job.checkpoint
    if saved is None:
        return None
    if saved.write is not None:
        return saved.write.to("s")
    size = float(saved.size.base) if saved.size else job.model.parameters * _BYTES_PER_PARAMETER if job.model else None
    mounted = [item for item in plan.storage
               if item.mount and (saved.path + "/").startswith(item.mount.rstrip("/") + "/")]  # fmt: skip
    if size is None or not mounted:
        return None
    storage = max(mounted, key=lambda item: len(item.mount or ""))
    return size / storage.write.to("B/s") if storage.write else None


def proposed_interval(job: JobSpec, plan: Plan, nodes: int, catalog: Catalog, failures: str) -> float | None:
    """Seconds between checkpoints by Daly's formula; None where the job says so itself, or too little is known."""
    if job.checkpoint is None or job.checkpoint.every is not None:
        return None
    cost = write_seconds(job, plan)
    if not cost:
        return None
    rate = catalog.get("failure-rates", failures)
    assert isinstance(rate, FailureRate)
    return daly(cost, failure_time(nodes, rate.per_node_day))
