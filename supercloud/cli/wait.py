"""``supercloud wait``: wait until jobs have ended."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import OperationError
from .options import JsonOption, parse_job_id
from .output import print_json, print_note, print_result

if TYPE_CHECKING:
    from ..jobs import Job

EPILOG = "Example: supercloud wait 1 && next-step.sh · next: supercloud logs 1"


def wait(
    job_ids: Annotated[
        list[int],
        typer.Argument(parser=parse_job_id, help="Job numbers, as shown by 'supercloud jobs'.", metavar="ID..."),
    ],
    timeout: Annotated[float | None, typer.Option(min=0, help="Stop waiting after this many seconds.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Wait until jobs have ended. Exits 0 if all completed, 1 otherwise."""
    from ..jobs import State, api

    jobs = [api.get(number) for number in dict.fromkeys(job_ids)]
    if held := [str(job.id) for job in jobs if job.record.state is State.HELD]:
        print_note(
            f"held until a broker assigns a cluster: {', '.join(held)}; to start a broker: supercloud serve SPEC"
        )
    _wait_with_progress(jobs, timeout)
    _require_ended(jobs)
    if as_json:
        _print_states_as_json(jobs)
    else:
        _print_states(jobs)
    raise typer.Exit(0 if all(job.record.state is State.COMPLETED for job in jobs) else 1)


def _require_ended(jobs: list[Job]) -> None:
    """Raise :class:`OperationError` if jobs have not ended within the timeout."""
    left = [job for job in jobs if not job.record.state.is_final]
    if left:
        still = ", ".join(f"job {job.id} ({job.record.name}) is still {job.record.state}" for job in left[:5])
        raise OperationError(f"{still}; it continues" if len(left) == 1 else f"{len(left)} jobs continue: {still}")


def _print_states_as_json(jobs: list[Job]) -> None:
    """An object for one job, a list for several."""
    shown = [
        {"id": job.id, "state": job.record.state, "exit_code": job.record.exit_code, "reason": job.record.reason}
        for job in jobs
    ]
    print_json(shown[0] if len(shown) == 1 else shown)


def _print_states(jobs: list[Job]) -> None:
    for job in jobs:
        status = f"{job.record.state}" + (f": {job.record.reason}" if job.record.reason else "")
        print_result(status if len(jobs) == 1 else f"{job.id}  {status}")
    simulated = "simulated on this machine · " if any(job.record.engine == "local" for job in jobs) else ""
    has_logs = len(jobs) == 1 and jobs[0].supports_logs()
    print_note(f"{simulated}next: supercloud " + (f"logs {jobs[0].id}" if has_logs else "jobs"))


def _wait_with_progress(jobs: list[Job], timeout: float | None) -> None:
    """Wait; on a terminal show the progress."""
    from ..jobs.futures import iter_polls, wait

    if not sys.stderr.isatty():
        wait(jobs, timeout)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=len(jobs))
        for ended in iter_polls(jobs, timeout):
            states = [str(job.record.state).lower() for job in jobs if not job.record.state.is_final]
            description = ", ".join(f"{states.count(name)} {name}" for name in sorted(set(states)))
            progress.update(bar, advance=len(ended), description=description)
