"""Specs generated from the published schema: each ends in whole files or in findings, never otherwise.

``tests/fuzz.py`` does the same for as many as are wanted, with limits of time and memory.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from samples import EXAMPLES
from spec_generator import Generator
from spec_trial import CATALOG, generate, try_spec, write

from supercloud.errors import SpecError
from supercloud.spec.loader import load_fleet, load_job

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

MANY, PARTS = 400, 4  # parts, so that workers share them
JOBS = [yaml.safe_load(path.read_text()) for path in sorted(EXAMPLES[0].parent.parent.glob("*/job.yaml"))]


@pytest.mark.parametrize("part", range(PARTS))
def test_generated_specs_render_completely_or_have_findings(part: int, tmp_path: Path) -> None:
    found = Counter(try_spec(number, tmp_path) for number in range(part * MANY // PARTS, (part + 1) * MANY // PARTS))
    assert found["rendered"] > found.total() / 3, found


@pytest.mark.parametrize("document, read", [("job", load_job), ("fleet", load_fleet)])
def test_a_job_or_fleet_is_read_or_refused(document: str, read: Any, tmp_path: Path) -> None:
    accepted = 0
    for number in range(150):
        data = Generator(document, number, JOBS if document == "job" else (), CATALOG).document()
        path = write(data, tmp_path / "x", random.Random(number))
        try:
            read(path)
            accepted += 1
        except SpecError:
            pass
    assert accepted > 2


def test_generated_specs_differ() -> None:
    assert len({json.dumps(generate(number), default=str) for number in range(100)}) > 80
