"""What the README shows is what happens, and no link is dead."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from samples import ROOT

README = ROOT / "README.md"
PAGES = sorted(path for path in ROOT.glob("**/*.md") if not {".venv", "out"} & set(path.relative_to(ROOT).parts))


def demo_output() -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}  # as a new user has it
    env = kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    ran = subprocess.run(["sh", "examples/demo.sh"], cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.strip("\n")


def between(text: str, begin: str, end: str) -> str:
    assert begin in text and end in text
    return text.split(begin, 1)[1].split(end, 1)[0]


def test_the_demo_prints_what_the_readme_says(write_generated: bool) -> None:
    text, output = README.read_text(), f"$ make demo\n\n{demo_output()}"
    block = f"\n```console\n{output}\n```\n"
    if write_generated:
        old = between(text, "<!-- demo:begin -->", "<!-- demo:end -->")
        README.write_text(text.replace(old, block, 1))
        text = README.read_text()
    assert between(text, "<!-- demo:begin -->", "<!-- demo:end -->") == block


def test_shown_files_are_the_files(write_generated: bool) -> None:
    text = README.read_text()
    for match in re.finditer(r"<!-- file:(\S+) -->\n```yaml\n(.*?)```", text, re.S):
        content = (ROOT / match[1]).read_text()
        if write_generated:
            README.write_text(text.replace(match[0], f"<!-- file:{match[1]} -->\n```yaml\n{content}```"))
        else:
            assert match[2] == content


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    code, _ = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)  # the other is of tests/clouds
    code = code.replace("examples/", f"{ROOT}/examples/").replace("out/slurm", str(tmp_path / "out"))
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("1016 ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
        if not target.startswith(("http://", "https://")):
            assert (page.parent / target).exists(), target


def test_every_verb_shows_an_example_and_the_next_one() -> None:
    from typer.testing import CliRunner

    from supercloud.cli import COMMANDS, app

    for verb in COMMANDS:
        shown = CliRunner().invoke(app, [verb, "--help"])
        flat = " ".join(shown.output.split())
        assert shown.exit_code == 0 and "Example: supercloud" in flat and "next:" in flat, verb
