"""Each row of the table «Adding things» in CONTRIBUTING.md is true.

A proof adds one such thing to a copy of the package, only in files that the row names and with one line in each that
exists, and uses it through the command line or the Python API. A new row needs a new proof in ``tests/extensions``.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest
from extensions.catalog_rows import PROOFS as CATALOG
from extensions.cloud_rows import PROOFS as CLOUDS
from extensions.code_rows import PROOFS as CODE
from extensions.package_copy import PackageCopy
from extensions.site_rows import PROOFS as SITE
from samples import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

PROOFS = CATALOG | CLOUDS | SITE | CODE


def read_rows() -> dict[str, str]:
    """What is added -> the whole row."""
    section = (ROOT / "CONTRIBUTING.md").read_text().split("\n## Adding things\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    return {row.strip("|").split("|")[0].strip(): row for row in rows}


ROWS = read_rows()


def names_file(row: str, path: str) -> bool:
    """Whether a row names a file or the folder that it is in; ``<name>`` and ``{one,two}`` stand for several."""
    for token in re.findall(r"`([^`\s]*[/.][^`\s]*)`", row):
        pattern = re.escape(token.removeprefix("supercloud/"))
        pattern = re.sub(r"<[^>]*>|NN\\-name", "[^/]+", pattern)
        pattern = re.sub(r"\\\{([^}]*)\\\}", lambda found: "(" + found[1].replace(",", "|") + ")", pattern)
        if re.search(f"(^|/){pattern}" + ("" if token.endswith("/") else r"(/__init__\.py)?$"), path):
            return True
    return False


def test_each_row_has_a_proof() -> None:
    assert len(ROWS) > 20
    assert set(PROOFS) == set(ROWS)
    assert len(PROOFS) == len(CATALOG) + len(CLOUDS) + len(SITE) + len(CODE)


@pytest.mark.parametrize("name", ROWS, ids=lambda name: name[:40].replace(" ", "-"))
def test_each_row_is_true(name: str, tmp_path: Path) -> None:
    copy = PackageCopy(tmp_path)
    PROOFS[name](copy)
    wrong = [path for path in chain(copy.added, copy.lines, copy.functions) if not names_file(ROWS[name], path)]
    assert not wrong, f"the row does not name {wrong}"
    assert copy.added or copy.lines
    assert all(count == 1 for count in copy.lines.values()), copy.lines
    if any(path.endswith(".py") for path in chain(copy.added, copy.lines, copy.functions)):
        assert not (broken := copy.list_broken_contracts()), broken
    if ROWS[name].rstrip("| ").rsplit("|", 1)[-1].strip() in ("none", "none; then `make golden`"):
        assert not copy.lines and not copy.functions
