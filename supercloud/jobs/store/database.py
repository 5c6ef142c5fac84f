"""SQLite opened so that what was written stays written: every commit on the disk, versions with migrations.

It keeps a write-ahead log where only this machine writes to the file system. That log lives in memory shared by the
processes of one machine; on NFS, Lustre and other shared file systems it is a rollback journal instead.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import threading
import time
import weakref
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...errors import StoreError
from . import private_files as private
from .filesystems import is_shared

__all__ = [
    "Database",
    "StoreLockedError",
    "compute_checksum",
    "locate_state_folder",
    "require_checksum",
    "strip_advice",
]

# Bytes: up to the first a file is checked whole whenever it is opened, up to the second after an end that was not
# clean; beyond, ``serve`` and ``store check`` do it, for lists must come quickly.
_SMALL, _LARGE = 2 << 20, 64 << 20
_UNWRITABLE_ERRORS = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")
_LOCK_TIMEOUT = 10.0  # seconds another process may keep the write lock before we give up


class StoreLockedError(StoreError):
    """Another process has been writing for long: it will have ended some time."""


def locate_state_folder() -> Path:
    """Where jobs are remembered: $SUPERCLOUD_STATE, else ``supercloud`` in the user's state folder."""
    if named := os.environ.get("SUPERCLOUD_STATE"):
        return Path(named).absolute()
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    try:
        return Path(base).expanduser() / "supercloud"
    except RuntimeError:
        raise StoreError(
            f"where jobs are remembered is not known: neither HOME nor the password database says which "
            f"folder {base} is in; set SUPERCLOUD_STATE to a folder you can write"
        ) from None


