"""Specs generated from the published schema: each ends in whole files or in findings, never otherwise.

``tests/fuzz.py`` does the same for as many as are wanted, with limits of time and memory.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from outcome import is_small, outcome
from samples import EXAMPLES
from spec_generator import Generator, hostile_text

from supercloud.catalog import Catalog
from supercloud.errors import SpecError
from supercloud.spec.loader import load_fleet, load_job

MANY, PARTS = 200, 4  # a spec takes 0.1 s; parts, so that workers share them
SEEDS = [yaml.safe_load(path.read_text()) for path in EXAMPLES]
JOBS = [yaml.safe_load(path.read_text()) for path in sorted(EXAMPLES[0].parent.parent.glob("*/job.yaml"))]
CATALOG = Catalog([path.parent / "catalog" for path in EXAMPLES if (path.parent / "catalog").is_dir()])
LIGHT = ("slurm", "storage", "kubernetes", "boot", "hosts")


def written(data: Any, path: Path, chance: random.Random) -> Path:
    """The document as a file: JSON or YAML, now and then with what no serializer writes."""
    as_json = chance.random() < 0.3
    text = json.dumps(data) if as_json else yaml.dump(data, Dumper=yaml.CSafeDumper, allow_unicode=True)
    if chance.random() < 0.03:
        text = hostile_text(text, chance)
    path = path.with_suffix(".json" if as_json else ".yaml")
    path.write_text(text, encoding="utf-8", errors="surrogatepass")
    return path


@pytest.mark.parametrize("part", range(PARTS))
def test_whole_files_or_findings(part: int, tmp_path: Path) -> None:
    for number in range(part * MANY // PARTS, (part + 1) * MANY // PARTS):
        chance = random.Random(number)
        path = written(Generator("cluster", number, SEEDS, CATALOG).document(), tmp_path / "spec", chance)
        heavy = chance.random() < 0.1
        outcome(path, CATALOG, lambda plan, target, heavy=heavy: is_small(plan) and (heavy or target in LIGHT))  # type: ignore[misc]


@pytest.mark.parametrize(("document", "read"), [("job", load_job), ("fleet", load_fleet)])
def test_a_job_or_fleet_is_read_or_refused(document: str, read: Any, tmp_path: Path) -> None:
    taken = 0
    for number in range(300):
        path = written(
            Generator(document, number, JOBS if document == "job" else ()).document(),
            tmp_path / "x",
            random.Random(number),
        )
        try:
            read(path)
            taken += 1
        except SpecError:
            pass
    assert taken > 3


def test_many_generated_specs_are_rendered() -> None:
    """A generator whose specs are all refused would prove nothing about what is rendered."""
    found = [Generator("cluster", number, SEEDS, CATALOG).document() for number in range(100)]
    assert len({json.dumps(item, default=str) for item in found}) > 95
