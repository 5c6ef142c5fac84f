"""``supercloud cancel``: end a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .options import JobId, JsonOption
from .output import print_json, print_note, print_result

if TYPE_CHECKING:
    from ..jobs import State

EPILOG = "Example: supercloud cancel 1 · next: supercloud jobs"


def cancel(job_id: JobId, as_json: JsonOption = False) -> None:
    """Cancel a job, with every copy of it that the scheduler has. A job that has ended is not changed.

    A copy is a second submission of the same job, made after the first got no answer. A job with the same key from
    another state folder is not a copy: it is reported and not cancelled.
    """
    from ..jobs import api

    job = api.get(job_id)
    state = job.cancel()
    if as_json:
        print_json({"id": job.id, "state": state})
    else:
        print_result(str(state))
        print_note(_describe_next_step(job_id, state))


def _describe_next_step(job_id: int, state: State) -> str:
    if state.is_final:
        return "next: supercloud jobs"
    if state == "UNKNOWN":  # to wait for it may take for ever
        return (
            "its engine does not report the job, which is not ended in the store · if it never will: supercloud store "
            f"forget {job_id}"
        )
    return f"cancellation requested · next: supercloud wait {job_id}"
