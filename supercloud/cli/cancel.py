"""``supercloud cancel``: end a job."""

from __future__ import annotations

from .options import JobId, Json
from .output import note, result, result_json

EPILOG = "Example: supercloud cancel 1 · next: supercloud jobs"


def cancel(number: JobId, as_json: Json = False) -> None:
    """Ask that a job ends. A job that has ended stays as it is."""
    from ..jobs import api

    job = api.get(number)
    state = job.cancel()
    if as_json:
        result_json({"id": job.id, "state": state})
    else:
        result(str(state))
        note("next: supercloud jobs" if state.is_final else f"it was asked to end · next: supercloud wait {number}")
