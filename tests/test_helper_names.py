"""Names, comments and docstrings of tests follow CONTRIBUTING ("Language"): helpers are verbs, tests are sentences."""

from __future__ import annotations

import ast
import io
import re
import tokenize
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


def iter_remarks(path: Path) -> Iterator[tuple[int, str]]:
    """Comments and docstrings with their lines; other strings may be what a test compares."""
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield getattr(node, "lineno", 1), ast.get_docstring(node) or ""


def list_files() -> list[Path]:
    """The Python files of tests, but the list of forbidden phrases."""
    files = [path for path in sorted(TESTS.rglob("*.py")) if TESTS / "golden" not in path.parents]
    assert len(files) > 100
    return [path for path in files if path.name != "forbidden_phrases.py"]


def test_helpers_are_verbs_and_tests_have_no_forbidden_phrase() -> None:
    found = [line for path in list_files() for line in find_wrong_names(path)]
    assert not found, "\n".join(found)


def test_comments_and_docstrings_have_no_forbidden_phrase() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {match.group(0)!r}; write: {instead}"
        for path in list_files()
        for line, text in iter_remarks(path)
        for pattern, instead in FORBIDDEN.items()
        for match in re.finditer(pattern, text, re.IGNORECASE)
    ]
    assert not found, "\n".join(found)


def test_a_participle_is_found_and_a_fixture_is_not(tmp_path: Path) -> None:
    text = """\
import pytest

@pytest.fixture(scope="module")
def labeled(): pass

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
    remarks = tmp_path / "remarks.py"
    remarks.write_text('"""A cure."""\n\nMESSAGE = "a cure"  # a comment\n', encoding="utf-8")
    assert sorted(iter_remarks(remarks)) == [(1, "A cure."), (3, "# a comment")]
