"""``supercloud why-not``: why a job does not fit each pool."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import UnknownNameError
from .options import JobFile, JsonOption, add_locations, format_change_location
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
    """Show for every pool how the job would be placed, or the reason why it does not fit and how to fix it.

    Always exits 0: use 'supercloud place' to test whether any pool fits. With --json each pool has 'fits' and, if
    that is false, 'change': fields that, when set (null: omitted), make the job fit; it is {} if no change of the job
    is enough, and 'suggestion' has the reason.
    """
    from ..jobs import Placement
    from ..jobs import why_not as ask
    from ..jobs.job_rules import require_valid_job
    from ..spec.loader import load_job

    loaded = load_job(job)
    spec = loaded.model
    with add_locations(loaded):
        require_valid_job(spec)
    answers = dict(ask(spec, load_destination(on, live)))
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
        else (name, answer.reason, answer.suggestion + format_change_location(loaded, answer.change))
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
