"""``supercloud cancel``: end a job."""

from __future__ import annotations

from .options import JobId, JsonOption
from .output import print_json, print_note, print_result

EPILOG = "Example: supercloud cancel 1 · next: supercloud jobs"


def cancel(job_id: JobId, as_json: JsonOption = False) -> None:
    """Ask that a job ends, and with it every copy that the scheduler has of it. A job that has ended stays as it is.

    A copy was submitted for the very same job, whose first submission got no answer. A job of the same key from another
    state folder is no copy: it is named and left alone.
    """
    from ..jobs import api

    job = api.get(job_id)
    state = job.cancel()
    if as_json:
        print_json({"id": job.id, "state": state})
    else:
        print_result(str(state))
        print_note(
            "next: supercloud jobs" if state.is_final else f"it was asked to end · next: supercloud wait {job_id}"
        )
