"""The rules that tests on real parts run by: one second attempt, results that are reused, waits that poll."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from samples import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

REAL = ROOT / "tests" / "real"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A project with the rules and one part, whose tests the test writes."""
    project = tmp_path / "project"  # the cache of the results lies beside it
    part = project / "tests" / "real" / "part"
    part.mkdir(parents=True)
    for name in ("conftest.py", "history.py"):
        shutil.copy(REAL / name, part.parent / name)
    (project / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    return project


def run(checkout: Path, *options: str) -> tuple[int, str]:
    env = os.environ | {"SUPERCLOUD_CACHE": str(checkout.parent / "cache")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--reruns=1",
        *options,
        "tests/real/part",
    ]
    ran = subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True, timeout=120)
    return ran.returncode, ran.stdout + ran.stderr


def test_no_test_begins_after_the_time_limit_and_short_ones_are_first(checkout: Path) -> None:
    (checkout / "tests/real/RESULTS.md").write_text(
        "| part | file | tests | passed | seconds |\n|---|---|---:|---:|---:|\n"
        "| part | test_a.py | 1 | 1 | 40 |\n| part | test_b.py | 1 | 1 | 2 |\n"
    )
    for name in "ab":
        text = f"import time\ndef test_{name}():\n    time.sleep(2.5)\n"
        (checkout / f"tests/real/part/test_{name}.py").write_text(text)
    code, text = run(checkout, "--minutes=0.04", "--reuse-results", "-v")
    assert code == 0 and "1 passed, 1 skipped" in text and text.index("test_b.py") < text.index("test_a.py")
    assert "part: 1 tests NOT RUN: not begun within 0.04 minutes" in text
    assert "1 passed, 1 deselected" in run(checkout, "--reuse-results")[1], "what was not run has no result"


def test_a_flaky_test_passes_and_is_listed_with_its_first_error(checkout: Path) -> None:
    (checkout / "tests/real/part/test_a.py").write_text(
        "tries = []\ndef test_flaky():\n    tries.append(0)\n    assert len(tries) == 2, 'too early'\n"
        "def test_bad():\n    assert False\n"
    )
    code, text = run(checkout)
    assert code == 1 and "1 failed, 1 passed" in text
    section = text.split("flaky: needed a second attempt", 1)[1]
    assert "test_flaky" in section and "too early" in section

    def run_history(*words: str) -> str:
        return subprocess.run(
            [sys.executable, checkout / "tests/real/history.py", *words],
            capture_output=True,
            text=True,
            env={"SUPERCLOUD_CACHE": str(checkout.parent / "cache")},
        ).stdout

    assert "| all | | 2 | 1 |" in run_history("table")
    assert "| all | | 0 | 0 |" in run_history("table", f"{time.time() + 1}"), (
        "what a run did not run is not in its table"
    )
    listed = run_history("flaky")
    assert "test_flaky" in listed and "test_bad" in listed
    written = [json.loads(line) for line in (checkout.parent / "cache" / "real-tests.jsonl").read_text().splitlines()]
    ended = {(line["test"].rsplit("::")[-1], line["passed"]) for line in written}
    assert len(written) == 2 and ended == {("test_flaky", True), ("test_bad", False)}, "one line a test, not an attempt"


def test_a_result_is_reused_while_its_inputs_are_the_same(checkout: Path) -> None:
    test = checkout / "tests/real/part/test_a.py"
    test.write_text("import pytest\ndef test_a(): pass\n@pytest.mark.extended\ndef test_b(): pass\n")
    assert run(checkout, "--essential", "--reuse-results")[1].count("1 passed") == 1
    code, text = run(checkout, "--essential", "--reuse-results")
    assert code == 0 and "part: 1 tests passed before with the same inputs" in text
    assert "1 passed" in run(checkout, "--reuse-results")[1], "the extended one had not run"
    assert "2 passed" in run(checkout)[1], "without the option nothing is reused"
    (checkout / "README.md").write_text("a document")
    assert "2 deselected" in run(checkout, "--reuse-results")[1]
    (checkout / "product.py").write_text("changed = True")
    assert "2 passed" in run(checkout, "--reuse-results")[1]
    test.write_text("def test_a(): assert False\n")
    assert run(checkout, "--reuse-results")[0] == run(checkout, "--reuse-results")[0] == 1, "a failure is never reused"


def _iter_calls(node: ast.AST) -> Iterator[ast.Call]:
    """All calls, but those that are expected to fail."""
    if isinstance(node, ast.With) and "pytest.raises" in ast.unparse(node.items[0].context_expr):
        return
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _iter_calls(child)


def _iter_embedded_sleeps(tree: ast.AST) -> Iterator[int]:
    """Lines near which a Python program in a string sleeps outside a loop."""
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Constant) and isinstance(node.value, str) and "time.sleep(" in node.value):
            continue
        try:
            program = ast.parse(node.value)
        except SyntaxError:
            continue  # a text about it
        loops = [inner for inner in ast.walk(program) if isinstance(inner, ast.While)]
        polls = {id(inner) for loop in loops for inner in ast.walk(loop)}
        for call in _iter_calls(program):
            if ast.unparse(call.func) == "time.sleep" and id(call) not in polls:
                yield node.lineno + call.lineno


def test_waits_for_real_components_poll_for_minutes() -> None:
    hasty = []
    for path in REAL.rglob("*.py"):
        tree = ast.parse(path.read_text())
        for line in _iter_embedded_sleeps(tree):
            hasty.append(f"{path.relative_to(REAL)}:{line}: a sleep of fixed length in a program")
        for call in _iter_calls(tree):
            name, place = ast.unparse(call.func), f"{path.relative_to(REAL)}:{call.lineno}"
            if name == "time.sleep" and path.name != "polling.py":
                hasty.append(f"{place}: a sleep of fixed length; use wait_for or check_stays of polling.py")
            for word in call.keywords:
                limit = word.value.value if isinstance(word.value, ast.Constant) else None
                is_short = isinstance(limit, int | float) and limit < 60
                if word.arg in ("timeout", "seconds", "limit") and is_short and "urlopen" not in name:
                    hasty.append(f"{place}: a limit of less than a minute")
    assert hasty == []


def test_a_sleep_outside_a_loop_is_found_in_embedded_programs() -> None:
    sleeps = "import time\ntime.sleep(1)\n"
    polls = "import time\nwhile not done():\n    time.sleep(0.1)\n"
    text = "a test uses no time.sleep() here"
    assert list(_iter_embedded_sleeps(ast.parse(f"first = {polls!r}\nsecond = {sleeps!r}\nthird = {text!r}"))) == [4]
