"""Who has a store open: restoring a copy moves the file away, and whoever had it open would go on with the old one.

SQLite itself tells only of a write-ahead log: with a rollback journal, on shared file systems, an open file holds no
lock between two transactions.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

from ...errors import StoreError
from .database import StoreLockedError

__all__ = ["StoreLock", "lock_exclusively"]

_LOCK_NAME = "jobs.lock"
_LOCK_TIMEOUT = 10.0  # seconds: a copy is put back in less


class StoreLock:
    """As long as it is open, no copy is restored. Holds nothing where the file system has no locks."""

    def __init__(self, folder: Path):
        handle = _open_lock_file(folder)
        self.close = weakref.finalize(self, _close, handle, os.getpid())
        end = time.monotonic() + _LOCK_TIMEOUT
        while not _try_lock(handle, fcntl.LOCK_SH):
            if time.monotonic() > end:
                self.close()
                raise StoreLockedError(
                    f"{folder}: supercloud store restore is at work there; try again when it has ended"
                )
            time.sleep(0.01)


@contextlib.contextmanager
def lock_exclusively(folder: Path) -> Iterator[None]:
    """Around moving the store away; raises :class:`StoreError` where a process has it open, here or elsewhere."""
    handle = _open_lock_file(folder)
    try:
        if not _try_lock(handle, fcntl.LOCK_EX):
            raise StoreError(f"{folder} is in use; end supercloud serve and what else uses it, then repeat")
        yield
    finally:
        _close(handle, os.getpid())


def _open_lock_file(folder: Path) -> int | None:
    """The lock's file; None where it cannot be made: the disk is full or read-only."""
    for flags in (os.O_RDWR | os.O_CREAT, os.O_RDONLY):
        with contextlib.suppress(OSError):
            return os.open(folder / _LOCK_NAME, flags | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    return None


def _try_lock(handle: int | None, operation: int) -> bool:
    try:
        if handle is not None:
            fcntl.flock(handle, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # there are no locks here: SQLite, which needs some too, says so where it matters
    return True


def _close(handle: int | None, process_id: int) -> None:
    """Let go; a process that inherited it by fork has the lock of its parent, and leaves it."""
    if handle is not None and os.getpid() == process_id:
        os.close(handle)
