"""``supercloud check``: findings only."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from ..errors import MAX_SHOWN
from ..primitives.counts import format_count
from .options import JsonOption, SpecFile, load_plan
from .output import print_json, print_note, print_plan_findings, print_result

if TYPE_CHECKING:
    from ..plan.model.plan import Plan

EPILOG = "Example: supercloud check cluster.yaml && git commit · next: supercloud plan cluster.yaml"


def check(spec: SpecFile, as_json: JsonOption = False) -> None:
    """Print the findings of a spec, and errors that it suppresses. Exits 2 if there are errors."""
    decided = load_plan(spec)
    if as_json:
        print_json([asdict(finding) for finding in decided.findings])
    else:
        print_plan_findings(decided.findings)
        _print_suppressed_errors(decided)
        print_note(_format_summary(decided))
    raise typer.Exit(2 if decided.errors else 0)


def _print_suppressed_errors(plan: Plan) -> None:
    """Name the errors that are suppressed: a spec with one is accepted, so that a review has to see it."""
    suppressed = [item for item in plan.suppressed if item.finding.level == "error"]
    for item in suppressed[:MAX_SHOWN]:
        print_result(f"suppressed {item.finding.level}: {item.finding}".partition("\n")[0])
        print_result(f"    reason: {item.reason}")
    if more := suppressed[MAX_SHOWN:]:
        print_result(f"{format_count(len(more), 'more suppressed error')}: list all with supercloud plan --json")


def _format_summary(plan: Plan) -> str:
    errors = len(plan.errors)
    parts = [format_count(errors, "error"), format_count(len(plan.findings) - errors, "other finding")]
    suppressed = [item.finding.level for item in plan.suppressed]
    if suppressed:
        wrong = suppressed.count("error")
        parts.append(f"{len(suppressed)} suppressed" + (f" ({format_count(wrong, 'error')})" if wrong else ""))
    return ", ".join(parts)
