"""``supercloud store``: maintain the job store."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .output import fall_back_to_stderr, print_note, print_result

EPILOG = "Example: supercloud store backup jobs.backup · next: supercloud store restore jobs.backup"


class StoreAction(StrEnum):
    """The action."""

    CHECK = "check"
    BACKUP = "backup"
    RESTORE = "restore"
    PRUNE = "prune"
    FORGET = "forget"


def store(
    action: Annotated[StoreAction, typer.Argument(help="Action: check, backup, restore, prune or forget.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE|ID...]",
            help="Backup file: written by backup, read by restore. forget: numbers of jobs.",
            show_default=False,
        ),
    ] = None,
    older: Annotated[str, typer.Option(help="prune: delete jobs that ended longer ago than this.")] = "180 d",
    force: Annotated[
        bool, typer.Option("--force", help="forget: also jobs that were last reported as queued or running.")
    ] = False,
) -> None:
    """Check the job store for damage, back it up, restore a backup, delete old jobs with their logs and results, or
    give up jobs whose engine will never report an end.

    The action check includes the queue of the local engine. A backup contains the job records, not logs, and not that
    queue; jobs of engines are not affected. The key of a deleted job can be used again, and the job no longer counts in
    fair shares and budgets. After a restore each engine is queried for a job before the job is submitted, and job
    numbers assigned since the backup are not reused.

    The action forget records jobs as failed that stay SUBMITTING or UNKNOWN, for example because their cluster no
    longer exists. It does not contact their engines, where they may still run: use supercloud cancel if the engine
    responds.
    """
    from ..errors import InputError

    names = names or []
    if action is StoreAction.FORGET:
        _forget_jobs(names, force)
        return
    count = 0 if action in (StoreAction.CHECK, StoreAction.PRUNE) else 1
    if len(names) != count:
        raise InputError(f"supercloud store {action} " + ("requires a file name" if count else "takes no file"))
    if action is StoreAction.CHECK:
        _check_integrity()
    elif action is StoreAction.BACKUP:
        _back_up(Path(names[0]))
    elif action is StoreAction.RESTORE:
        _restore(Path(names[0]))
    else:
        _prune(_parse_age(older))


def _forget_jobs(names: list[str], force: bool) -> None:
    """Record jobs as failed whose engine will never report an end; raises :class:`InputError` without numbers."""
    from ..errors import InputError
    from ..jobs.forgetting import forget
    from ..jobs.store.store import open_default_store

    job_ids = [_parse_job_id(name) for name in names]
    if not job_ids:
        raise InputError("supercloud store forget requires the number of a job; supercloud jobs lists them")
    for line in forget(open_default_store(), job_ids, force):
        print_result(line)


def _check_integrity() -> None:
    from ..jobs.integrity import check_integrity
    from ..jobs.store.store import open_default_store

    for path in check_integrity(open_default_store()):
        print_result(f"{path}: no damage found")


def _back_up(file: Path) -> None:
    from ..jobs.maintenance import back_up
    from ..jobs.store.store import open_default_store

    back_up(open_default_store(), file)
    print_result(f"{file} written")
    print_note(f"next: supercloud store restore {file}")


def _restore(file: Path) -> None:
    from ..jobs.maintenance import restore
    from ..jobs.store.database import locate_state_folder

    kept = restore(locate_state_folder().absolute(), file)
    done = f"{file} is restored" + (f"; the previous store is {kept}" if kept else "")
    with fall_back_to_stderr(f"supercloud: {done}"):
        print_result(done)
    print_note("next: supercloud jobs")


def _prune(age: float) -> None:
    """Delete jobs that ended longer ago than an age in seconds."""
    import time

    from ..jobs.maintenance import prune
    from ..jobs.store.store import open_default_store

    pruned = prune(open_default_store(), time.time() - age)
    if pruned.problem is None:  # which is reported below
        print_result(f"{pruned.pruned_jobs:,} job{'' if pruned.pruned_jobs == 1 else 's'} deleted")
    for line in pruned.kept_reasons:
        print_result(line)
    if pruned.problem:
        raise pruned.problem


def _parse_job_id(text: str) -> int:
    """The number of a job; raises :class:`InputError` for other text."""
    from ..errors import InputError

    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise InputError(f"{text!r} is not the number of a job; supercloud jobs lists them")
    return int(text)


def _parse_age(text: str) -> float:
    """Seconds of ``--older``; raises :class:`InputError` for a negative duration, which would mean the future."""
    from ..errors import InputError
    from ..primitives.quantity import Duration

    age = Duration(text).to("s")
    if age < 0:
        raise InputError(
            f"--older {text!r} is negative: every ended job would be deleted; use for "
            "example '180 d', or '0 d' to delete them all"
        )
    return age
