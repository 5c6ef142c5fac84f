"""``supercloud wait``: until a job has ended."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import WorkError
from .options import JobId, Json
from .output import note, result, result_json

if TYPE_CHECKING:
    from ..jobs import Job, State

EPILOG = "Example: supercloud wait 1 && next-step.sh · next: supercloud logs 1"


def wait(
    number: JobId,
    timeout: Annotated[float | None, typer.Option(min=0, help="Give up after so many seconds.")] = None,
    as_json: Json = False,
) -> None:
    """Wait until a job has ended. Exit code 0 when it completed, 1 otherwise."""
    from ..jobs import State, api

    job = api.get(number)
    try:
        state = _watched(job, timeout)
    except TimeoutError as error:
        raise WorkError(f"{error}; it goes on") from None
    record = job.record
    if as_json:
        result_json({"id": job.id, "state": state, "exit_code": record.exit_code, "reason": record.reason})
    else:
        result(f"{state}" + (f": {record.reason}" if record.reason else ""))
        note(f"next: supercloud logs {job.id}")
    raise typer.Exit(0 if state is State.COMPLETED else 1)


def _watched(job: Job, timeout: float | None) -> State:
    """Wait; where a person looks on, show the state and the seconds."""
    if not sys.stderr.isatty():
        return job.wait(timeout)
    import time

    from rich.console import Console

    end = None if timeout is None else time.monotonic() + timeout
    with Console(stderr=True).status(f"job {job.id}: {job.record.state}") as status:
        start = time.monotonic()
        while True:
            left = 1.0 if end is None else min(1.0, max(0.0, end - time.monotonic()))
            try:
                return job.wait(left)
            except TimeoutError:
                if end is not None and time.monotonic() >= end:
                    raise
                status.update(f"job {job.id}: {job.record.state}, {time.monotonic() - start:.0f} s")
