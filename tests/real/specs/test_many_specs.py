"""Generated specs beyond those of ``make test``: 2,000 in all. Here, as they take minutes of a processor."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from spec_trial import try_spec
from test_generated_specs import MANY

ALL, PART = 2000, 100


@pytest.mark.parametrize("first", range(MANY, ALL, PART))
def test_generated_specs_render_completely_or_have_findings(first: int, tmp_path: Path) -> None:
    found = Counter(try_spec(number, tmp_path) for number in range(first, min(first + PART, ALL)))
    assert found["rendered"] > found.total() / 4, found
