"""No function has more branches than a reader can follow.

``ruff`` limits what McCabe counts (``C901``); this test also counts the operands of conditions and the loops of
comprehensions, as ``radon cc`` does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from samples import ROOT

MAXIMUM = 15
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Functions of jobs/ that are still to be divided: this list only becomes shorter.
TO_DIVIDE = frozenset(
    [
        "supercloud/jobs/api.py:submit",
        "supercloud/jobs/broker/decide.py:decide",
        "supercloud/jobs/engines/array_status.py:aggregate_array_status",
        "supercloud/jobs/engines/kubernetes/api.py:_client",
        "supercloud/jobs/engines/kubernetes/connection.py:send",
        "supercloud/jobs/engines/local/agent.py:poll_run",
        "supercloud/jobs/engines/local/agent.py:start_tasks",
        "supercloud/jobs/engines/local/agent.py:update_task",
        "supercloud/jobs/engines/local/engine.py:prepare",
        "supercloud/jobs/engines/slurm/commands.py:_iter_options",
        "supercloud/jobs/engines/slurm/tokens.py:require_token",
        "supercloud/jobs/fleet/domains.py:build_domains",
        "supercloud/jobs/fleet/state.py:load_fleet_state",
        "supercloud/jobs/fleet/state.py:with_observations",
        "supercloud/jobs/job_rules.py:require_valid_job",
        "supercloud/jobs/placement/candidate.py:_select_domains",
        "supercloud/jobs/placement/memory.py:compute_activation_factors",
        "supercloud/jobs/placement/requests/pod_links.py:build_pod_links",
        "supercloud/jobs/placement/steps/cost.py:check_cost_limits",
        "supercloud/jobs/placement/steps/data.py:compute_data_transfers",
        "supercloud/jobs/placement/steps/locality.py:select_locality",
        "supercloud/jobs/placement/steps/shape.py:__call__",
        "supercloud/jobs/placement/steps/slices.py:compute_units",
        "supercloud/jobs/placement/steps/tenant_quota.py:check_tenant_quota",
        "supercloud/jobs/reconcile.py:_recover_submissions",
        "supercloud/jobs/reconcile.py:reconcile",
    ]
)


def compute_complexity(function: ast.AST) -> int:
    """One, and one for each branch, each further operand of a condition, and each loop. Inner functions count alone."""
    return 1 + sum(_count_branches(node) for node in _iter_own_nodes(function))


def _iter_own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, _FUNCTIONS):
            yield child
            yield from _iter_own_nodes(child)


def _count_branches(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    if isinstance(node, ast.For | ast.AsyncFor | ast.While):
        return 1 + bool(node.orelse)
    if isinstance(node, ast.Try):
        return len(node.handlers) + bool(node.orelse)
    return int(isinstance(node, ast.If | ast.IfExp | ast.Assert | ast.match_case))


def iter_complexities(path: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, _FUNCTIONS):
            yield node.name, compute_complexity(node)


@cache
def find_complex_functions() -> dict[str, int]:
    """File and name -> complexity of the functions over the limit."""
    return {
        f"{path.relative_to(ROOT)}:{name}": complexity
        for path in sorted((ROOT / "supercloud").rglob("*.py"))
        for name, complexity in iter_complexities(path)
        if complexity > MAXIMUM
    }


def test_no_function_is_too_complex() -> None:
    found = {name: complexity for name, complexity in find_complex_functions().items() if name not in TO_DIVIDE}
    assert not found, f"the maximum is {MAXIMUM}: extract functions with names of their own"


def test_the_functions_to_divide_are_still_complex() -> None:
    assert sorted(TO_DIVIDE - find_complex_functions().keys()) == [], "these are divided: delete them from TO_DIVIDE"


def test_branches_operands_and_comprehensions_count(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        "def simple(): return 1\n"
        "def outer(a, b):\n"
        "    if a and b or a: return [x for x in a if x]\n"
        "    def inner(): return 1 if a else 2\n"
        "    return inner\n",
    )
    assert dict(iter_complexities(file)) == {"simple": 1, "outer": 6, "inner": 2}
