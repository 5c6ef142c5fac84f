"""``supercloud logs``: the output of a job."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from .options import JobId

EPILOG = "Example: supercloud logs 1 --follow · next: supercloud wait 1"


def logs(
    job_id: JobId,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print until the job has ended.")] = False,
) -> None:
    """Print the output of a job."""
    from ..jobs import api

    for piece in api.get(job_id).logs(follow):
        sys.stdout.write(piece)
        sys.stdout.flush()
