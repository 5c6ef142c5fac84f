"""``supercloud jobs``: one list."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Json
from .output import columns, note, result, result_json

EPILOG = "Example: supercloud jobs --live · next: supercloud logs ID"


def jobs(
    live: Annotated[bool, typer.Option("--live", help="Only jobs that have not ended.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="At most so many, the newest first.")] = 50,
    as_json: Json = False,
) -> None:
    """List jobs on all engines, the newest first."""
    from ..jobs import Placement, State, api
    from ..jobs.reconcile import reconcile

    store = api.default_store()
    problems = reconcile(store)
    states = tuple(state for state in State if not (live and state.is_final))
    records = [job.record for job in api.jobs(store, states, limit)]
    if as_json:
        result_json([_shown(record) for record in records])
    else:
        rows = [("id", "name", "state", "try", "engine", "where", "reason")]
        for record in records:
            where = f"{record.cluster}: {Placement.of_json(record.placement)}"
            rows.append((str(record.id), record.name, str(record.state), str(record.attempt), record.engine, where,
                         record.reason))  # fmt: skip
        for line in columns(rows if records else ()):
            result(line)
        if not records:
            note("no jobs · next: supercloud submit JOB --on SPEC")
    for problem in problems:
        note(f"warning: {problem}")


def _shown(record: object) -> dict[str, object]:
    """A job for programs: without the texts it was made from."""
    from dataclasses import fields

    hidden = {"spec", "placement", "connection", "submission", "owner"}
    return {item.name: getattr(record, item.name) for item in fields(record) if item.name not in hidden}  # type: ignore[arg-type]
