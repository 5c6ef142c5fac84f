"""``supercloud schema``: the JSON Schemas."""

from __future__ import annotations

from typing import Annotated

import typer

from .output import escape_json_controls

EPILOG = "Example: supercloud schema cluster > cluster.schema.json · next: configure your editor to use it"


def schema(
    document: Annotated[
        str, typer.Argument(help="cluster, fleet, job, or plan (the output of plan --json).")
    ] = "cluster",
) -> None:
    """Print the JSON Schema of a document."""
    from ..spec.schema import build_schema, format_schema

    if document == "plan":
        from ..plan.publish.document import build_plan_schema

        typer.echo(escape_json_controls(format_schema(build_plan_schema())), nl=False)
    else:
        typer.echo(escape_json_controls(format_schema(build_schema(document, ["plan"]))), nl=False)
