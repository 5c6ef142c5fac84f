"""Every example's whole rendering, compared with what was looked at and committed.

Files of more than 64 KiB are kept as a digest and a number of lines, bundles of more than 200 files as one digest.
``make golden`` writes them anew: look at the difference before committing it.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
from samples import EXAMPLES, ROOT

from supercloud._version import __version__
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import list_targets, render
from supercloud.targets.installation import render_order

GOLDEN = ROOT / "tests" / "golden"
LARGE = 64 * 1024
MANY = 200


def rendered(example: Path) -> dict[str, str]:
    """path -> text of everything an example renders to, with the version taken out."""
    plan = resolve(load(example))
    texts: dict[str, str] = dict(render_order(plan))
    digests = []
    for target in list_targets(plan):
        bundle = {
            path: text.replace(f"supercloud {__version__}", "supercloud VERSION")
            for path, text in render(plan, target).items()
        }
        if len(bundle) > MANY:
            whole = "".join(f"{path}\n{text}" for path, text in bundle.items())
            digests.append(f"{digest(whole)}  {len(bundle)} files  {target}\n")
            continue
        for path, text in bundle.items():
            if len(text) <= LARGE:
                texts[f"{target}/{path}"] = text
            else:
                lines = text.count("\n")
                digests.append(f"{digest(text)}  {lines} lines  {target}/{path}\n")
    return texts | ({"LARGE-FILES": "".join(digests)} if digests else {})


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.parent.name)
def test_renders_what_was_looked_at(example: Path, write_generated: bool) -> None:
    folder = GOLDEN / example.parent.name
    now = rendered(example)
    assert now == rendered(example), "rendering is not deterministic"
    if write_generated:
        shutil.rmtree(folder, ignore_errors=True)
        for path, text in now.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
    then = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert sorted(now) == sorted(then), "files came or went: make golden"
    for path, text in now.items():
        assert text == then[path], f"{path} changed: look at it, then make golden"


def test_no_golden_without_its_example() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {path.parent.name for path in EXAMPLES}
