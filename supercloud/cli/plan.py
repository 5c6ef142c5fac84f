"""``supercloud plan``: what was decided."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from .options import Json, SpecFile, plan_of
from .output import columns, findings, note, plain_json, result

if TYPE_CHECKING:
    from ..plan.model.plan import Plan

EPILOG = "Example: supercloud plan cluster.yaml · next: supercloud render cluster.yaml"


def plan(spec: SpecFile, as_json: Json = False) -> None:
    """Show what a spec becomes: machines, fabrics, storage, power, and everything that is wrong with it."""
    decided = plan_of(spec)
    if as_json:
        from ..plan.publish.document import document

        typer.echo(plain_json(document(decided).model_dump_json(indent=1)))
    else:
        from ..plan.publish.summary import rows

        for line in columns(rows(decided)):
            result(line)
        findings(decided.findings)
        for item in decided.suppressed:
            result(
                f"accepted: {item.finding.path}: {item.finding.problem} [{item.finding.check}] because {item.reason}"
            )
        _next(spec.name, str(spec), decided)
    raise typer.Exit(2 if decided.errors else 0)


def _next(name: str, spec: str, decided: Plan) -> None:
    if decided.errors:
        note(f"{len(decided.errors)} error(s): mend {name}, then plan again")
        return
    if decided.cloud is not None:
        said = "no problems found" if not decided.findings else "nothing that forbids creating it"
        file = spec if Path("Pulumi.yaml").exists() else Path(spec).resolve()
        note(f"{said} · next, in the folder of Pulumi.yaml: pulumi config set supercloud:specFile {file} && pulumi up")
        return
    from ..plan.publish.open_points import describe_open

    complete = not decided.findings and not describe_open(decided)
    said = "no problems found" if complete else "nothing that forbids rendering"
    note(f"{said} · next: supercloud render {spec}")
