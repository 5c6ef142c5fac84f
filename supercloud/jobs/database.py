"""SQLite opened so that what was written stays written: every commit on the disk, versions with migrations.

It keeps a write-ahead log where only this machine writes to the file system. That log lives in memory shared by the
processes of one machine; on NFS, Lustre and other shared file systems it is a rollback journal instead.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import StoreError
from .filesystems import is_shared

__all__ = ["Database", "state_folder"]

_PATIENCE = 10.0  # seconds another process may keep the write lock before we give up


def state_folder() -> Path:
    """Where jobs are remembered: $SUPERCLOUD_STATE, else ``supercloud`` in the user's state folder."""
    if named := os.environ.get("SUPERCLOUD_STATE"):
        return Path(named).absolute()
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "supercloud"


class Database:
    """One file with a schema that only grows: ``migrations[n]`` takes version n to n + 1. Threads may share it."""

    def __init__(self, path: Path, migrations: Sequence[str]):
        self.path = path
        self._lock = threading.RLock()
        with self._said():
            try:
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            except OSError as error:
                raise StoreError(
                    f"{path.parent}: {error.strerror}; set SUPERCLOUD_STATE to a folder you can write"
                ) from None
            self._connection = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
            self._connection.row_factory = sqlite3.Row
            # whoever forgets to close it, or has it in a cache that drops it: it is closed with its last reference
            self._finalizer = weakref.finalize(self, _close, self._connection, os.getpid())
            with contextlib.ExitStack() as unless_ready:
                unless_ready.callback(self._finalizer)
                self._prepare(migrations)
                unless_ready.pop_all()

    def _prepare(self, migrations: Sequence[str]) -> None:
        shared = is_shared(self.path.parent)
        version = self.version()
        if version == len(migrations):
            if shared and self._journal() == "wal":  # written before it was moved here
                self._set_journal("delete")
            self._connection.execute("PRAGMA synchronous = FULL")
            return
        self._refuse_newer(version, len(migrations))
        self._set_journal("delete" if shared else "wal")
        self._connection.execute("PRAGMA synchronous = FULL")
        with self.writing() as connection:
            version = self.version()  # another process may have been faster
            self._refuse_newer(version, len(migrations))
            for migration in migrations[version:]:
                for statement in migration.split(";"):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(migrations)}")

    def _journal(self) -> str:
        return str(self._connection.execute("PRAGMA journal_mode").fetchone()[0])

    def _set_journal(self, mode: str) -> None:
        # SQLite does not wait for others when it changes the journal's mode, so several first users collide here
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self._connection.execute(f"PRAGMA journal_mode = {mode}")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def _refuse_newer(self, version: int, known: int) -> None:
        if version > known:
            raise StoreError(
                f"{self.path} was written by a newer supercloud (format {version}, this one knows {known}); "
                "update supercloud, or set SUPERCLOUD_STATE to another folder"
            )

    def version(self) -> int:
        """Version of the schema in the file; 0 for a new one."""
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    @contextlib.contextmanager
    def writing(self, soon: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction that is on the disk when the block has been left; may be nested, the outermost counts.

        ``soon`` is for what can be asked for again: it survives the end of every process, not that of the machine.
        """
        with self._lock, self._said():
            if self._connection.in_transaction:
                yield self._connection
                return
            try:
                if soon:
                    self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:  # not so when the disk is full: SQLite itself has rolled back
                    self._connection.execute("ROLLBACK")
                if soon:
                    self._connection.execute("PRAGMA synchronous = FULL")

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows of a query."""
        with self._lock, self._said():
            return self._connection.execute(sql, values).fetchall()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._finalizer()

    @contextlib.contextmanager
    def _said(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(_sentence(self.path, error)) from error


def _close(connection: sqlite3.Connection, process: int) -> None:
    """Close a connection, unless it was inherited by fork: SQLite forbids to use it there, even to close it."""
    if os.getpid() == process:
        connection.close()


def _sentence(path: Path, error: sqlite3.Error) -> str:
    """What happened and what next, by SQLite's name of the error."""
    name = getattr(error, "sqlite_errorname", "") or ""
    for prefix, sentence in _SENTENCES.items():
        if name.startswith(prefix):
            return f"{path} {sentence}"
    return f"{path}: {error}"


_SENTENCES = {
    "SQLITE_BUSY": f"is locked: another process has been writing for {_PATIENCE:.0f} s; try again when it has ended",
    "SQLITE_LOCKED": "is locked by another transaction; try again",
    "SQLITE_FULL": "cannot grow: the disk is full; free some space and repeat, nothing was changed",
    "SQLITE_IOERR": "cannot be read or written: the disk reports an error or is full; nothing was changed",
    "SQLITE_NOTADB": "is no job store: it is damaged, or something else; move it away, engines keep their jobs",
    "SQLITE_CORRUPT": "is damaged; keep a copy, then restore a backup or move it away, engines keep their jobs",
    "SQLITE_READONLY": "cannot be written; set SUPERCLOUD_STATE to a folder you can write",
    "SQLITE_CANTOPEN": "cannot be opened; set SUPERCLOUD_STATE to a folder you can write",
}
