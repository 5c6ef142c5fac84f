"""``supercloud submit``: run a job."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Cluster, JobFile, Json, usable_plan_of
from .output import note, result, result_json

EPILOG = "Example: supercloud submit job.yaml --on cluster.yaml --engine local · next: supercloud wait ID"


def submit(
    job: JobFile,
    on: Cluster,
    engine: Annotated[str, typer.Option(help="local (this machine), slurm, or another that is installed.")] = "local",
    via: Annotated[str | None, typer.Option(help="How the engine is reached, such as ssh:login.example.com.")] = None,
    key: Annotated[str | None, typer.Option(help="Idempotency key: the same key again is the same job.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be submitted, nothing more.")] = False,
    as_json: Json = False,
) -> None:
    """Place a job, record it, and hand it to an engine. Prints the job's number."""
    from pydantic import ValidationError

    from ..errors import InputError
    from ..jobs import api
    from ..plan.resolve import catalog_for
    from ..spec.fleet import Connection
    from ..spec.loader import load_job

    loaded = load_job(job)
    plan = usable_plan_of(on)
    try:
        connection = Connection(engine=engine, via=via)
    except ValidationError as error:
        raise InputError(f"--engine or --via: {error.errors()[0]['msg']}") from None
    catalog = catalog_for(plan.spec, on.parent)
    if dry_run:
        placement, submission = api.prepare(loaded.model, plan, engine=connection, key=key, catalog=catalog)
        result(f"# {placement}\n{submission}".rstrip())
        return
    held = api.submit(loaded.model, plan, engine=connection, key=key, catalog=catalog)
    if as_json:
        result_json({"id": held.id, "key": held.key, "state": held.record.state})
    else:
        result(str(held.id))
        note(f"job {held.id} ({held.record.name}) is {held.record.state} · next: supercloud wait {held.id}")
