"""``supercloud explain``: the documentation of a field."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
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
        _print_field(found, path)
    if not recursive:
        _print_next(path, forms)


def _print_tree(found: FieldDoc) -> None:
    """Print the fields below a field, one per line."""
    from ..spec.explain import iter_fields

    if found.condition:
        print_result(f"where {found.condition}:")
    base = found.path.count(".") + 1 if found.path else 0
    for child in iter_fields(found):
        where = f" (where {child.condition})" if child.condition else ""
        print_result(f"{'  ' * (child.path.count('.') - base)}{child.name} <{child.type}>{where}")


def _print_next(path: str, forms: Sequence[FieldDoc]) -> None:
    """Print the command for the first field below that has fields itself."""
    fields = (child for found in forms for group in found.children for child in group.fields)
    below = next((child for child in fields if child.children), None)
    if below:
        root = path.split(".", maxsplit=1)[0]
        print_note(f"next: supercloud explain {f'{root}.' if root in ('fleet', 'job') else ''}{below.path}")


def _print_field(found: FieldDoc, path: str) -> None:
    where = f" where {found.condition}" if found.condition else ""
    print_result(f"{found.path or path} <{found.type}>{' (required)' if found.is_required else ''}{where}")
    _print_text(found.description, "  ")
    for label, value in (("default", found.default), ("example", found.example)):
        if value:
            print_result(f"  {label}: {value}")
    for group in found.children:
        print_result("")
        print_result(f"fields{f' where {group.condition}' if group.condition else ''}:")
        for child in group.fields:
            notes = "required" if child.is_required else f"default {child.default}" if child.default else ""
            print_result(f"  {child.name} <{child.type}>{f' ({notes})' if notes else ''}")
            _print_text(child.description, "      ")


def _print_text(text: str, indent: str) -> None:
    """Print a description, wrapped to the terminal width."""
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    for line in textwrap.wrap(text, max(40, width - len(indent))):
        print_result(indent + line)
