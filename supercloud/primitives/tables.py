"""CSV as a text: the one writer of every CSV file, so that any value comes back as it was and no cell is a formula."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

__all__ = ["csv_text", "plain_cell"]

# What a spreadsheet takes for the beginning of a formula (OWASP, CSV Injection).
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def plain_cell(value: object) -> str:
    """A value as a cell that no spreadsheet computes: what begins like a formula has an apostrophe before it.

    A number keeps its sign. The apostrophe is what spreadsheets themselves write to say that a cell is text.
    """
    text = "" if value is None else str(value)
    return f"'{text}" if text.startswith(_FORMULA) and not _is_number(text) else text


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]], exact: bool = False) -> str:
    """A table with a line of names. ``exact`` is for files that a program imports and no person opens: values are
    quoted where they have to be and otherwise left alone."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    if exact:
        writer.writerows(rows)
    else:
        writer.writerows([plain_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
