"""``supercloud check``: findings only."""

from __future__ import annotations

from dataclasses import asdict

import typer

from .options import Json, SpecFile, plan_of
from .output import findings, note, result_json

EPILOG = "Example: supercloud check cluster.yaml && git commit · next: supercloud plan cluster.yaml"


def check(spec: SpecFile, as_json: Json = False) -> None:
    """Say everything that is wrong with a spec, and nothing else. Exit code 2 where something forbids rendering."""
    decided = plan_of(spec)
    if as_json:
        result_json([asdict(finding) for finding in decided.findings])
    else:
        findings(decided.findings)
        note(f"{len(decided.errors)} error(s), {len(decided.findings) - len(decided.errors)} other finding(s)")
    raise typer.Exit(2 if decided.errors else 0)
