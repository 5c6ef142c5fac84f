"""No function has more branches than a reader can follow.

``ruff`` limits what McCabe counts (``C901``); this test also counts the operands of conditions and the loops of
comprehensions, as ``radon cc`` does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from samples import ROOT

MAXIMUM = 15
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


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


def find_complex_functions() -> dict[str, int]:
    """File and name -> complexity of the functions over the limit."""
    return {
        f"{path.relative_to(ROOT)}:{name}": complexity
        for path in sorted((ROOT / "supercloud").rglob("*.py"))
        for name, complexity in iter_complexities(path)
        if complexity > MAXIMUM
    }


def test_no_function_is_too_complex() -> None:
    assert not find_complex_functions(), f"the maximum is {MAXIMUM}: extract functions with names of their own"


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
