"""What every part of the Slurm target asks of a plan."""

from __future__ import annotations

from functools import cache

from ....catalog import SlurmRelease
from ....plan.model.plan import Plan, PoolPlan
from ....primitives.quantity import Size
from ....spec import SlurmScheduler

__all__ = ["is_dynamic", "real_memory", "release_of", "slurm_of", "usable_memory"]


def slurm_of(plan: Plan) -> SlurmScheduler:
    """The scheduler as declared."""
    declared = plan.scheduler.spec
    assert isinstance(declared, SlurmScheduler), "a plan without Slurm"
    return declared


def release_of(plan: Plan) -> SlurmRelease:
    """Keys and abilities of the release."""
    assert plan.scheduler.release is not None, "a plan whose Slurm release is unknown has an error finding"
    return plan.scheduler.release


def is_dynamic(plan: Plan) -> bool:
    """Whether nodes come and go and say themselves what they are, as on a cloud."""
    return plan.site.kind != "onprem"


@cache
def _mib(size: Size) -> int:
    return size.floor("MiB")


def real_memory(pool: PoolPlan) -> int | None:
    """Memory of a node in MiB."""
    return _mib(pool.machine.memory) if pool.machine.memory else None


def usable_memory(pool: PoolPlan) -> int:
    """MiB of a node that jobs may be given by default.

    A node may register with 95 % of its nominal memory (node_reg_mem_percent), so defaults promise no more than that.
    """
    memory = real_memory(pool) or 0
    return max(memory * 95 // 100 - pool.reserved_memory.ceil("MiB"), 0)
