"""What a job counts on a node: whole accelerators, MIG instances, or shards of one."""

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
    """What is counted, and how many of it a node has."""

    per_node: int
    """So many of what the job counts fit on one node."""
    kind: str = ""
    """``mig``, ``shard``, or empty for whole accelerators."""
    gres: str = ""
    """What the scheduler calls it."""
    shards_per_unit: int = 1
    """Shards of one counted thing."""
    per_accelerator: Fraction = Fraction(1)
    """How many of it are on one accelerator."""
    name: str = ""


def compute_units(job: JobSpec, pool: PoolPlan, in_pods: bool = False) -> AcceleratorUnits:
    """What a job counts in a pool; raises :class:`RefusalError` where the pool is not cut as it wants.

    A pod gets one share of a shared accelerator and no more: shares of one node have no accelerator in common.
    """
    accelerator, slicing, wish = pool.accelerator, pool.slicing, job.accelerators
    gres = accelerator.gres or "" if accelerator else ""
    name = accelerator.name if accelerator else ""
    cut = min(slicing.accelerators or pool.accelerators_per_node, pool.accelerators_per_node) if slicing else 0
    if wish.profile is None and wish.fraction in (None, 1):
        if in_pods and job.accelerator_count and slicing and slicing.shards:
            raise RefusalError(
                f"pods get shares of its {name}, {slicing.shards} of each", *_suggest_share(job, slicing.shards)
            )
        if not (job.accelerator_count and slicing and slicing.mig):
            return AcceleratorUnits(pool.accelerators_per_node, "", gres, name=name)
        if cut == pool.accelerators_per_node:
            some = min(slicing.mig)
            if job.parallelism:  # which is over whole accelerators
                raise RefusalError("all of its accelerators are cut into MIG instances", "take a pool with whole ones")
            raise RefusalError(
                "all of its accelerators are cut into MIG instances",
                f"ask for instances: accelerators.profile: {some}",
                _build_slice_change(profile=some),
            )
        return AcceleratorUnits(pool.accelerators_per_node - cut, "", gres, name=name)
    if accelerator is None:
        raise RefusalError("it has no accelerators", "take a pool that has some")
    if slicing is None:
        raise RefusalError(
            f"its {accelerator.name} are not sliced",
            "ask for whole accelerators, or set slicing on the pool",
            _build_slice_change(),
        )
    if slicing.shards and wish.fraction:
        each = ceil(Fraction(str(wish.fraction)) * slicing.shards)
        if in_pods and each > 1:
            raise RefusalError(
                f"a pod gets one share of its {name}, {slicing.shards} of each, the job needs {each}",
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
            f"its accelerators are shared in {slicing.shards} shards, not cut into MIG instances",
            *_suggest_share(job, slicing.shards),
        )
    profile = _select_profile(job, accelerator, slicing.mig)
    number = slicing.mig[profile]
    return AcceleratorUnits(cut * number, "mig", profile, 1, Fraction(number), f"{profile} of {accelerator.name}")


def _select_profile(job: JobSpec, accelerator: Accelerator, instances: dict[str, int]) -> str:
    """The instance the pool has that is asked for by name, or the smallest that is large enough."""
    memory = {item.profile: float(item.memory.base) for item in accelerator.mig}
    sizes = sorted(instances, key=lambda profile: (memory.get(profile, 0.0), profile))
    wish, whole = job.accelerators, float(accelerator.memory.base) if accelerator.memory else 0.0
    if wish.profile is not None:
        if wish.profile in instances:
            return wish.profile
        least = memory.get(wish.profile, 0.0)
        said = f"its accelerators are cut into {', '.join(sizes)}, not {wish.profile}"
    else:
        least = whole * (wish.fraction or 0)
        if enough := [profile for profile in sizes if memory.get(profile, 0.0) >= least > 0]:
            return enough[0]
        said = f"none of its instances ({', '.join(sizes)}) is {wish.fraction:g} of one {accelerator.name}"
    larger = [profile for profile in sizes if memory.get(profile, 0.0) >= least]
    some = (larger or sizes[-1:])[0]
    raise RefusalError(said, f"ask for accelerators.profile: {some}", _build_slice_change(profile=some))


def _build_slice_change(profile: str | None = None, fraction: float | None = None) -> JobChange:
    return {"accelerators.profile": profile, "accelerators.fraction": fraction}


def _suggest_share(job: JobSpec, shards: int) -> tuple[str, JobChange]:
    if job.parallelism:  # which is over whole accelerators
        return "take a pool with whole ones", {}
    return f"ask for accelerators.fraction: {_compute_share_fraction(shards):g}", _build_slice_change(
        fraction=_compute_share_fraction(shards)
    )


def _compute_share_fraction(shards: int) -> float:
    """One shard, as a fraction that is short to write and no more than one shard."""
    return next(cut for zeros in range(1, 16) if (cut := floor(10.0**zeros / shards) / 10.0**zeros) * shards > 0.9)
