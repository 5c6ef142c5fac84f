"""``supercloud diff``: what changes between two specs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..primitives.counts import format_count
from .options import JsonOption, load_plan
from .output import format_columns, print_json, print_note, print_result

EPILOG = "Example: supercloud diff main.yaml branch.yaml · next: supercloud render branch.yaml"


def diff(
    old: Annotated[Path, typer.Argument(help="The present spec.", metavar="OLD")],
    new: Annotated[Path, typer.Argument(help="The changed spec.", metavar="NEW")],
    as_json: JsonOption = False,
) -> None:
    """Show what changes between two specs, and which changes are disruptive."""
    from ..plan.publish.diff import diff_plans as differences

    changes = differences(load_plan(old), load_plan(new))
    if as_json:
        print_json([asdict(change) for change in changes])
        return
    for line in format_columns(
        (change.impact, change.path, f"{_format_value(change.old)} -> {_format_value(change.new)}", change.why)
        for change in changes
    ):
        print_result(line)
    replaced = sum(change.impact == "replaces" for change in changes)
    recabled = sum(change.impact == "recables" for change in changes)
    cables = f", {recabled} move{'s' * (recabled == 1)} cables" * (recabled > 0)
    total = format_count(len(changes), "change")
    print_note(f"{total}, {replaced} disruptive{cables}" if changes else "no differences")


def _format_value(value: object) -> str:
    return "(nothing)" if value is None else str(value)