class Database:
    """One file with a schema that only grows: ``migrations[n]`` takes version n to n + 1. Threads may share it.

    A file that is there but cannot be written to (the disk is full, or read-only) is opened for reading.
    """

    def __init__(self, path: Path, migrations: Sequence[str]):
        self.path = path
        self.write_error: StoreError | None = None
        """Why nothing can be written; None where it can."""
        self._lock, self._migrations = threading.RLock(), migrations
        with self._translate_errors():
            private.require_own_folder(path.parent)
            with contextlib.suppress(OSError):  # said better below
                private.create_private_file(path)
            self._open_as_possible()

    def reopen(self) -> None:
        """Open a file anew that could not be written, as it may be possible by now; raises :class:`StoreError`.

        Where that fails, it is as before: what can be read is read.
        """
        with self._lock, self._translate_errors():
            if self.write_error:
                self._require_file()
                self._open_as_possible()

    def _require_file(self) -> None:
        """Raise :class:`StoreError` where the file is gone: SQLite would make an empty one in its place."""
        if not _get_size(self.path):
            raise StoreError(f"{self.path} {_ERROR_DESCRIPTIONS['SQLITE_READONLY_DBMOVED']}")

    def _open_as_possible(self) -> None:
        try:
            self._open(self._migrations)
            self.write_error = None
        except sqlite3.OperationalError as error:
            name = getattr(error, "sqlite_errorname", "") or ""
            if not (name.startswith(_UNWRITABLE_ERRORS) and self.path.exists() and self.path.stat().st_size):
                raise
            self.write_error = StoreError(_describe_error(self.path, error))
            with self._readable(checked=True):
                pass

    @contextlib.contextmanager
    def _readable(self, checked: bool = False) -> Iterator[sqlite3.Connection]:
        """The connection. Of a file that cannot be written it is one for this block: it keeps all others out, also
        those that wait until they can write it.
        """
        if self.write_error is None:
            yield self._connection
            return
        self._require_file()
        self._open(self._migrations, read_only=True, checked=checked)
        try:
            yield self._connection
        finally:
            self._finalizer()

    def _open(self, migrations: Sequence[str], read_only: bool = False, checked: bool = True) -> None:
        unclean = _get_size(Path(f"{self.path}-wal")) > 0  # unless somebody else has it open
        self._connection = sqlite3.connect(
            self.path, timeout=_LOCK_TIMEOUT, isolation_level=None, check_same_thread=False
        )
        self._connection.row_factory = sqlite3.Row
        self._connection.create_function("checksum", -1, compute_checksum, deterministic=True)
        # whoever forgets to close it, or has it in a cache that drops it: it is closed with its last reference
        self._finalizer = weakref.finalize(self, _close, self._connection, os.getpid())
        with contextlib.ExitStack() as unless_ready:
            unless_ready.callback(self._finalizer)
            if read_only:  # exclusively: the index of the log is then kept in memory, and no file is made
                self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                self._connection.execute("PRAGMA query_only = ON")
            size = _get_size(self.path)
            if checked and (size <= _SMALL or (unclean and size <= _LARGE)):
                self._require_integrity(thorough=size <= _SMALL)
            if read_only and self._version() != len(migrations):
                raise self.write_error or StoreError(f"{self.path} cannot be written")
            if not read_only:
                self._migrate(migrations)
            unless_ready.pop_all()

    def require_integrity(self, thorough: bool = True) -> None:
        """Look for damage; raises :class:`StoreError` with what is damaged. Takes seconds for a gigabyte.

        ``thorough`` compares indexes with tables, too.
        """
        with self._lock, self._translate_errors(), self._readable():
            self._require_integrity(thorough)

    def _require_integrity(self, thorough: bool) -> None:
        try:
            found = self._connection.execute("PRAGMA integrity_check(3)" if thorough else "PRAGMA quick_check(3)")
            problems = [str(row[0]) for row in found.fetchall()]
        except UnicodeDecodeError:  # what is damaged is its description of the tables
            problems = ["names of tables or columns are no text"]
        if problems != ["ok"]:
            said = "; ".join(" ".join(line.split()) for line in problems)[:300]
            raise StoreError(f"{self.path} {_ERROR_DESCRIPTIONS['SQLITE_CORRUPT']} ({said})")

    def _migrate(self, migrations: Sequence[str]) -> None:
        shared = is_shared(self.path.parent)
        version = self._version()
        if version == len(migrations):
            if shared and self._get_journal_mode() == "wal":  # written before it was moved here
                self._set_journal_mode("delete")
            self._connection.execute("PRAGMA synchronous = FULL")
            return
        self._require_known_version(version, len(migrations))
        self._set_journal_mode("delete" if shared else "wal")
        self._connection.execute("PRAGMA synchronous = FULL")
        with self.transaction() as connection:
            version = self._version()  # another process may have been faster
            self._require_known_version(version, len(migrations))
            for migration in migrations[version:]:
                for statement in _split_statements(migration):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(migrations)}")

    def _get_journal_mode(self) -> str:
        return str(self._connection.execute("PRAGMA journal_mode").fetchone()[0])

    def _set_journal_mode(self, mode: str) -> None:
        # SQLite does not wait for others when it changes the journal's mode, so several first users collide here
        end = time.monotonic() + _LOCK_TIMEOUT
        while True:
            try:
                self._connection.execute(f"PRAGMA journal_mode = {mode}")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.01)

    def _require_known_version(self, version: int, known_version: int) -> None:
        if version > known_version:
            raise StoreError(
                f"{self.path} was written by a newer supercloud (format {version}, this one knows {known_version}); "
                "update supercloud, or set SUPERCLOUD_STATE to another folder"
            )

    def get_version(self) -> int:
        """Version of the schema in the file; 0 for a new one."""
        with self._lock, self._readable():
            return self._version()

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

    @contextlib.contextmanager
    def transaction(self, relaxed: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction that is on the disk when the block has been left; may be nested, the outermost counts.

        ``relaxed`` is for what can be asked for again: it survives the end of every process, not that of the machine.
        """
        with self._lock, self._translate_errors():
            if self.write_error:
                raise self.write_error
            if self._connection.in_transaction:
                yield self._connection
                return
            try:
                if relaxed:
                    self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:  # not so when the disk is full: SQLite itself has rolled back
                    self._connection.execute("ROLLBACK")
                if relaxed:
                    self._connection.execute("PRAGMA synchronous = FULL")

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows of a query."""
        with self._lock, self._translate_errors(), self._readable() as connection:
            try:
                return connection.execute(sql, values).fetchall()
            except sqlite3.OperationalError as error:
                if "decode to UTF-8" not in str(error):
                    raise
            # a damaged text: read all the same, so that checksums tell whose it is and all other rows are seen
            connection.text_factory = _decode
            try:
                return connection.execute(sql, values).fetchall()
            finally:
                connection.text_factory = str

    def copy_to(self, path: Path) -> None:
        """Copy all of it into another file, as it is at one moment."""
        with (
            self._lock,
            self._translate_errors(),
            self._readable() as mine,
            contextlib.closing(sqlite3.connect(path)) as other,
        ):
            mine.backup(other)

    def compact(self) -> None:
        """Give the space of what was deleted back to the disk; needs as much again while it works."""
        with self._lock, self._translate_errors():
            if self.write_error:
                raise self.write_error
            self._connection.execute("VACUUM")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._finalizer()

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "") or ""
            kind = StoreLockedError if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")) else StoreError
            raise kind(_describe_error(self.path, error)) from error


