"""What a job counts on a node: whole accelerators, MIG instances, or shards of one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from ....catalog import Accelerator
from ....plan.model.plan import PoolPlan
from ....spec import JobSpec
from .feasibility import Refused
from .shape import Change

__all__ = ["Units", "units_of"]


@dataclass(frozen=True)
class Units:
    """What is counted, and how many of it a node has."""

    per_node: int
    """So many of what the job counts fit on one node."""
    kind: str = ""
    """``mig``, ``shard``, or empty for whole accelerators."""
    gres: str = ""
    """What the scheduler calls it."""
    each: int = 1
    """Shards of one counted thing."""
    on_one: Fraction = Fraction(1)
    """How many of it are on one accelerator."""
    name: str = ""


def units_of(job: JobSpec, pool: PoolPlan, in_pods: bool = False) -> Units:
    """What a job counts in a pool; raises :class:`Refused` where the pool is not cut as it wants.

    A pod gets one share of a shared accelerator and no more: shares of one node have no accelerator in common.
    """
    accelerator, slicing, wish = pool.accelerator, pool.slicing, job.accelerators
    gres = accelerator.gres or "" if accelerator else ""
    name = accelerator.name if accelerator else ""
    cut = min(slicing.accelerators or pool.per_node, pool.per_node) if slicing else 0
    if wish.profile is None and wish.fraction in (None, 1):
        if in_pods and job.accelerator_count and slicing and slicing.shards:
            raise Refused(f"pods get shares of its {name}, {slicing.shards} of each", *_share(job, slicing.shards))
        if not (job.accelerator_count and slicing and slicing.mig):
            return Units(pool.per_node, "", gres, name=name)
        if cut == pool.per_node:
            some = min(slicing.mig)
            if job.parallelism:  # which is over whole accelerators
                raise Refused("all of its accelerators are cut into MIG instances", "take a pool with whole ones")
            raise Refused("all of its accelerators are cut into MIG instances",
                          f"ask for instances: accelerators.profile: {some}", _part(profile=some))  # fmt: skip
        return Units(pool.per_node - cut, "", gres, name=name)
    if accelerator is None:
        raise Refused("it has no accelerators", "take a pool that has some")
    if slicing is None:
        raise Refused(f"its {accelerator.name} are not sliced",
                      "ask for whole accelerators, or set slicing on the pool", _part())  # fmt: skip
    if slicing.shards and wish.fraction:
        each = ceil(Fraction(str(wish.fraction)) * slicing.shards)
        if in_pods and each > 1:
            raise Refused(f"a pod gets one share of its {name}, {slicing.shards} of each, the job needs {each}",
                          *_share(job, slicing.shards))  # fmt: skip
        if in_pods:
            return Units(1, "shard", "shard", 1, Fraction(slicing.shards), f"1/{slicing.shards} {name}")
        fit = slicing.shards // each
        return Units(cut * fit, "shard", "shard", each, Fraction(fit), f"{each}/{slicing.shards} {accelerator.name}")
    if slicing.shards:
        raise Refused(f"its accelerators are shared in {slicing.shards} shards, not cut into MIG instances",
                      *_share(job, slicing.shards))  # fmt: skip
    profile = _profile(job, accelerator, slicing.mig)
    number = slicing.mig[profile]
    return Units(cut * number, "mig", profile, 1, Fraction(number), f"{profile} of {accelerator.name}")


def _profile(job: JobSpec, accelerator: Accelerator, has: dict[str, int]) -> str:
    """The instance the pool has that is asked for by name, or the smallest that is large enough."""
    memory = {item.profile: float(item.memory.base) for item in accelerator.mig}
    sizes = sorted(has, key=lambda profile: (memory.get(profile, 0.0), profile))
    wish, whole = job.accelerators, float(accelerator.memory.base) if accelerator.memory else 0.0
    if wish.profile is not None:
        if wish.profile in has:
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
    raise Refused(said, f"ask for accelerators.profile: {some}", _part(profile=some))


def _part(profile: str | None = None, fraction: float | None = None) -> Change:
    return {"accelerators.profile": profile, "accelerators.fraction": fraction}


def _share(job: JobSpec, shards: int) -> tuple[str, Change]:
    if job.parallelism:  # which is over whole accelerators
        return "take a pool with whole ones", {}
    return f"ask for accelerators.fraction: {_fraction(shards):g}", _part(fraction=_fraction(shards))


def _fraction(shards: int) -> float:
    """One shard, as a fraction that is short to write and no more than one shard."""
    return next(cut for zeros in range(1, 16) if (cut := floor(10.0**zeros / shards) / 10.0**zeros) * shards > 0.9)
