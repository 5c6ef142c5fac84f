"""Examples in docstrings give what they show."""

from __future__ import annotations

import doctest
import importlib

import pytest
from samples import ROOT

# Their examples write files, or run jobs.
WITH_EFFECTS = {"supercloud", "supercloud.jobs.api"}
MODULES = sorted(
    {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in (ROOT / "supercloud").rglob("*.py")
        if ">>> " in path.read_text(encoding="utf-8")
    }
    - WITH_EFFECTS
)


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_are_true(module: str) -> None:
    done = doctest.testmod(importlib.import_module(module))
    assert done.attempted and not done.failed
