"""The units of a job on a node: whole accelerators, MIG instances, or shards of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from ....catalog import Accelerator
from ....plan.model.plan import PoolPlan
from ....spec import JobSpec
from ..refusal import JobChange, StepRefusal

__all__ = ["AcceleratorUnits", "compute_units"]


@dataclass(frozen=True)
class AcceleratorUnits:
    """The units that are counted, and their number on a node."""

    per_node: int
    """Number of units on one node."""
    kind: str = ""
    """``mig``, ``shard``, or empty for whole accelerators."""
    gres: str = ""
    """Name of the unit in the scheduler."""
    shards_per_unit: int = 1
    """Shards per unit."""
    per_accelerator: Fraction = Fraction(1)
    """Number of units per accelerator."""
    name: str = ""


def compute_units(job: JobSpec, pool: PoolPlan, in_pods: bool = False) -> AcceleratorUnits | StepRefusal:
    """The units of a job in a pool, if that is partitioned as requested.

    A pod gets at most one share of a shared accelerator: several shares on a node may be of different accelerators.
    """
    accelerator, slicing, wish = pool.accelerator, pool.slicing, job.accelerators
    if wish.profile is None and wish.fraction in (None, 1):
        return _compute_whole_units(job, pool, in_pods)
    if accelerator is None:
        return StepRefusal("it has no accelerators", "use a pool with accelerators")
    if slicing is None:
        return StepRefusal(
            f"its {accelerator.name} are not sliced",
            "request whole accelerators, or set slicing on the pool",
            _build_slice_change(),
        )
    if not slicing.shards:
        return _compute_instances(job, accelerator, slicing.mig, _count_sliced(pool))
    if not wish.fraction:
        return StepRefusal(
            f"its accelerators are shared in {slicing.shards} shards, not partitioned into MIG instances",
            *_suggest_share(job, slicing.shards),
        )
    each = ceil(Fraction(str(wish.fraction)) * slicing.shards)
    if in_pods:
        return _compute_pod_share(job, accelerator, slicing.shards, each)
    fit = slicing.shards // each
    name = f"{each}/{slicing.shards} {accelerator.name}"
    return AcceleratorUnits(_count_sliced(pool) * fit, "shard", "shard", each, Fraction(fit), name)


def _count_sliced(pool: PoolPlan) -> int:
    """Accelerators of a node that are shared or partitioned."""
    if pool.slicing is None:
        return 0
    return min(pool.slicing.accelerators or pool.accelerators_per_node, pool.accelerators_per_node)


def _compute_whole_units(job: JobSpec, pool: PoolPlan, in_pods: bool) -> AcceleratorUnits | StepRefusal:
    """Whole accelerators: those of a node that are not partitioned."""
    accelerator, slicing, total = pool.accelerator, pool.slicing, pool.accelerators_per_node
    gres, name = (accelerator.gres or "", accelerator.name) if accelerator else ("", "")
    if job.accelerator_count and slicing:
        if in_pods and slicing.shards:
            return StepRefusal(
                f"pods get shares of its {name}, {slicing.shards} per accelerator", *_suggest_share(job, slicing.shards)
            )
        if slicing.mig and _count_sliced(pool) == total:
            return _refuse_partitioned(job, min(slicing.mig))
        if slicing.mig:
            total -= _count_sliced(pool)
    return AcceleratorUnits(total, "", gres, name=name)


def _refuse_partitioned(job: JobSpec, profile: str) -> StepRefusal:
    reason = "all of its accelerators are partitioned into MIG instances"
    if job.parallelism:  # which requires whole accelerators
        return StepRefusal(reason, "use a pool with whole accelerators")
    return StepRefusal(
        reason, f"request instances: accelerators.profile: {profile}", _build_slice_change(profile=profile)
    )


def _compute_pod_share(
    job: JobSpec, accelerator: Accelerator, shards: int, needed_shards: int
) -> AcceleratorUnits | StepRefusal:
    if needed_shards > 1:
        return StepRefusal(
            f"a pod gets one share of its {accelerator.name}, {shards} per accelerator, the job needs {needed_shards}",
            *_suggest_share(job, shards),
        )
    return AcceleratorUnits(1, "shard", "shard", 1, Fraction(shards), f"1/{shards} {accelerator.name}")


def _compute_instances(
    job: JobSpec, accelerator: Accelerator, instances: Mapping[str, int], partitioned: int
) -> AcceleratorUnits | StepRefusal:
    """MIG instances of the ``partitioned`` accelerators of a node."""
    profile = _select_profile(job, accelerator, instances)
    if isinstance(profile, StepRefusal):
        return profile
    number = instances[profile]
    name = f"{profile} of {accelerator.name}"
    return AcceleratorUnits(partitioned * number, "mig", profile, 1, Fraction(number), name)


def _select_profile(job: JobSpec, accelerator: Accelerator, instances: Mapping[str, int]) -> str | StepRefusal:
    """The instance of the pool that is requested by name, or the smallest that is large enough."""
    memory = {item.profile: float(item.memory.base) for item in accelerator.mig}
    sizes = sorted(instances, key=lambda profile: (memory.get(profile, 0.0), profile))
    wish, whole = job.accelerators, float(accelerator.memory.base) if accelerator.memory else 0.0
    if wish.profile is not None:
        if wish.profile in instances:
            return wish.profile
        least = memory.get(wish.profile, 0.0)
        problem = f"its accelerators are partitioned into {', '.join(sizes)}, not {wish.profile}"
    else:
        least = whole * (wish.fraction or 0)
        if enough := [profile for profile in sizes if memory.get(profile, 0.0) >= least > 0]:
            return enough[0]
        problem = f"none of its instances ({', '.join(sizes)}) is {wish.fraction:g} of one {accelerator.name}"
    larger = [profile for profile in sizes if memory.get(profile, 0.0) >= least]
    some = (larger or sizes[-1:])[0]
    return StepRefusal(problem, f"request accelerators.profile: {some}", _build_slice_change(profile=some))


def _build_slice_change(profile: str | None = None, fraction: float | None = None) -> JobChange:
    return {"accelerators.profile": profile, "accelerators.fraction": fraction}


def _suggest_share(job: JobSpec, shards: int) -> tuple[str, JobChange]:
    if job.parallelism:  # which requires whole accelerators
        return "use a pool with whole accelerators", {}
    return f"request accelerators.fraction: {_compute_share_fraction(shards):g}", _build_slice_change(
        fraction=_compute_share_fraction(shards)
    )


def _compute_share_fraction(shards: int) -> float:
    """One shard, as a short fraction that is at most one shard."""
    return next(cut for zeros in range(1, 16) if (cut := floor(10.0**zeros / shards) / 10.0**zeros) * shards > 0.9)
