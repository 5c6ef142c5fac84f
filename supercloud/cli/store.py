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


def store(
    action: Annotated[StoreAction, typer.Argument(help="Action: check, backup, restore or prune.")],
    file: Annotated[Path | None, typer.Argument(help="Backup file: written by backup, read by restore.")] = None,
    older: Annotated[str, typer.Option(help="prune: delete jobs that ended longer ago than this.")] = "180 d",
) -> None:
    """Check the job store for damage, back it up, restore a backup, or delete old jobs with their logs and results.

    A backup contains the job records, not logs; jobs of engines are not affected. The key of a deleted job can be
    used again, and the job no longer counts in fair shares and budgets. After a restore each engine is queried for a
    job before the job is submitted, and job numbers assigned since the backup are not reused.
    """
    import time

    from ..errors import InputError
    from ..jobs import maintenance as upkeep
    from ..jobs.store.database import locate_state_folder
    from ..jobs.store.store import open_default_store

    if (file is None) != (action in (StoreAction.CHECK, StoreAction.PRUNE)):
        raise InputError(f"supercloud store {action} " + ("takes no file" if file else "requires a file name"))
    if action is StoreAction.RESTORE:
        assert file is not None
        kept = upkeep.restore(locate_state_folder().absolute(), file)
        done = f"{file} is restored" + (f"; the previous store is {kept}" if kept else "")
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
        if pruned.problem is None:  # which is reported below
            print_result(f"{pruned.pruned_jobs:,} job{'' if pruned.pruned_jobs == 1 else 's'} deleted")
        for line in pruned.kept_reasons:
            print_result(line)
        if pruned.problem:
            raise pruned.problem


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
