"""CSV and YAML as text: the only writer of each, so that any value is read back unchanged and no cell is a formula."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

import yaml

__all__ = ["format_csv", "escape_cell", "format_yaml"]

# Characters that start a formula in spreadsheets (OWASP, CSV Injection).
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
# Scalars that only YAML 1.2 does not read as text: readers of the file may support either version.
_OCTAL = re.compile(r"[-+]?0o[0-7]+")


def escape_cell(value: object) -> object:
    """A value as a cell that no spreadsheet computes: text that starts like a formula gets an apostrophe before it.

    A number keeps its sign. The apostrophe is how spreadsheets mark a cell as text.
    """
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS) and not _is_number(value):
        return f"'{value}"
    return value


def format_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table with a header line, without formulas."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(escape_cell, row) for row in rows)
    return text.getvalue()


def format_yaml(value: Any) -> str:
    """A document that YAML 1.1 and 1.2 read alike: text that either would not read as text is quoted."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=118)


class _Dumper(yaml.SafeDumper):
    """The safe dumper with the scalars of YAML 1.1 and also 1.2, without anchors."""

    def ignore_aliases(self, data: object) -> bool:
        """Write repeated values in full."""
        return True


def _build_text_node(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "'" if _OCTAL.fullmatch(value) or _is_number(value) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _build_text_node)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
