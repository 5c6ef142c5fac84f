"""``supercloud plan``: show the plan of a spec."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..errors import MAX_SHOWN
from ..primitives.counts import format_count
from .options import JsonOption, SpecFile, load_plan
from .output import escape_json_controls, format_columns, print_note, print_plan_findings, print_result

if TYPE_CHECKING:
    from ..plan.model.plan import Plan

EPILOG = "Example: supercloud plan cluster.yaml · next: supercloud render cluster.yaml"


def plan(spec: SpecFile, as_json: JsonOption = False) -> None:
    """Show the plan of a spec: machines, fabrics, storage, power, and all findings. Exits 2 if there are errors."""
    decided = load_plan(spec)
    if as_json:
        from ..plan.publish.document import build_document

        typer.echo(escape_json_controls(build_document(decided).model_dump_json(indent=1)))
    else:
        from ..plan.publish.summary import build_rows

        for line in format_columns(build_rows(decided)):
            print_result(line)
        print_plan_findings(decided.findings)
        for item in decided.suppressed[:MAX_SHOWN]:
            print_result(
                f"suppressed: {item.finding.path}: {item.finding.problem} [{item.finding.check}]; reason: {item.reason}"
            )
        if more := decided.suppressed[MAX_SHOWN:]:
            print_result(f"{format_count(len(more), 'more suppressed finding')}: list all with supercloud plan --json")
        _print_next_step(spec.name, str(spec), decided)
    raise typer.Exit(2 if decided.errors else 0)


def _print_next_step(name: str, spec: str, decided: Plan) -> None:
    if decided.errors:
        print_note(f"{format_count(len(decided.errors), 'error')} · fix {name} and run plan again")
        return
    if decided.cloud is not None:
        status = "ready to create" if decided.findings else "no problems found"
        file = spec if Path("Pulumi.yaml").exists() else Path(spec).resolve()
        print_note(
            f"{status} · next, in the folder of Pulumi.yaml: pulumi config set supercloud:specFile {file} && pulumi up"
        )
        return
    from ..plan.publish.open_points import describe_open_points

    complete = not decided.findings and not describe_open_points(decided)
    status = "no problems found" if complete else "ready to render"
    print_note(f"{status} · next: supercloud render {spec}")
