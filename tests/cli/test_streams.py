"""The order of what the command line prints, where both streams go into one pipe."""

from __future__ import annotations

import subprocess
import sys

import pytest
from samples import ROOT

MINIMAL = "examples/01-minimal/cluster.yaml"


def run_in_a_pipe(*arguments: str) -> list[str]:
    """The lines of a command whose stdout and stderr share a pipe, in the environment of a new user."""
    command = [sys.executable, "-m", "supercloud", *arguments]
    ran = subprocess.run(command, cwd=ROOT, env={"PATH": "/usr/bin:/bin"}, stdout=-1, stderr=-2, text=True, timeout=60)
    return ran.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb", [("plan", MINIMAL), ("catalog", "machines"), ("place", "examples/01-minimal/job.yaml", "--on", MINIMAL)]
)
def test_messages_come_after_the_results_that_were_printed_before_them(verb: tuple[str, ...]) -> None:
    lines = run_in_a_pipe(*verb)
    assert len(lines) > 1 and "next:" in lines[-1], lines


@pytest.mark.slow
def test_an_error_comes_after_the_results_that_were_printed_before_it() -> None:
    program = """
from supercloud.cli.output import print_result, report_error
from supercloud.errors import InputError
print_result("a result")
report_error(InputError("an error"))
"""
    ran = subprocess.run([sys.executable, "-c", program], env={}, stdout=-1, stderr=-2, text=True, timeout=60)
    assert ran.stdout.splitlines() == ["a result", "supercloud: an error"]
