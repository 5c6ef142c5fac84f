"""The writers of CSV and YAML: whatever goes in comes out again, and no cell is a formula."""

from __future__ import annotations

import csv
import io

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from supercloud.primitives.tables import escape_cell, format_csv, format_yaml

# What the language takes as a text: nothing of the control characters.
TEXTS = st.text(
    st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\u0085\u2028\u2029\ufeff"),
    min_size=1,
    max_size=30,
)
ODD = st.sampled_from(
    [
        "0x10",
        "1e3",
        "0o17",
        "1_000",
        "yes",
        "null",
        "~",
        "12:30",
        "UFM, HA pair",
        "- a",
        "# b",
        "a: b",
        "'",
        '"',
        "=1+1",
        "@x",
        "2026-01-01",
        "{a}",
        "[a]",
        "&a",
        "*a",
        "!a",
        "%",
        "`",
        ".5",
        "nan",
        "+1",
    ]
)


@pytest.mark.slow
@given(st.lists(st.lists(ODD | TEXTS, min_size=2, max_size=2), max_size=5))
def test_any_table_can_be_read_again(rows: list[list[str]]) -> None:
    cells = [[escape_cell(cell) for cell in row] for row in rows]
    assert list(csv.reader(io.StringIO(format_csv(("a", "b"), rows)))) == [["a", "b"], *cells]
    for found, row in zip(list(csv.reader(io.StringIO(format_csv(("a", "b"), rows))))[1:], rows, strict=True):
        for cell, value in zip(found, row, strict=True):
            assert cell in (value, f"'{value}")
            assert cell[0] not in "=@" and (cell[0] not in "+-" or float(cell) is not None)


@pytest.mark.slow
@given(st.dictionaries(ODD | TEXTS, ODD | TEXTS | st.integers() | st.none(), max_size=5))
def test_any_document_can_be_read_again(value: dict[str, object]) -> None:
    assert yaml.safe_load(format_yaml(value)) == value


@pytest.mark.parametrize("text", ["0o17", "1e3", "0x10", "12", "1_000", "nan", ".inf"])
def test_a_name_like_a_number_is_quoted_for_readers_of_either_yaml(text: str) -> None:
    assert format_yaml({"a": text}) == f"a: '{text}'\n"


@pytest.mark.parametrize(
    "value, cell",
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+a", "'+a"),
        ("-cmd", "'-cmd"),
        ("@x", "'@x"),
        ("-5.2", "-5.2"),
        ("a=b", "a=b"),
        (-3, -3),
    ],
)
def test_cells_are_not_formulas(value: object, cell: object) -> None:
    assert escape_cell(value) == cell
