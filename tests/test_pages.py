"""The README and the documentation are true: files and commands of a page run in order, and print what it shows.

A block below ``<!-- file: NAME -->`` is that file. In blocks of ``console`` lines after ``$`` are commands, and the
others their output (``--write-generated`` writes it). Blocks of ``python`` are run. Blocks of ``sh`` are not: they need
an account or a cluster. Other blocks of ``yaml`` are parts of a spec: with them the spec of the page, or else an
example, has no errors. Pages of ``extend`` are proved by ``test_contributing.py``.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from extensions.catalog_rows import read_example
from samples import ROOT

from supercloud.plan.resolve import resolve
from supercloud.spec.loader import loads

pytestmark = pytest.mark.slow

PAGES = [ROOT / "README.md"] + sorted(
    path
    for path in (ROOT / "docs").glob("**/*.md")
    if path.parent.name != "reference" and path.name != "demo.md"  # made from the code; tests/test_docs.py
)
_BLOCK = re.compile(r"(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)```\n", re.S)

_PART = re.compile(r"(?<!-->\n)^```(?:yaml|\{code-block\} yaml)\n(.*?)^```\n", re.S | re.M)
PARTS = [(page, part) for page in PAGES if page.parent.name != "extend" for part in _PART.findall(page.read_text())]


@pytest.mark.parametrize(
    "page",
    # the README is run by `make test`, the other pages by `make test-exhaustive`
    [pytest.param(page, marks=() if page.name == "README.md" else pytest.mark.exhaustive) for page in PAGES],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_a_page_shows_events(page: Path, tmp_path: Path, write_generated: bool) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SUPERCLOUD"))}
    env = kept | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "SUPERCLOUD_STATE": str(tmp_path / ".state"),
        "NO_COLOR": "1",
        "COLUMNS": "120",
    }
    text = page.read_text()
    shown = _BLOCK.sub(lambda block: _run_block(block, tmp_path, env), text)
    if write_generated:
        page.write_text(shown)
    assert shown == page.read_text()


@pytest.mark.parametrize("page, part", PARTS, ids=[page.stem for page, _ in PARTS])
def test_a_part_of_a_spec_makes_no_errors(page: Path, part: str) -> None:
    files = {block["file"]: block["text"] for block in _BLOCK.finditer(page.read_text()) if block["file"]}
    whole = yaml.safe_load(files.get("cluster.yaml") or read_example("09")) | yaml.safe_load(part)
    assert not resolve(loads(yaml.safe_dump(whole, sort_keys=False))).errors


def test_parts_of_specs_are_found() -> None:
    assert {page.stem for page, _ in PARTS} >= {"users", "use-an-existing-vpc"}


def _run_block(block: re.Match[str], folder: Path, env: Mapping[str, str]) -> str:
    """What the block should be."""
    if block["file"]:
        (folder / block["file"]).write_text(block["text"])
    elif block["kind"] == "python":
        _run([sys.executable, "-W", "error", "-c", block["text"]], folder, env)
    elif block["kind"] == "console":
        lines = []
        for command in re.findall(r"^\$ (.+(?:\\\n.+)*)$", block["text"], re.M):
            lines += [f"$ {command}", *_run(["sh", "-c", command], folder, env).splitlines()]
        return "```console\n" + "".join(f"{line.rstrip()}\n" for line in lines) + "```\n"
    return block[0]


def _run(command: list[str], folder: Path, env: Mapping[str, str]) -> str:
    ran = subprocess.run(
        command, cwd=folder, env=dict(env), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120
    )
    assert ran.returncode in (0, 2), ran.stdout
    return ran.stdout.replace(f"{folder}/", "")
