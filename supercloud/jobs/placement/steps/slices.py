"""The units of a job on a node: whole accelerators, MIG instances, or shards of one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from ....catalog import Accelerator
from ....plan.model.plan import PoolPlan
from ....spec import JobSpec
from .feasibility import RefusalError
from .shape import JobChange

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


def compute_units(job: JobSpec, pool: PoolPlan, in_pods: bool = False) -> AcceleratorUnits:
    """The units of a job in a pool; raises :class:`RefusalError` if the pool is not partitioned as requested.

    A pod gets at most one share of a shared accelerator: several shares on a node may be of different accelerators.
    """
    accelerator, slicing, wish = pool.accelerator, pool.slicing, job.accelerators
    gres = accelerator.gres or "" if accelerator else ""
    name = accelerator.name if accelerator else ""
    cut = min(slicing.accelerators or pool.accelerators_per_node, pool.accelerators_per_node) if slicing else 0
    if wish.profile is None and wish.fraction in (None, 1):
        if in_pods and job.accelerator_count and slicing and slicing.shards:
            raise RefusalError(
                f"pods get shares of its {name}, {slicing.shards} per accelerator", *_suggest_share(job, slicing.shards)
            )
        if not (job.accelerator_count and slicing and slicing.mig):
            return AcceleratorUnits(pool.accelerators_per_node, "", gres, name=name)
        if cut == pool.accelerators_per_node:
            some = min(slicing.mig)
            if job.parallelism:  # which requires whole accelerators
                raise RefusalError(
                    "all of its accelerators are partitioned into MIG instances", "use a pool with whole accelerators"
                )
            raise RefusalError(
                "all of its accelerators are partitioned into MIG instances",
                f"request instances: accelerators.profile: {some}",
                _build_slice_change(profile=some),
            )
        return AcceleratorUnits(pool.accelerators_per_node - cut, "", gres, name=name)
    if accelerator is None:
        raise RefusalError("it has no accelerators", "use a pool with accelerators")
    if slicing is None:
        raise RefusalError(
            f"its {accelerator.name} are not sliced",
            "request whole accelerators, or set slicing on the pool",
            _build_slice_change(),
        )
    if slicing.shards and wish.fraction:
        each = ceil(Fraction(str(wish.fraction)) * slicing.shards)
        if in_pods and each > 1:
            raise RefusalError(
                f"a pod gets one share of its {name}, {slicing.shards} per accelerator, the job needs {each}",
                *_suggest_share(job, slicing.shards),
            )
        if in_pods:
            return AcceleratorUnits(1, "shard", "shard", 1, Fraction(slicing.shards), f"1/{slicing.shards} {name}")
        fit = slicing.shards // each
        return AcceleratorUnits(
            cut * fit, "shard", "shard", each, Fraction(fit), f"{each}/{slicing.shards} {accelerator.name}"
        )
    if slicing.shards:
        raise RefusalError(
            f"its accelerators are shared in {slicing.shards} shards, not partitioned into MIG instances",
            *_suggest_share(job, slicing.shards),
        )
    profile = _select_profile(job, accelerator, slicing.mig)
    number = slicing.mig[profile]
    return AcceleratorUnits(cut * number, "mig", profile, 1, Fraction(number), f"{profile} of {accelerator.name}")


def _select_profile(job: JobSpec, accelerator: Accelerator, instances: dict[str, int]) -> str:
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
    raise RefusalError(problem, f"request accelerators.profile: {some}", _build_slice_change(profile=some))


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
