"""The lock of processes that have a store open: a restore moves the file away, and they would continue with the old
one.

SQLite itself detects this only for a write-ahead log: with a rollback journal, on shared file systems, an open file
holds no lock between two transactions.
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
_LOCK_TIMEOUT = 10.0  # seconds: a restore takes less


class StoreLock:
    """While it is open, no backup is restored. Has no effect if the file system does not support locks."""

    def __init__(self, folder: Path):
        handle = _open_lock_file(folder)
        self.close = weakref.finalize(self, _close, handle, os.getpid())
        end = time.monotonic() + _LOCK_TIMEOUT
        while not _try_lock(handle, fcntl.LOCK_SH):
            if time.monotonic() > end:
                self.close()
                raise StoreLockedError(
                    f"{folder}: supercloud store restore is running there; try again when it has ended"
                )
            time.sleep(0.01)


@contextlib.contextmanager
def lock_exclusively(folder: Path) -> Iterator[None]:
    """Lock the store while it is moved away; raises :class:`StoreError` if a process has it open, here or elsewhere."""
    handle = _open_lock_file(folder)
    try:
        if not _try_lock(handle, fcntl.LOCK_EX):
            raise StoreError(f"{folder} is in use; stop supercloud serve and other processes that use it, then repeat")
        yield
    finally:
        _close(handle, os.getpid())


def _open_lock_file(folder: Path) -> int | None:
    """The lock file; None if it cannot be created: the disk is full or read-only."""
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
        pass  # no lock support: SQLite, which needs locks too, reports it if it matters
    return True


def _close(handle: int | None, process_id: int) -> None:
    """Release the lock; a process that inherited it by fork shares the lock of its parent, and keeps it."""
    if handle is not None and os.getpid() == process_id:
        os.close(handle)
