"""``supercloud diff``: what changes between two specs."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..primitives.counts import format_count
from .difference import build_change_rows
from .options import JsonOption, load_plan
from .output import format_columns, print_findings, print_json, print_note, print_result

if TYPE_CHECKING:
    from ..plan.model.plan import Plan
    from ..plan.publish.diff import Change

EPILOG = "Example: supercloud diff main.yaml branch.yaml · next: supercloud render branch.yaml"

_SUMMARIES = {"replaces": "replacement", "removes": "removal", "recables": "recabling", "adds": "addition"}


def diff(
    old: Annotated[Path, typer.Argument(help="The present spec.", metavar="OLD")],
    new: Annotated[Path, typer.Argument(help="The changed spec.", metavar="NEW")],
    files: Annotated[
        bool,
        typer.Option(
            "--files", help="Also list the rendered files that change. Default: only if nothing else changes."
        ),
    ] = False,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="Exit with 1 if there are differences.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what changes between two specs: what is replaced or removed, which cables move, what is changed in place.

    NEW must have no errors. Errors of OLD are printed; values that depend on them may be missing in the comparison.
    """
    from ..plan.publish.diff import diff_plans

    before, after = load_plan(old), load_plan(new)
    _refuse_errors(new, after)
    if before.errors:
        print_note(f"{old} has errors, so that values may be missing in the comparison:")
        print_findings(before.errors, sys.stderr)
    changes = diff_plans(before, after)
    if (files or not changes) and not before.errors:
        changes += _list_changed_files(before, after)
    if as_json:
        print_json([asdict(change) for change in changes])
    else:
        _print_changes(changes)
    if exit_code and changes:
        raise typer.Exit(1)


def _refuse_errors(path: Path, plan: Plan) -> None:
    from ..errors import InputError

    if plan.errors:
        raise InputError(f"{path}: the effects of a spec with errors are not known; fix them first", plan.errors)


def _print_changes(changes: list[Change]) -> None:
    for line in format_columns(row for change in changes for row in build_change_rows(change)):
        print_result(line)
    print_note(_format_summary(changes) if changes else "no differences: the plans and the rendered files are equal")


def _format_summary(changes: list[Change]) -> str:
    counts = Counter[str](change.impact for change in changes)
    parts = [format_count(counts[impact], noun) for impact, noun in _SUMMARIES.items() if counts[impact]]
    in_place = [f"{counts['changes']} in place"] if counts["changes"] else []
    return f"{format_count(len(changes), 'change')}: {', '.join([*parts, *in_place])}"


def _list_changed_files(old: Plan, new: Plan) -> list[Change]:
    """The rendered files that differ, with the number of their lines."""
    from ..plan.publish.diff import Change

    before, after = _render_files(old), _render_files(new)
    return [
        Change(
            f"files[{path}]",
            _count_lines(before.get(path)),
            _count_lines(after.get(path)),
            "adds" if path not in before else "removes" if path not in after else "changes",
        )
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    ]


def _render_files(plan: Plan) -> Mapping[str, str]:
    from ..targets import list_targets, render

    return {f"{name}/{path}": text for name in list_targets(plan) for path, text in render(plan, name).items()}


def _count_lines(text: str | None) -> str | None:
    return None if text is None else format_count(text.count("\n"), "line")
