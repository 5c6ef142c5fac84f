"""The folders and modules of a package do not import each other in a cycle."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from samples import ROOT

Parts = tuple[str, ...]
FILES = {path.relative_to(ROOT).with_suffix("").parts: path for path in (ROOT / "supercloud").rglob("*.py")}


def iter_statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """All statements that are executed, also in functions; not those for a type checker only."""
    for statement in body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            continue
        yield statement
        for field in ("body", "orelse", "finalbody"):
            yield from iter_statements(getattr(statement, field, []))
        for part in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
            yield from iter_statements(part.body)


def find_module(parts: Parts) -> Parts | None:
    """A module, or the ``__init__`` of a package, if it is in this project."""
    return parts if parts in FILES else (*parts, "__init__") if (*parts, "__init__") in FILES else None


def iter_imports(module: Parts, path: Path) -> Iterator[Parts]:
    for statement in iter_statements(ast.parse(path.read_text()).body):
        if isinstance(statement, ast.Import):
            yield from filter(None, (find_module(tuple(name.name.split("."))) for name in statement.names))
        elif isinstance(statement, ast.ImportFrom):
            base = module[: len(module) - statement.level] if statement.level else ()
            base += tuple(statement.module.split(".")) if statement.module else ()
            for name in statement.names:
                if found := find_module((*base, name.name)) or find_module(base):
                    yield found


def list_edges() -> dict[Parts, dict[str, set[str]]]:
    """For each folder: which of its folders and modules imports which other one."""
    edges: dict[Parts, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for module, path in FILES.items():
        for other in iter_imports(module, path):
            depth = next((at for at, (a, b) in enumerate(zip(module, other, strict=False)) if a != b), None)
            if depth and "__init__" not in (module[depth], other[depth]):
                edges[module[:depth]][module[depth]].add(other[depth])
    return edges


EDGES = list_edges()


@pytest.mark.parametrize("folder", sorted(EDGES), ids=".".join)
def test_parts_of_a_folder_have_an_order(folder: Parts) -> None:
    try:
        TopologicalSorter(EDGES[folder]).prepare()
    except CycleError as error:
        pytest.fail(f"{'.'.join(folder)}: {' -> '.join(error.args[1])}")


def test_imports_are_found() -> None:
    assert EDGES[("supercloud",)]["cli"] >= {"spec", "plan", "errors"}, "also those within functions"
