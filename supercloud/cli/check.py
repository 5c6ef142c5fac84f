"""``supercloud check``: findings only."""

from __future__ import annotations

from dataclasses import asdict

import typer

from ..primitives.counts import format_count
from .options import JsonOption, SpecFile, load_plan
from .output import print_json, print_note, print_plan_findings

EPILOG = "Example: supercloud check cluster.yaml && git commit · next: supercloud plan cluster.yaml"


def check(spec: SpecFile, as_json: JsonOption = False) -> None:
    """Print the findings of a spec. Exits 2 if there are errors."""
    decided = load_plan(spec)
    if as_json:
        print_json([asdict(finding) for finding in decided.findings])
    else:
        print_plan_findings(decided.findings)
        errors, others = len(decided.errors), len(decided.findings) - len(decided.errors)
        print_note(f"{format_count(errors, 'error')}, {format_count(others, 'other finding')}")
    raise typer.Exit(2 if decided.errors else 0)
