"""The YAML writer: whatever goes in comes out of a YAML reader again."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from supercloud.targets.schedulers.kubernetes.manifest import format_yaml

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=60) | st.from_regex(
    r"[a-z]+\n[ a-z\n]*", fullmatch=True
)
SCALARS = TEXTS | st.integers() | st.booleans() | st.none() | st.floats(allow_nan=False, allow_infinity=False)
TREES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4))


@pytest.mark.exhaustive
@pytest.mark.slow
@example([1e-05, -1e16, 1e300, "0\n\x80"])
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
@given(TREES)
def test_manifests_can_be_read_again(tree: Any) -> None:
    assert yaml.safe_load(format_yaml(tree)) == tree


ODD = [
    "yes",
    "No",
    "on",
    "null",
    "~",
    "1",
    "1e3",
    "0x1f",
    "1:30",
    "2026-01-01",
    "=",
    "<<",
    "a: b",
    "a #b",
    "- a",
    "",
    "x:",
    "é",
    "a\tb",
    "line\nline",
    "line\nline\n",
    "\nline",
    "line\n\n",
    "  line\nx",
    "a \nb",
    "{a}",
    "*a",
    "&a",
]


@pytest.mark.parametrize("text", ODD)
def test_texts_remain_texts(text: str) -> None:
    assert yaml.safe_load(format_yaml({"key": text, text or "k": [text]})) == {"key": text, text or "k": [text]}


def test_manifests_have_block_style() -> None:
    assert format_yaml({"data": {"a": "one\ntwo\n"}, "list": [{"b": 1, "c": [2]}], "left": [], "map": {}}) == (
        "data:\n  a: |\n    one\n    two\nlist:\n  - b: 1\n    c:\n      - 2\nleft: []\nmap: {}\n"
    )
