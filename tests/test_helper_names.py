"""Helpers of tests are verbs, as all functions are, and names of tests are sentences (CONTRIBUTING, "Language")."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from forbidden_phrases import FORBIDDEN
from samples import ROOT

TESTS = ROOT / "tests"
NOUNS = ("fixture", "property")  # decorators of functions that are values


def iter_functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All functions of a file, but fixtures and properties."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = [ast.unparse(item).partition("(")[0].split(".")[-1] for item in node.decorator_list]
            if not any(name in NOUNS for name in decorators):
                yield node


def find_wrong_names(path: Path) -> list[str]:
    """Names that are participles or end with "of", and tests with a forbidden phrase."""
    found = []
    for function in iter_functions(path):
        name = function.name
        words = name.strip("_").split("_")
        if words[0] == "test":
            text = " ".join(words[1:])
            wrong = [f"write: {instead}" for pattern, instead in FORBIDDEN.items() if re.search(pattern, text)]
        else:
            wrong = ["begin with a verb"] if words[0].endswith("ed") or words[-1] == "of" else []
        found += [f"{path.name}:{function.lineno}: {name}; {advice}" for advice in wrong]
    return found


def test_helpers_are_verbs_and_tests_have_no_forbidden_phrase() -> None:
    files = [path for path in sorted(TESTS.rglob("*.py")) if TESTS / "golden" not in path.parents]
    assert len(files) > 100
    found = [line for path in files for line in find_wrong_names(path)]
    assert not found, "\n".join(found)


def test_a_participle_is_found_and_a_fixture_is_not(tmp_path: Path) -> None:
    text = """\
import pytest

@pytest.fixture(scope="module")
def labelled(): pass

class Host:
    @property
    def asked(self): pass

    def _checked(self): pass

def is_allowed():
    def plan_of(): pass

def test_a_cure_is_shown(): pass

def test_an_error_is_reported(): pass
"""
    (tmp_path / "names.py").write_text(text, encoding="utf-8")
    found = sorted(line.split(";")[0].partition(": ")[2] for line in find_wrong_names(tmp_path / "names.py"))
    assert found == ["_checked", "plan_of", "test_a_cure_is_shown"]
