"""The demo prints what its page shows, and no link is dead."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from samples import ROOT

DEMO = ROOT / "docs/demo.md"
PAGES = sorted(
    path for path in ROOT.glob("**/*.md") if not {".venv", "out", "reference"} & set(path.relative_to(ROOT).parts)
)


def run_demo() -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}  # as a new user has it
    env = kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    ran = subprocess.run(["sh", "examples/demo.sh"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.strip("\n")


def cut_between(text: str, begin: str, end: str) -> str:
    assert begin in text and end in text
    return text.split(begin, 1)[1].split(end, 1)[0]


@pytest.mark.slow
def test_the_demo_prints_what_its_page_shows(write_generated: bool) -> None:
    text, output = DEMO.read_text(), f"$ make demo\n\n{run_demo()}"
    block = f"\n```console\n{output}\n```\n"
    if write_generated:
        old = cut_between(text, "<!-- demo:begin -->", "<!-- demo:end -->")
        DEMO.write_text(text.replace(old, block, 1))
        text = DEMO.read_text()
    assert cut_between(text, "<!-- demo:begin -->", "<!-- demo:end -->") == block


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_targets(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target


@pytest.mark.slow
def test_every_command_has_an_example_and_the_next_command() -> None:
    from typer.testing import CliRunner

    from supercloud.cli import COMMANDS, app

    for verb in COMMANDS:
        shown = CliRunner().invoke(app, [verb, "--help"])
        flat = " ".join(shown.output.split())
        assert shown.exit_code == 0 and "Example: supercloud" in flat and "next:" in flat, verb
