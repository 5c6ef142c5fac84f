"""``supercloud store``: look after the file that jobs are remembered in."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .output import fall_back_to_stderr, print_note, print_result

EPILOG = "Example: supercloud store backup jobs.backup · next: supercloud store restore jobs.backup"


class StoreAction(StrEnum):
    """What is done."""

    CHECK = "check"
    BACKUP = "backup"
    RESTORE = "restore"
    PRUNE = "prune"


def store(
    action: Annotated[StoreAction, typer.Argument(help="check, backup, restore or prune.")],
    file: Annotated[Path | None, typer.Argument(help="The backup: written by backup, read by restore.")] = None,
    older: Annotated[str, typer.Option(help="prune: forget jobs that ended longer ago than this.")] = "180 d",
) -> None:
    """Check the job store for damage, back it up, restore a backup, or forget old jobs with their logs and results.

    A backup has what is known about jobs, not their logs; engines keep their jobs whatever becomes of the store. A job
    that is forgotten leaves its key free, and no trace in fair shares and budgets. After a restore engines are asked
    whether they have a job before it is started, and numbers that were given out since the backup are not used again.
    """
    import time

    from ..errors import InputError
    from ..jobs import maintenance as upkeep
    from ..jobs.store.database import locate_state_folder
    from ..jobs.store.store import open_default_store

    if (file is None) != (action in (StoreAction.CHECK, StoreAction.PRUNE)):
        raise InputError(f"supercloud store {action} " + ("takes no file" if file else "needs the name of a file"))
    if action is StoreAction.RESTORE:
        assert file is not None
        kept = upkeep.restore(locate_state_folder().absolute(), file)
        done = f"{file} is restored" + (f"; the store of before is {kept}" if kept else "")
        with fall_back_to_stderr(f"supercloud: {done}"):
            print_result(done)
        print_note("next: supercloud jobs")
        return
    opened = open_default_store()
    if action is StoreAction.CHECK:
        opened.require_integrity()
        print_result(f"{opened.folder / 'jobs.db'}: no damage found")
    elif action is StoreAction.BACKUP:
        assert file is not None
        upkeep.back_up(opened, file)
        print_result(f"{file} written")
        print_note(f"next: supercloud store restore {file}")
    else:
        age = _parse_age(older)
        pruned = upkeep.prune(opened, time.time() - age)
        if pruned.problem is None:  # which says it, too
            print_result(f"{pruned.pruned_jobs:,} job{'' if pruned.pruned_jobs == 1 else 's'} forgotten")
        for line in pruned.kept_reasons:
            print_result(line)
        if pruned.problem:
            raise pruned.problem


def _parse_age(text: str) -> float:
    """Seconds of ``--older``; raises :class:`InputError` for a negative duration, which is later than now."""
    from ..errors import InputError
    from ..primitives.quantity import Duration

    age = Duration(text).to("s")
    if age < 0:
        raise InputError(
            f"--older {text!r} is negative: every job that has ended would be forgotten; write for "
            "example '180 d', or '0 d' to forget them all"
        )
    return age
