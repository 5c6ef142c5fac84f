"""The number of servers that a hint suggests: each number is planned first and judged by the same check."""

from __future__ import annotations

from collections.abc import Callable

from ...catalog import Catalog
from ..build.storage.products import build_storage
from ..model.plan import Plan
from ..model.problems import Problems
from ..model.storage import LustreDesign, StorageDesign

__all__ = ["count_servers"]


def count_servers(plan: Plan, catalog: Catalog, index: int, is_enough: Callable[[StorageDesign], bool]) -> int | None:
    """The fewest servers of the store at ``index`` with which ``is_enough`` is true of its design, if more of them
    help.

    None if no number is enough, nor the number of the plan when none is declared.
    """
    own = plan.storage[index].design
    free = _find_design(plan, catalog, index, None)
    if own is None or free is None or not is_enough(free):
        return None
    step = 2 if isinstance(free, LustreDesign) and free.has_pairs else 1
    low, high = own.servers // step, -(-free.servers // step)  # low is not enough, high is
    while high - low > 1:
        middle = (low + high) // 2
        found = _find_design(plan, catalog, index, middle * step)
        low, high = (low, middle) if found is not None and is_enough(found) else (middle, high)
    return high * step


def _find_design(plan: Plan, catalog: Catalog, index: int, count: int | None) -> StorageDesign | None:
    """The store's design on so many servers, or on the number that the plan computes."""
    item = plan.spec.storage[index]
    if item.servers is None:
        return None
    changed = item.model_copy(update={"servers": item.servers.model_copy(update={"count": count})})
    spec = plan.spec.model_copy(
        update={"storage": (*plan.spec.storage[:index], changed, *plan.spec.storage[index + 1 :])}
    )
    return build_storage(spec, plan.network, plan.pools, catalog, Problems())[index].design
