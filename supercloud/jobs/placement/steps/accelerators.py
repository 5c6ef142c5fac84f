"""Whether a pool's accelerators match a job: by name, alias, or a lower bound in the catalog's order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ....catalog import Accelerator, Catalog
from ....errors import NEAREST, UnknownNameError, suggest_nearest
from ....primitives.quantity import Size
from ..context import PlacementContext
from ..refusal import StepRefusal

__all__ = ["AcceleratorMatch", "count_steps_above", "match_accelerator"]


@dataclass(frozen=True)
class AcceleratorMatch:
    """How well a pool's accelerators match those that a job requests."""

    preference: int = 0
    """The index of the requested type that it matches: 0 is the first."""
    steps_above: int = 0
    """How many steps its accelerator is above the requested type; for a job without accelerators the number on a
    node, so that it prefers pools without idle ones.
    """


def match_accelerator(context: PlacementContext) -> AcceleratorMatch | StepRefusal:
    """The requested type that the pool matches."""
    job, accelerator = context.job, context.pool.accelerator
    if not job.accelerator_count:
        return AcceleratorMatch(steps_above=context.pool.accelerators_per_node)
    if accelerator is None:
        return StepRefusal("it has no accelerators", "use a pool with accelerators")
    if job.accelerators.memory is not None and (refusal := _check_size(accelerator, job.accelerators.memory)):
        return refusal
    for order, wish in enumerate(job.accelerators.type):
        steps = count_steps_above(wish, accelerator, context.catalog)
        if steps is not None:
            return AcceleratorMatch(order, steps)
    if job.accelerators.type:
        return _explain_mismatch(job.accelerators.type, accelerator, context.catalog)
    return AcceleratorMatch()


def _check_size(accelerator: Accelerator, memory: Size) -> StepRefusal | None:
    if accelerator.memory is None:
        return StepRefusal(
            f"memory of {accelerator.name} is unknown",
            "omit accelerators.memory",
            {"accelerators.memory": None},
        )
    if accelerator.memory < memory:
        return StepRefusal(
            f"{accelerator.name} has {accelerator.memory}, the job needs {memory} each",
            f"request at most {accelerator.memory}, and spread the model over more of them",
            {"accelerators.memory": str(accelerator.memory)},
        )
    return None


def _explain_mismatch(wishes: Sequence[str], accelerator: Accelerator, catalog: Catalog) -> StepRefusal:
    known = _list_all_names(catalog)
    name = _select_short_name(accelerator)
    if unknown := [wish for wish in wishes if _parse_requested(wish) not in known]:
        nearest = suggest_nearest(_parse_requested(unknown[0]), known)
        return StepRefusal(
            f"unknown accelerator {_parse_requested(unknown[0])!r}",
            nearest if nearest.startswith(NEAREST) else f"set accelerators.type to {name}, which the pool has",
            {"accelerators.type": [*(wish for wish in wishes if wish not in unknown), name]},
        )
    return StepRefusal(
        f"it has {accelerator.name}, the job requests {' or '.join(wishes)}",
        f"add {name} to accelerators.type",
        {"accelerators.type": [*wishes, name]},
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
