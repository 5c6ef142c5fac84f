"""``supercloud diff``: what changes between two specs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .options import Json, plan_of
from .output import columns, note, result, result_json

EPILOG = "Example: supercloud diff main.yaml branch.yaml · next: supercloud render branch.yaml"


def diff(
    old: Annotated[Path, typer.Argument(help="The spec as it is.", metavar="OLD")],
    new: Annotated[Path, typer.Argument(help="The spec as it shall be.", metavar="NEW")],
    as_json: Json = False,
) -> None:
    """Show what changes between two specs, and what of it replaces things that run."""
    from ..plan.publish.diff import diff as differences

    changes = differences(plan_of(old), plan_of(new))
    if as_json:
        result_json([asdict(change) for change in changes])
        return
    for line in columns(
        (change.impact, change.path, f"{_text(change.old)} -> {_text(change.new)}", change.why) for change in changes
    ):
        result(line)
    replaced = sum(change.impact == "replaces" for change in changes)
    recabled = sum(change.impact == "recables" for change in changes)
    said = f", {recabled} move cables" * (recabled > 0)
    note(f"{len(changes)} change(s), {replaced} of them replace something{said}" if changes else "no difference")


def _text(value: object) -> str:
    return "(nothing)" if value is None else str(value)
