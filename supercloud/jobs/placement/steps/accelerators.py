"""Whether a pool's accelerators match a job: by name, alias, or a lower bound in the catalog's order."""

from __future__ import annotations

from collections.abc import Iterator

from ....catalog import Accelerator, Catalog
from ....errors import UnknownNameError, suggest_nearest
from ....plan.model.plan import Plan, PoolPlan
from ....spec import JobSpec
from .feasibility import RefusalError

__all__ = ["match_accelerator", "count_steps_above"]


def match_accelerator(job: JobSpec, plan: Plan, pool: PoolPlan, catalog: Catalog) -> tuple[int, int]:
    """The index of the requested type that the pool matches (0 is the first) and the steps above it; raises
    :class:`RefusalError`.
    """
    _require_allowed_pool(job, plan, pool)
    if not job.accelerator_count:
        return 0, pool.accelerators_per_node  # jobs without accelerators prefer pools without idle ones
    accelerator = pool.accelerator
    if accelerator is None:
        raise RefusalError("it has no accelerators", "use a pool with accelerators")
    if (memory := job.accelerators.memory) is not None:
        if accelerator.memory is None:
            raise RefusalError(
                f"memory of {accelerator.name} is unknown",
                "omit accelerators.memory",
                {"accelerators.memory": None},
            )
        if accelerator.memory < memory:
            raise RefusalError(
                f"{accelerator.name} has {accelerator.memory}, the job needs {memory} each",
                f"request at most {accelerator.memory}, and spread the model over more of them",
                {"accelerators.memory": str(accelerator.memory)},
            )
    wishes = job.accelerators.type
    for order, wish in enumerate(wishes):
        steps = count_steps_above(wish, accelerator, catalog)
        if steps is not None:
            return order, steps
    if wishes:
        unknown = [wish for wish in wishes if _parse_requested(wish) not in set(_list_all_names(catalog))]
        if unknown:
            hint = suggest_nearest(_parse_requested(unknown[0]), _list_all_names(catalog))
            raise RefusalError(f"unknown accelerator {_parse_requested(unknown[0])!r}", hint)
        raise RefusalError(
            f"it has {accelerator.name}, the job requests {' or '.join(wishes)}",
            f"add {_select_short_name(accelerator)} to accelerators.type",
            {"accelerators.type": [*wishes, _select_short_name(accelerator)]},
        )
    return 0, 0


def _require_allowed_pool(job: JobSpec, plan: Plan, pool: PoolPlan) -> None:
    """Check the job's restrictions on clusters and pools."""
    clusters = job.place.clusters
    if clusters != "any" and plan.name not in clusters:
        raise RefusalError(
            f"the job may only run on cluster {' or '.join(clusters)}, this is {plan.name}",
            f"add {plan.name} to place.clusters",
            {"place.clusters": [*clusters, plan.name]},
        )
    if job.place.pools and pool.name not in job.place.pools:
        known = {item.name for item in plan.pools}
        for name in job.place.pools:
            if name not in known:
                raise RefusalError(f"place.pools: unknown pool {name!r}", suggest_nearest(name, known))
        raise RefusalError(
            f"the job may only run in pool {' or '.join(job.place.pools)}",
            f"add {pool.name} to place.pools",
            {"place.pools": [*job.place.pools, pool.name]},
        )


def count_steps_above(requested: str, accelerator: Accelerator, catalog: Catalog) -> int | None:
    """0 if the accelerator is the requested one, n if it is n steps above a lower bound, None if it does not match.

    Follows the predecessors of the accelerator, so only those are read from the catalog.
    """
    name = _parse_requested(requested)
    if not requested.strip().startswith(">="):
        return 0 if name in _list_names(accelerator) else None
    level, seen, steps = [accelerator], {accelerator.name}, 0
    while level:
        if any(name in _list_names(item) for item in level):
            return steps
        below = sorted({lower for item in level for lower in item.succeeds} - seen)
        seen.update(below)
        level = list(_iter_known(below, catalog))
        steps += 1
    return None


def _iter_known(names: list[str], catalog: Catalog) -> Iterator[Accelerator]:
    for name in names:
        try:
            yield catalog.get(Accelerator, name)
        except UnknownNameError:  # an overlay may refer to an entry that is missing
            continue


def _parse_requested(requested: str) -> str:
    return requested.strip().removeprefix(">=").strip().lower()  # users write H100, the catalog h100


def _list_names(accelerator: Accelerator) -> tuple[str, ...]:
    return (accelerator.name, *accelerator.aliases)


def _select_short_name(accelerator: Accelerator) -> str:
    return min(_list_names(accelerator), key=lambda name: (len(name), name))


def _list_all_names(catalog: Catalog) -> list[str]:
    return [name for fact in catalog.iter_entries(Accelerator) for name in _list_names(fact)]
