"""``supercloud why-not``: what keeps a job from each pool."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UnknownNameError
from .options import JobFile, JsonOption
from .output import format_columns, print_json, print_note, print_result
from .place import DestinationOption, LiveOption, load_destination

if TYPE_CHECKING:
    from ..jobs.placement.place import Placement

EPILOG = "Example: supercloud why-not job.yaml --on cluster.yaml · next: supercloud place job.yaml --on cluster.yaml"


def why_not(
    job: JobFile,
    on: DestinationOption,
    pool: Annotated[str | None, typer.Option(help="Only this pool.")] = None,
    live: LiveOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say for every pool how the job would lie in it, or the one reason that keeps it out and what would cure it.

    Exit code 0 whatever the answer is: 'supercloud place' says by its own whether anything can have the job. With
    --json each pool has 'fits', and where that is false 'change': fields to set, with which it would fit.
    """
    from ..jobs import Placement
    from ..jobs import why_not as ask
    from ..jobs.job_rules import require_valid_job
    from ..spec.loader import load_job

    asked = load_job(job).model
    require_valid_job(asked)
    answers = dict(ask(asked, load_destination(on, live)))
    if pool is not None:
        if pool not in answers:
            raise UnknownNameError("pool", pool, answers)
        answers = {pool: answers[pool]}
    fits = [name for name, answer in answers.items() if isinstance(answer, Placement)]
    if as_json:
        print_json({name: {"fits": name in fits} | asdict(answer) for name, answer in answers.items()})
        return
    for line in format_columns(
        (name, _format_wait(answer), str(answer))
        if isinstance(answer, Placement)
        else (name, answer.reason, answer.remedy)
        for name, answer in answers.items()
    ):
        print_result(line)
    print_note(
        f"next: supercloud submit {job} --on {on}"
        if fits
        else "nothing fits now: see the last column"
        if live
        else "nothing fits: change the job or the cluster"
    )


def _format_wait(placement: Placement) -> str:
    if placement.fits_now:
        return "fits"
    return "waits" if placement.wait is None else f"waits {placement.wait / 3600:.1f} h"
