"""Failures and checkpoints: mean time to failure, checkpoint interval, number of spares.

Formulas with their check values: Young (CACM 1974), Daly (FGCS 2006), and the effective training time of Kokolis et
al. (arXiv 2410.21680 §4). Times are seconds, rates are failures per node and day.
"""

from __future__ import annotations

from math import sqrt

from ...catalog import Catalog
from ...catalog.reliability import FailureRate
from ...plan.model.plan import Plan
from ...spec import JobSpec
from .memory import compute_saved_bytes

__all__ = [
    "compute_daly_interval",
    "compute_mean_time_to_failure",
    "compute_checkpoint_interval",
    "compute_waste",
    "compute_write_time",
    "compute_young_interval",
]

_DAY = 86_400.0


def compute_mean_time_to_failure(nodes: int, failure_rate: float) -> float:
    """Mean time until one of the nodes fails."""
    return _DAY / (nodes * failure_rate)


def compute_young_interval(write_time: float, mean_time_to_failure: float) -> float:
    """Interval between checkpoints that take ``write_time`` each, to first order."""
    return sqrt(2 * write_time * mean_time_to_failure)


def compute_daly_interval(write_time: float, mean_time_to_failure: float) -> float:
    """The same to higher order: time of work between two checkpoints."""
    if write_time >= 2 * mean_time_to_failure:
        return mean_time_to_failure
    part = write_time / (2 * mean_time_to_failure)
    return compute_young_interval(write_time, mean_time_to_failure) * (1 + sqrt(part) / 3 + part / 9) - write_time


def compute_waste(write_time: float, interval: float, mean_time_to_failure: float, restart_time: float) -> float:
    """Fraction of the time lost to saving, repeated work and restarts."""
    return write_time / interval + interval / (2 * mean_time_to_failure) + restart_time / mean_time_to_failure


def compute_write_time(job: JobSpec, plan: Plan) -> float | None:
    """Seconds that training is paused for a checkpoint; None if unknown."""
    saved = job.checkpoint
    if saved is None:
        return None
    if saved.write is not None:
        return saved.write.to("s")
    size = float(saved.size.base) if saved.size else compute_saved_bytes(job.model) if job.model else None
    mounted = [
        item for item in plan.storage if item.mount and (saved.path + "/").startswith(item.mount.rstrip("/") + "/")
    ]
    if size is None or not mounted:
        return None
    storage = max(mounted, key=lambda item: len(item.mount or ""))
    return size / storage.write.to("B/s") if storage.write else None


def compute_checkpoint_interval(
    job: JobSpec, plan: Plan, nodes: int, catalog: Catalog, failure_rate_name: str
) -> float | None:
    """Seconds between checkpoints by Daly's formula; None if the job specifies its own, or not enough is known."""
    if job.checkpoint is None or job.checkpoint.every is not None:
        return None
    cost = compute_write_time(job, plan)
    if not cost:
        return None
    rate = catalog.get(FailureRate, failure_rate_name)
    return compute_daly_interval(cost, compute_mean_time_to_failure(nodes, rate.per_node_day))
