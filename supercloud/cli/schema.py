"""``supercloud schema``: the JSON Schemas."""

from __future__ import annotations

from typing import Annotated

import typer

from .output import plain_json

EPILOG = "Example: supercloud schema cluster > cluster.schema.json · next: point your editor at it"


def schema(
    document: Annotated[
        str, typer.Argument(help="cluster, fleet, job, or plan (the output of plan --json).")
    ] = "cluster",
) -> None:
    """Print the JSON Schema of a document."""
    from ..spec.schema import schema_of, schema_text

    if document == "plan":
        from ..plan.publish.document import plan_schema

        typer.echo(plain_json(schema_text(plan_schema())), nl=False)
    else:
        typer.echo(plain_json(schema_text(schema_of(document))), nl=False)
