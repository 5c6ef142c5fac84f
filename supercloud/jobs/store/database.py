"""SQLite with durable commits and schema migrations.

It uses a write-ahead log if only this machine writes to the file system. The index of that log is in memory shared by
the processes of one machine; on NFS, Lustre and other shared file systems a rollback journal is used instead.
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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ...errors import StoreError
from . import private_files as private
from .filesystems import is_shared
from .snapshots import copy_pages
from .unwritable import LOCKED_ERRORS, OPENING_LOCK, UNWRITABLE_ERRORS, get_error_name, read_unwritable

__all__ = [
    "Database",
    "StoreLockedError",
    "compute_checksum",
    "locate_state_folder",
    "require_checksum",
    "strip_advice",
]

Result = TypeVar("Result")

# Bytes: up to the first size a file is checked completely whenever it is opened, up to the second after an unclean
# shutdown; larger files are checked by ``serve`` and ``store check``, as lists must be fast.
_SMALL, _LARGE = 2 << 20, 64 << 20
_RESTORE_HINT = "supercloud store restore FILE, or move the file away: engines keep their jobs"
_LOCK_TIMEOUT = 10.0  # maximum seconds to wait for the write lock of another process


class StoreLockedError(StoreError):
    """Another process holds the write lock for long; a later attempt may succeed."""


def locate_state_folder() -> Path:
    """The folder of the job store: $SUPERCLOUD_STATE, else ``supercloud`` in the user's state folder.

    Raises :class:`StoreError` if it cannot be determined.
    """
    if named := os.environ.get("SUPERCLOUD_STATE"):
        return Path(named).absolute()
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    try:
        return Path(base).expanduser() / "supercloud"
    except RuntimeError:
        raise StoreError(
            "cannot determine the state folder: neither HOME nor the password database specifies "
            f"the folder of {base}; set SUPERCLOUD_STATE to a writable folder"
        ) from None


class Database:
    """One file with a schema that only grows: ``migrations[n]`` takes version n to n + 1. Threads may share it.

    An existing file that cannot be written (disk full or read-only) is opened for reading. ``content`` is what the file
    is, ``repair`` what to do if it is damaged, in messages.
    """

    def __init__(
        self, path: Path, migrations: Sequence[str], content: str = "a job store", repair: str = _RESTORE_HINT
    ):
        self.path, self._content, self._repair = path, content, repair
        self.write_error: StoreError | None = None
        """Why the file cannot be written; None if it can."""
        self._lock, self._migrations = threading.RLock(), migrations
        self._finalizer: Callable[[], Any] = _do_nothing
        with self._translate_errors():
            private.require_own_folder(path.parent)
            with contextlib.suppress(OSError):  # reported in more detail below
                private.create_private_file(path)
            self._open_as_possible()

    def reopen(self) -> None:
        """Reopen a file that could not be written, as it may be possible now; raises :class:`StoreError`.

        If that fails, the file stays open for reading.
        """
        with self._lock, self._translate_errors():
            if self.write_error:
                self._require_file()
                self._open_as_possible()

    def _require_file(self) -> None:
        """Raise :class:`StoreError` if the file is gone: SQLite would create an empty one."""
        if not _get_size(self.path):
            raise StoreError(self._describe_problem("SQLITE_READONLY_DBMOVED"))

    def _open_as_possible(self) -> None:
        if _get_size(self.path) and not os.access(self.path, os.W_OK):
            # SQLite would open it, and fail only at the first write
            self.write_error = StoreError(self._describe_problem("SQLITE_READONLY"))
        else:
            try:
                with OPENING_LOCK:
                    self._open()
                self.write_error = None
                return
            except sqlite3.OperationalError as error:
                if not (get_error_name(error).startswith(UNWRITABLE_ERRORS) and _get_size(self.path)):
                    raise
                self.write_error = StoreError(self._describe_error(error))
        self._run(self._require_readable)

    def _run(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        """Call ``work``, which reads, with the connection; for a file that cannot be written, with a separate
        connection.
        """
        if self.write_error is None:
            return work(self._connection)
        self._require_file()
        return read_unwritable(self.path, lambda uri: self._connect(uri, timeout=0.0), work, _LOCK_TIMEOUT)

    def _connect(self, database: Path | str, timeout: float) -> sqlite3.Connection:
        """Connect to a file, or to the URI of one; ``timeout`` is the number of seconds that SQLite waits for locks."""
        connection = sqlite3.connect(
            database, timeout=timeout, isolation_level=None, check_same_thread=False, uri=isinstance(database, str)
        )
        connection.row_factory = sqlite3.Row
        connection.create_function("checksum", -1, compute_checksum, deterministic=True)
        return connection

    def _open(self) -> None:
        unclean = self._has_log()
        self._connection = self._connect(self.path, _LOCK_TIMEOUT)
        # closed with its last reference, also if it was not closed explicitly or was dropped from a cache
        self._finalizer = weakref.finalize(self, _close, self._connection, os.getpid())
        with contextlib.ExitStack() as unless_ready:
            unless_ready.callback(self._finalizer)
            self._require_integrity_on_open(self._connection, unclean)
            self._migrate(self._migrations)
            unless_ready.pop_all()

    def _has_log(self) -> bool:
        """Whether the last shutdown was unclean, unless another process has the file open."""
        return _get_size(Path(f"{self.path}-wal")) > 0

    def _require_readable(self, connection: sqlite3.Connection) -> None:
        """Raise :class:`StoreError` if an unwritable file is damaged, or of another version."""
        self._require_integrity_on_open(connection, self._has_log())
        version = _get_version(connection)
        self._require_known_version(version, len(self._migrations))
        if version != len(self._migrations):
            raise self.write_error or StoreError(f"{self.path} cannot be written")

    def _require_integrity_on_open(self, connection: sqlite3.Connection, unclean: bool) -> None:
        size = _get_size(self.path)
        if size <= _SMALL or (unclean and size <= _LARGE):
            self._require_integrity(connection, thorough=size <= _SMALL)

    def require_integrity(self, thorough: bool = True) -> None:
        """Check for damage; raises :class:`StoreError` with the damage found. Takes seconds per gigabyte.

        ``thorough`` also compares indexes with tables.
        """
        with self._lock, self._translate_errors():
            self._run(lambda connection: self._require_integrity(connection, thorough))

    def _require_integrity(self, connection: sqlite3.Connection, thorough: bool) -> None:
        try:
            found = connection.execute("PRAGMA integrity_check(3)" if thorough else "PRAGMA quick_check(3)")
            problems = [str(row[0]) for row in found.fetchall()]
        except UnicodeDecodeError:  # the schema of the tables is damaged
            problems = ["names of tables or columns are not valid text"]
        if problems != ["ok"]:
            problem_text = "; ".join(" ".join(line.split()) for line in problems)[:300]
            raise StoreError(self._describe_problem("SQLITE_CORRUPT", f" ({problem_text})"))

    def _migrate(self, migrations: Sequence[str]) -> None:
        shared = is_shared(self.path.parent)
        version = _get_version(self._connection)
        if version == len(migrations):
            if shared and self._get_journal_mode() == "wal":  # created before it was moved here
                self._set_journal_mode("delete")
            self._connection.execute("PRAGMA synchronous = FULL")
            return
        self._require_known_version(version, len(migrations))
        self._set_journal_mode("delete" if shared else "wal")
        self._connection.execute("PRAGMA synchronous = FULL")
        with self.transaction() as connection:
            version = _get_version(connection)  # another process may have been faster
            self._require_known_version(version, len(migrations))
            for migration in migrations[version:]:
                for statement in _split_statements(migration):
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(migrations)}")

    def _get_journal_mode(self) -> str:
        return str(self._connection.execute("PRAGMA journal_mode").fetchone()[0])

    def _set_journal_mode(self, mode: str) -> None:
        # SQLite does not wait for locks when it changes the journal mode, so several first users collide here
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
                f"{self.path} was written by a newer supercloud (format {version}, supported: {known_version}); "
                "update supercloud, or set SUPERCLOUD_STATE to another folder"
            )

    def get_version(self) -> int:
        """Version of the schema in the file; 0 for a new one.

        Raises :class:`StoreError` if the file was moved or cannot be read.
        """
        with self._lock, self._translate_errors():
            return self._run(_get_version)

    @contextlib.contextmanager
    def transaction(self, relaxed: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction that is durable at the end of the block; may be nested, the outermost commits.

        ``relaxed`` is for data that can be queried again: it survives the end of any process, but not a power failure.
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
                if self._connection.in_transaction:  # not if the disk is full: SQLite has rolled back already
                    self._connection.execute("ROLLBACK")
                if relaxed:
                    self._connection.execute("PRAGMA synchronous = FULL")

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[sqlite3.Row]:
        """All rows of a query.

        Raises :class:`StoreError` if the file was moved or cannot be read.
        """
        with self._lock, self._translate_errors():
            return self._run(lambda connection: _fetch_all(connection, sql, values))

    def copy_to(self, path: Path) -> None:
        """Copy a consistent snapshot into another file.

        Raises :class:`StoreError` if this file cannot be read, and :class:`OSError` if the other cannot be written.
        """
        with self._lock, self._translate_errors(), contextlib.closing(sqlite3.connect(path)) as other:
            self._run(lambda connection: copy_pages(connection, other))

    def compact(self) -> None:
        """Release the disk space of deleted rows; temporarily needs as much additional space."""
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
            kind = StoreLockedError if get_error_name(error).startswith(LOCKED_ERRORS) else StoreError
            raise kind(self._describe_error(error)) from error

    def _describe_error(self, error: sqlite3.Error) -> str:
        """The problem and its fix, by SQLite's name of the error."""
        name = get_error_name(error)
        found = next((prefix for prefix in _ERROR_DESCRIPTIONS if name.startswith(prefix)), None)
        return self._describe_problem(found) if found else f"{self.path}: {error}"

    def _describe_problem(self, name: str, detail: str = "") -> str:
        sentence = _ERROR_DESCRIPTIONS[name].format(content=self._content, detail=detail, repair=self._repair)
        return f"{self.path} {sentence}"


