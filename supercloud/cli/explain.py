"""``supercloud explain``: the documentation of a field."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from .options import JsonOption
from .output import print_json, print_note, print_result

if TYPE_CHECKING:
    from ..spec.explain import FieldDoc

EPILOG = "Example: supercloud explain facility.power · next: supercloud explain --recursive job"


def explain(
    path: Annotated[str, typer.Argument(help="Field (facility.power, job.place), or cluster, fleet, job.")] = "cluster",
    recursive: Annotated[bool, typer.Option("--recursive", help="List all fields below it, one per line.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print a field of a spec: type, unit, default, example and the fields below it."""
    from ..spec.explain import explain_forms

    forms = explain_forms(path)
    if as_json:
        others = {"other_forms": [asdict(item) for item in forms[1:]]} if len(forms) > 1 else {}
        print_json(asdict(forms[0]) | others)
        return
    for number, found in enumerate(forms):
        if recursive:
            _print_tree(found)
            continue
        if number:
            print_result("")
        _print_field(found)
    if not recursive:
        _print_next(forms)


def _print_tree(found: FieldDoc) -> None:
    """Print the fields below a field, one per line."""
    from ..spec.explain import iter_fields

    if found.condition:
        print_result(f"where {found.condition}:")
    first = next(iter_fields(found), found)
    for child in iter_fields(found):
        where = f" (where {child.condition})" if child.condition else ""
        required = " (required)" if child.is_required else ""
        indent = "  " * (child.path.count(".") - first.path.count("."))
        print_result(f"{indent}{child.name} <{child.type}>{required}{where}")


def _print_next(forms: Sequence[FieldDoc]) -> None:
    """Print the command for the first field below that has fields itself."""
    fields = (child for found in forms for group in found.children for child in group.fields)
    below = next((child for child in fields if child.children), None)
    if below:
        print_note(f"next: supercloud explain {below.path}")


def _print_field(found: FieldDoc) -> None:
    where = f" where {found.condition}" if found.condition else ""
    print_result(f"{_format_heading(found)}{where}")
    _print_text(found.description, "  ")
    for line in _iter_properties(found):
        _print_text(line, "  ", "    ")
    for group in found.children:
        print_result("")
        print_result(f"fields{f' where {group.condition}' if group.condition else ''}:")
        for child in group.fields:
            print_result(f"  {_format_heading(child, child.name)}")
            _print_text(child.description, "      ")
            for line in _iter_properties(child):
                _print_text(line, "      ", "        ")


def _format_heading(found: FieldDoc, name: str = "") -> str:
    return f"{name or found.path} <{found.type}>{' (required)' if found.is_required else ''}"


def _iter_properties(found: FieldDoc) -> Iterator[str]:
    for label, value in (
        ("unit", found.unit),
        ("default", found.default),
        ("if omitted", found.absence),
        ("example", found.example),
    ):
        if value:
            yield f"{label}: {value}"


def _print_text(text: str, indent: str, next_indent: str | None = None) -> None:
    """Print a text, wrapped to the terminal width."""
    width = max(40, min(shutil.get_terminal_size((100, 24)).columns, 120))
    for line in textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent if next_indent is None else next_indent,
        break_long_words=False,
        break_on_hyphens=False,
    ):
        print_result(line)