def _decode(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def compute_checksum(*values: object) -> int:
    """Of the columns of a row, as SQLite stores them."""
    return zlib.crc32(repr(values).encode(errors="surrogatepass"))


def require_checksum(row: sqlite3.Row) -> dict[str, Any]:
    """The columns of a row but its checksum, which must be right: raises :class:`ValueError` where it is damaged."""
    *values, expected = row
    if compute_checksum(*values) != expected:
        raise ValueError("its checksum is wrong")
    return dict(zip(row.keys(), values, strict=False))


def strip_advice(error: Exception) -> str:
    """An error without what is true of a single step only: that it may be repeated, as nothing was changed."""
    return re.sub(r"(; free some space and repeat)?[,;] nothing was changed$", "", str(error))


def _split_statements(text: str) -> Iterator[str]:
    """The statements of a migration; a trigger has semicolons inside."""
    statement = ""
    for part in text.split(";"):
        statement += part
        if not statement.strip() or sqlite3.complete_statement(statement + ";"):
            yield statement
            statement = ""
        else:
            statement += ";"
    yield statement


def _get_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _close(connection: sqlite3.Connection, process_id: int) -> None:
    """Close a connection, unless it was inherited by fork: SQLite forbids to use it there, even to close it."""
    if os.getpid() == process_id:
        connection.close()


def _describe_error(path: Path, error: sqlite3.Error) -> str:
    """What happened and what next, by SQLite's name of the error."""
    name = getattr(error, "sqlite_errorname", "") or ""
    for prefix, sentence in _ERROR_DESCRIPTIONS.items():
        if name.startswith(prefix):
            return f"{path} {sentence}"
    return f"{path}: {error}"


_RESTORE_HINT = "supercloud store restore FILE, or move it away: engines keep their jobs"
_ERROR_DESCRIPTIONS = {
    "SQLITE_BUSY": f"is locked: another process has been writing for {_LOCK_TIMEOUT:.0f} s; "
    "try again when it has ended",
    "SQLITE_LOCKED": "is locked by another transaction; try again",
    "SQLITE_FULL": "cannot grow: the disk is full; free some space and repeat, nothing was changed",
    "SQLITE_IOERR": "cannot be read or written: the disk reports an error or is full; nothing was changed",
    "SQLITE_NOTADB": f"is no job store: it is damaged, or something else; {_RESTORE_HINT}",
    "SQLITE_CORRUPT": f"is damaged; keep a copy, then {_RESTORE_HINT}",
    "SQLITE_READONLY_DBMOVED": "was moved or replaced while it was open; end this process and start it again",
    "SQLITE_READONLY": "cannot be written; set SUPERCLOUD_STATE to a folder you can write",
    "SQLITE_CANTOPEN": "cannot be opened; set SUPERCLOUD_STATE to a folder you can write",
}
