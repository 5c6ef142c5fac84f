"""The marker ``slow`` is where it must be: a test without it fails when it starts Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from samples import ROOT

TESTS = """
import subprocess, sys
import pytest

def start():
    subprocess.run([sys.executable, "-c", ""], check=True)

def test_unmarked(): start()

@pytest.mark.slow
def test_marked(): start()

def test_with_a_shell(): subprocess.run(["sh", "-c", ""], check=True)

@pytest.fixture
def started(): start()

def test_with_a_fixture(started): pass
"""


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("workers", ["0", "1"])
def test_a_test_that_starts_python_needs_the_marker(tmp_path: Path, workers: str) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    for name in ("conftest.py", "samples.py"):
        shutil.copy(ROOT / "tests" / name, folder)
    text = (folder / "conftest.py").read_text()
    (folder / "conftest.py").write_text(text.replace("REPORTED_SECONDS = 3.0", "REPORTED_SECONDS = -1.0"))
    (folder / "test_a.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = tests\nmarkers = slow\n")
    command = [sys.executable, "-m", "pytest", "-n", workers, "-rA", "-p", "no:cacheprovider", folder]
    ran = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=300)
    results = [line.split() for line in ran.stdout.splitlines() if line.startswith(("PASSED ", "FAILED "))]
    assert {words[1].split("::")[1]: words[0] for words in results} == {
        "test_unmarked": "FAILED",
        "test_with_a_fixture": "FAILED",
        "test_marked": "PASSED",
        "test_with_a_shell": "PASSED",
    }, ran.stdout
    assert "mark it with pytest.mark.slow" in ran.stdout
    listed = ran.stdout.partition("without the marker slow")[2].partition("short test summary")[0]
    assert "test_with_a_shell" in listed
    assert "test_marked" not in listed