def _get_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _fetch_all(connection: sqlite3.Connection, sql: str, values: Sequence[Any]) -> list[sqlite3.Row]:
    try:
        return connection.execute(sql, values).fetchall()
    except sqlite3.OperationalError as error:
        if "decode to UTF-8" not in str(error):
            raise
    # a damaged text: read nevertheless, so that checksums identify its row and all other rows are read
    connection.text_factory = _decode
    try:
        return connection.execute(sql, values).fetchall()
    finally:
        connection.text_factory = str


def _decode(data: bytes) -> str:
    return data.decode(errors="surrogateescape")


def compute_checksum(*values: object) -> int:
    """The checksum of the columns of a row, as SQLite stores them."""
    return zlib.crc32(repr(values).encode(errors="surrogatepass"))


def require_checksum(row: sqlite3.Row) -> dict[str, Any]:
    """The columns of a row without its checksum; raises :class:`ValueError` if the checksum does not match."""
    *values, expected = row
    if compute_checksum(*values) != expected:
        raise ValueError("its checksum does not match")
    return dict(zip(row.keys(), values, strict=False))


def strip_advice(error: Exception) -> str:
    """An error without the advice for a single step: that it can be repeated, as nothing was changed."""
    return re.sub(r"(; free some space and repeat)?[,;] nothing was changed$", "", str(error))


