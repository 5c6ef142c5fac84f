"""Reading an SQLite file that cannot be written because the disk is full or the file system is read-only.

Even for reading, SQLite creates or enlarges the index of the write-ahead log (``-shm``). There are two alternatives:

* ``readonly_shm`` reads the existing index, or builds one in memory if no process maintains the index. It needs a file
  of that name, even an empty one: an attempt to open the database for writing on a full disk leaves one.
* Without such a file, as on a read-only file system, all data is in the database itself, unless a log has content.
  It is then read as ``immutable``. SQLite takes no locks for that, so the files are compared before and after.
"""

from __future__ import annotations

import contextlib
import os
import random
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from ...errors import StoreError

__all__ = ["LOCKED_ERRORS", "OPENING_LOCK", "UNWRITABLE_ERRORS", "get_error_name", "read_unwritable"]

Result = TypeVar("Result")

LOCKED_ERRORS = (
    "SQLITE_BUSY",
    "SQLITE_LOCKED",
    "SQLITE_PROTOCOL",
    "SQLITE_READONLY_CANTINIT",
    "SQLITE_READONLY_RECOVERY",
)
"""Prefixes of the names of errors that end when another process ends."""

UNWRITABLE_ERRORS = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")
"""The same of a full disk, a read-only file system, or a disk that fails."""

OPENING_LOCK = threading.RLock()
"""Held while a file is opened for writing or read here. The connections of a process share their state of the index of
a file: a connection opened for writing next to a reader could never write.
"""


class _ChangedError(sqlite3.OperationalError):
    sqlite_errorname = "SQLITE_BUSY"


class _UnreadableLogError(sqlite3.OperationalError):
    sqlite_errorname = "SQLITE_READONLY_ROLLBACK"


def get_error_name(error: sqlite3.Error) -> str:
    """SQLite's name of an error; empty for errors of Python's module."""
    return getattr(error, "sqlite_errorname", "") or ""


def read_unwritable(
    path: Path,
    connect: Callable[[str], sqlite3.Connection],
    work: Callable[[sqlite3.Connection], Result],
    timeout: float,
) -> Result:
    """Call ``work`` with a connection that reads the file, and return what it returns.

    ``connect`` opens a URI without waiting for locks. While other processes lock the file, it is closed and reopened
    for up to ``timeout`` seconds, so that no two processes wait for each other; ``work`` may be called several times.
    Raises :class:`sqlite3.Error`.
    """
    end = time.monotonic() + timeout
    while True:
        try:
            with OPENING_LOCK:
                return _read_once(path, connect, work)
        except sqlite3.OperationalError as error:
            if not get_error_name(error).startswith(LOCKED_ERRORS) or time.monotonic() > end:
                raise
        time.sleep(random.uniform(0.001, 0.02))


def _read_once(
    path: Path, connect: Callable[[str], sqlite3.Connection], work: Callable[[sqlite3.Connection], Result]
) -> Result:
    uri = f"file:{quote(os.fsencode(path))}?mode=ro"
    before = _stat_files(path)
    try:
        with contextlib.closing(connect(f"{uri}&readonly_shm=1")) as connection:
            return work(connection)
    except sqlite3.OperationalError as error:
        if not get_error_name(error).startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY_ROLLBACK")):
            raise
    try:
        if any(before[suffix][1] for suffix in ("-wal", "-journal")):
            raise _UnreadableLogError
        with contextlib.closing(connect(f"{uri}&immutable=1")) as connection:
            result = work(connection)
    except (sqlite3.Error, StoreError) as error:
        if _stat_files(path) != before:
            raise _ChangedError from error
        raise
    if _stat_files(path) != before:
        raise _ChangedError
    return result


def _stat_files(path: Path) -> dict[str, tuple[int, int, int]]:
    """Inode, size and modification time of a database and of its journal files, by suffix; zeros if a file does not
    exist.
    """
    found = {}
    for suffix in ("", "-wal", "-shm", "-journal"):
        try:
            status = os.stat(f"{path}{suffix}")
            found[suffix] = (status.st_ino, status.st_size, status.st_mtime_ns)
        except OSError:
            found[suffix] = (0, 0, 0)
    return found
