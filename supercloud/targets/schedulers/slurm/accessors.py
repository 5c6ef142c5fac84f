"""Accessors of the plan for all modules of the Slurm target."""

from __future__ import annotations

from functools import cache

from ....catalog import SlurmRelease
from ....plan.model.plan import Plan, PoolPlan
from ....primitives.quantity import Size
from ....spec import SlurmScheduler
from ....spec.scheduler import STATE_FOLDER

__all__ = [
    "get_cluster_name",
    "get_state_folder",
    "has_dynamic_nodes",
    "compute_real_memory",
    "require_slurm_release",
    "require_slurm_spec",
    "compute_usable_memory",
]


def require_slurm_spec(plan: Plan) -> SlurmScheduler:
    """The scheduler as declared."""
    declared = plan.scheduler.settings
    assert isinstance(declared, SlurmScheduler), "a plan without Slurm"
    return declared


def get_cluster_name(plan: Plan) -> str:
    """Return the ClusterName of slurm.conf and of the accounting database."""
    return require_slurm_spec(plan).cluster_name or plan.name


def get_state_folder(plan: Plan) -> str:
    """Return the StateSaveLocation, which is a disk of the cloud where the boot scripts mount one."""
    return require_slurm_spec(plan).state_folder if plan.site.kind == "onprem" else STATE_FOLDER


def require_slurm_release(plan: Plan) -> SlurmRelease:
    """Return keys and capabilities of the release."""
    assert plan.scheduler.release is not None, "a plan whose Slurm release is unknown has an error finding"
    return plan.scheduler.release


def has_dynamic_nodes(plan: Plan) -> bool:
    """Whether nodes are dynamic and report their own configuration, as on a cloud."""
    return plan.site.kind != "onprem"


@cache
def _to_mib(size: Size) -> int:
    return size.floor("MiB")


def compute_real_memory(pool: PoolPlan) -> int | None:
    """Return the memory of a node in MiB."""
    return _to_mib(pool.machine.memory) if pool.machine.memory else None


def compute_usable_memory(pool: PoolPlan) -> int:
    """Return the MiB of a node that jobs may use by default.

    A node may register with 95 % of its nominal memory (node_reg_mem_percent), so that defaults do not exceed that.
    """
    memory = compute_real_memory(pool) or 0
    return max(memory * 95 // 100 - pool.reserved_memory.ceil("MiB"), 0)