def _split_statements(text: str) -> Iterator[str]:
    """The statements of a migration; a trigger contains semicolons."""
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


def _do_nothing() -> None:
    """The finalizer of a file that was never opened for writing."""


def _close(connection: sqlite3.Connection, process_id: int) -> None:
    """Close a connection, unless it was inherited by fork: SQLite forbids using it there, even closing it."""
    if os.getpid() == process_id:
        connection.close()


_LOCKED = f"is locked: another process has been writing for {_LOCK_TIMEOUT:.0f} s; try again when it has ended"
_ERROR_DESCRIPTIONS = {
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_PROTOCOL": _LOCKED,
    "SQLITE_READONLY_CANTINIT": _LOCKED,
    "SQLITE_READONLY_RECOVERY": _LOCKED,
    "SQLITE_LOCKED": "is locked by another transaction; try again",
    "SQLITE_FULL": "cannot grow: the disk is full; free some space and repeat, nothing was changed",
    "SQLITE_IOERR": "cannot be read or written: the disk reports an error or is full; nothing was changed",
    "SQLITE_NOTADB": "is not {content}: damaged, or another kind of file; keep a copy, then {repair}",
    "SQLITE_CORRUPT": "is damaged{detail}; keep a copy, then {repair}",
    "SQLITE_READONLY_DBMOVED": "was moved or replaced while it was open; end this process and start it again",
    "SQLITE_READONLY_ROLLBACK": "has changes in a log file that can only be read on a writable file system; copy "
    "its folder to another disk, and set SUPERCLOUD_STATE to the copy",
    "SQLITE_READONLY": "cannot be written: its file system is read-only, or its mode forbids it; set SUPERCLOUD_STATE "
    "to a writable folder",
    "SQLITE_CANTOPEN": "cannot be opened; set SUPERCLOUD_STATE to a writable folder",
}
