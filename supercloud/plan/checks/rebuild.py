"""A fabric, or the whole plan, built again with other settings, so that the fix in a hint is known to work."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from ...catalog import Catalog
from ...errors import Finding
from ...spec import ClusterSpec, Fabric
from ..build.fabric.fabrics import build_fabrics
from ..build.fabric.services import AttachedEquipment
from ..build.pipeline import build_plan
from ..model.plan import FabricPlan, Plan, PoolPlan
from ..model.problems import Problems

__all__ = [
    "TrialBudget",
    "add_fabrics",
    "assign_working",
    "explain_untried",
    "find_working",
    "skip_in_trials",
    "rebuild_fabric",
    "replan",
]

T = TypeVar("T")

# The number of nodes and servers that are planned again for all trials of one hint: it takes most of a second.
_NODES = 2**17
# The number of parts of a machine's pools that are tried in a check if a change does not work for all pools together.
_MAX_PARTS = 16

_PLANNING: set[str] = set()
"""Names of the checks that plan again."""
_running: ContextVar[str] = ContextVar("running check of a trial", default="")

CheckFunction = TypeVar("CheckFunction", bound=Callable[..., Iterator[Finding]])


def skip_in_trials(check: CheckFunction) -> CheckFunction:
    """Mark a check that plans again: it is not run on the plans of trials, which would plan again without end."""
    _PLANNING.add(check.__name__)
    return check


def find_working(plan: Plan, candidates: Iterable[T], works: Callable[[T], bool], most: int) -> list[T]:
    """The first candidates for a hint that work, at most ``most``.

    Each trial builds a plan, so at most ``most`` are returned, and fewer are tried for a very large plan.
    """
    return list(islice(filter(works, islice(candidates, _count_trials(plan))), most))


def explain_untried(plan: Plan, names: Sequence[str]) -> str:
    """The part of a hint about the candidates that ``find_working`` skipped; empty if it tried all of them."""
    left = names[_count_trials(plan) :]
    return f"{', '.join(left)} {'was' if len(left) == 1 else 'were'} not tried, as the plan is large" if left else ""


@dataclass
class TrialBudget:
    """How many parts of the pools of a machine may still be tried for all hints of one check."""

    parts: int = _MAX_PARTS


def assign_working(
    plan: Plan,
    pools: Iterable[PoolPlan],
    candidates: Sequence[T],
    works: Callable[[dict[str, T]], bool],
    budget: TrialBudget,
    assigned: Mapping[str, T],
) -> tuple[dict[str, T], bool]:
    """A candidate for each of some pools of one machine, by the pool's name, such that all selected candidates work
    together and with those ``assigned`` to pools of other machines, because users apply all hints at once; and
    whether all candidates were tried.

    All pools are tried at once with each candidate. If that does not work, the smallest pool is tried alone, as no
    larger pool on the same networks works if it does not, then halves of the others. The number of trials is
    bounded as in ``find_working``, that of parts by the ``budget`` of the check.
    """
    sorted_pools = sorted(pools, key=lambda pool: pool.nodes)
    networks = {pool.name: frozenset(pool.fabrics) for pool in sorted_pools}
    found: dict[str, T] = {}
    failed: set[tuple[int, frozenset[str]]] = set()
    queue = deque((number, list(networks), False) for number in range(len(candidates)))
    trials = _count_trials(plan)
    while queue and len(found) < len(networks):
        number, group, is_part = queue.popleft()
        group = [name for name in group if name not in found and (number, networks[name]) not in failed]
        if not group:
            continue
        if not trials or (is_part and not budget.parts):
            return found, False
        trials -= 1
        budget.parts -= is_part
        tried = found | dict.fromkeys(group, candidates[number])
        if works({**assigned, **tried}):
            found = tried
        elif len(group) > 1:
            half = (len(group) + 1) // 2
            queue += [(number, part, True) for part in (group[:1], group[1:half], group[half:])]
        else:
            failed.add((number, networks[group[0]]))
    return found, True


def _count_trials(plan: Plan) -> int:
    return max(1, _NODES // (1 + sum(pool.nodes for pool in plan.pools) + sum(item.count for item in plan.servers)))


def add_fabrics(spec: ClusterSpec, added: Mapping[str, str]) -> ClusterSpec:
    """The spec with an additional network for each of some pools, by the pool's name."""
    pools = (
        item.model_copy(update={"fabrics": (*item.fabrics, added[item.name])}) if item.name in added else item
        for item in spec.pools
    )
    return spec.model_copy(update={"pools": tuple(pools)})


def rebuild_fabric(plan: Plan, catalog: Catalog, fabric: Fabric) -> FabricPlan | None:
    """The fabric alone, with the servers of the plan and the networks connected to it; None if it cannot be built."""
    leaves = {item.name: item.count_switches("leaf") for item in plan.fabrics}
    downstream = sum(
        item.upstream.links * leaves.get(item.name, 0)
        for item in plan.spec.fabrics
        if item.upstream and item.upstream.fabric == fabric.name
    )
    rack = plan.spec.facility.rack.nodes if plan.spec.facility and plan.spec.facility.rack else None
    others = AttachedEquipment(plan.servers, rack_nodes=rack, downstream_links=((fabric.name, downstream),))
    spec = plan.spec.model_copy(update={"fabrics": (fabric.model_copy(update={"upstream": None}),)})
    problems = Problems()
    found = build_fabrics(spec, plan.pools, catalog, problems, others)
    return next((item for item in found if item.name == fabric.name), None) if _is_built(fabric, problems) else None


def replan(plan: Plan, catalog: Catalog, spec: ClusterSpec) -> tuple[Plan, list[Finding]]:
    """The plan of another spec, and those of its errors that the current plan does not have: none if the spec works."""
    if _running.get():
        raise RuntimeError(f"the check {_running.get()} plans again in a trial: mark it with @skip_in_trials")
    found = build_plan(spec, catalog, plan.folder)
    errors = _list_errors(found, catalog)
    known = {(item.check, item.path) for item in _list_errors(plan, catalog)} if errors else set()
    return found, [item for item in errors if (item.check, item.path) not in known]


def _list_errors(plan: Plan, catalog: Catalog) -> list[Finding]:
    """The errors of the build and of the checks."""
    from . import CHECKS

    findings = list(plan.findings)
    before = _running.get()
    try:
        for check in CHECKS:
            if check.__name__ not in _PLANNING:
                _running.set(check.__name__)
                findings += check(plan, catalog)
    finally:
        _running.set(before)
    return [item for item in findings if item.level == "error"]


def _is_built(fabric: Fabric, problems: Problems) -> bool:
    """Whether it has no findings: a pool's other fabrics are not built here and do not matter."""
    return not any(item.path.startswith("fabrics[0]") for item in problems.findings)
