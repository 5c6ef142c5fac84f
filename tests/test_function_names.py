"""Functions are named by verbs, predicates by ``is_``, ``has_`` and the like (CONTRIBUTING, "Language")."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

from samples import ROOT

import supercloud.plan.checks
from supercloud.cli import COMMANDS

PACKAGE = ROOT / "supercloud"
VERBS = frozenset((ROOT / "tests/verbs.txt").read_text(encoding="utf-8").split())
PREDICATES = frozenset({"is", "has", "can", "needs", "supports"})
# ``to_`` and ``from_`` convert, ``with_`` returns a changed copy.
CONVERSIONS = frozenset({"to", "from", "with"})
# Names that another interface requires, or that its users know.
FIXED = {
    "as_completed": "concurrent.futures",
    "cancelled": "concurrent.futures.Future",
    "done": "concurrent.futures.Future",
    "exception": "concurrent.futures.Future",
    "result": "concurrent.futures.Future",
    "running": "concurrent.futures.Future",
    "http_open": "urllib.request",
    "https_open": "urllib.request",
    "_new_conn": "urllib3",
    "ceil": "math",
    "floor": "math",
    "loads": "json",
    "model_validate": "pydantic",
    "model_validate_json": "pydantic",
    "main": "entry points",
    "logs": "supercloud logs",
    "why_not": "supercloud why-not",
}


def list_checks() -> set[tuple[str, str]]:
    """Module and name of each check: a check has the name of what it reports."""
    package = supercloud.plan.checks
    names = [package.__name__, *(item.name for item in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))]
    modules = map(importlib.import_module, names)
    return {(check.__module__, check.__name__) for module in modules for check in getattr(module, "CHECKS", ())}


def iter_functions(path: Path, root: Path = ROOT) -> Iterator[tuple[str, str]]:
    """Place and name of each function and method of a file, without special methods and what reads as a noun.

    These are properties, and context managers: ``with store.transaction()``.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("__"):
            continue
        decorators = {ast.unparse(item).rpartition(".")[2] for item in node.decorator_list}
        if not decorators & {"property", "cached_property", "LockedProperty", "setter", "contextmanager"}:
            yield f"{path.relative_to(root)}:{node.lineno}", node.name


def is_verb(name: str) -> bool:
    return name in FIXED or name.strip("_").partition("_")[0] in VERBS | PREDICATES | CONVERSIONS


def find_nouns() -> dict[str, str]:
    """Name -> place of the functions that are not named by verbs: checks and commands have the names of interfaces."""
    checks = list_checks()
    commands = {verb.replace("-", "_") for verb in COMMANDS}
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for place, name in iter_functions(path):
            is_command = path.parent == PACKAGE / "cli" and name in commands
            if not (is_verb(name) or is_command or (module, name) in checks):
                found[name] = place
    return found


def test_functions_are_named_by_verbs() -> None:
    found = [f"{place}: {name}" for name, place in find_nouns().items()]
    assert not found, "rename it, or add a new verb to tests/verbs.txt:\n" + "\n".join(found)


def test_a_noun_is_found_and_a_property_is_not(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(
        "class A:\n    @property\n    def size(self): ...\n    def weight(self): ...\n    def is_a(self): ...\n"
    )
    assert [(place, name) for place, name in iter_functions(file, tmp_path) if not is_verb(name)] == [
        ("a.py:4", "weight")
    ]
