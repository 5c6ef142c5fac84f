"""Maintenance of the job store: check, backup, restore, and prune old jobs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError, StoreError
from .integrity import open_local_queue
from .runtime.epochs import build_engine_key, parse_record_key
from .store.database import Database, strip_advice
from .store.job_reader import parse_records
from .store.presence import lock_exclusively
from .store.records import JobRecord
from .store.schema import MIGRATIONS
from .store.states import FINAL_STATES
from .store.store import Store

__all__ = ["PruneResult", "back_up", "prune", "restore"]

_ID_MARGIN = 1_000_000  # job IDs that are skipped if it is unknown how many were assigned since the backup
_BATCH_SIZE = 500  # jobs deleted in one transaction, so that other processes can write in between
_AWAITED_SQL = "SELECT other FROM awaited JOIN jobs ON jobs.id = awaited.job WHERE jobs.state = 'HELD'"
_UNFINISHED_SUFFIX = ".new"  # suffix of incomplete files
_ABANDONED_SQL = "SELECT job FROM abandoned"
_FINAL_STATES_SQL = ", ".join(f"'{state}'" for state in sorted(FINAL_STATES))
_DUE_SQL = (
    f"state IN ({_FINAL_STATES_SQL}) AND ended < ? AND id NOT IN ({_AWAITED_SQL}) AND id NOT IN ({_ABANDONED_SQL})"
)


def back_up(store: Store, destination: Path) -> None:
    """Copy the store while other processes continue to write; the copy is consistent, and readable only by its owner.

    Raises :class:`InputError` if the file already exists, :class:`StoreError` if the store is damaged.
    """
    if destination.exists():
        raise InputError(f"{destination} already exists; specify a new file")
    try:
        # a private folder: others may write to the folder of the destination
        with tempfile.TemporaryDirectory(prefix=f".{destination.name}.", dir=destination.parent) as private_folder:
            new = Path(private_folder) / destination.name
            os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            store.copy_to(new)
            Database(new, MIGRATIONS).close()  # checked
            _sync(new)
            new.replace(destination)
        _sync(destination.parent)
    except OSError as error:
        raise InputError(
            f"{destination}: {error.strerror}; specify a file in a writable folder, on a disk with enough space"
        ) from None


def restore(folder: Path, source: Path) -> Path | None:
    """Replace the store with a backup; returns the path of the previous store, None if there was none.

    The store then lacks what happened since the backup. It is marked, so that engines are queried for jobs before they
    are submitted, and assigns no job ID that another job had.

    At every instant there is one complete store, the old or the new one: after a crash it can be repeated. Raises
    :class:`InputError` if the backup is invalid or damaged, :class:`StoreError` if a process uses the store.
    """
    if not source.is_file():
        raise InputError(f"{source} is not a file; specify a file written by supercloud store backup")
    path = folder / "jobs.db"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with lock_exclusively(folder):
            _remove_unfinished(path)
            new = path.with_name(f"{path.name}.{os.getpid()}{_UNFINISHED_SUFFIX}")
            try:
                _copy(source, new)
                _require_unused(path)
                _mark_restored(new, _find_highest_id(path))
                return _replace(path, new)
            finally:
                _remove_unfinished(path)
    except OSError as error:
        raise StoreError(
            f"{error.filename or folder}: {error.strerror}; nothing was restored, and the previous store is unchanged: "
            "free some space, or make the file or its folder accessible, then repeat"
        ) from None


def _copy(source: Path, new: Path) -> None:
    """Copy a backup, and check it; raises :class:`InputError` if it is invalid or damaged."""
    with (
        open(os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as backup,
        open(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as copy_file,
    ):
        _require_trusted(os.fstat(backup.fileno()), source)
        shutil.copyfileobj(backup, copy_file)
    _require_jobs(new, source)
    try:
        copy = Database(new, MIGRATIONS)
        copy.require_integrity()
        copy.close()
    except StoreError as error:
        raise InputError(f"{source} cannot be restored: {error}") from None


def _require_trusted(found: os.stat_result, source: Path) -> None:
    """Raise :class:`InputError` if another user can have written a backup: its jobs would run as this user."""
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{source} is not a file; specify a file written by supercloud store backup")
    if found.st_uid not in (os.geteuid(), 0):
        raise InputError(
            f"{source} belongs to user {found.st_uid}, its contents cannot be trusted; restore a copy that you own"
        )
    if found.st_mode & 0o022:
        raise InputError(
            f"{source} is writable by other users (mode {stat.S_IMODE(found.st_mode):04o}), its contents cannot be "
            f"trusted; if you trust it: chmod go-w {source}"
        )


def _remove_unfinished(path: Path) -> None:
    """Remove files that this restore, or one that was killed, left next to the store."""
    for left in path.parent.glob(f"{path.name}.*{_UNFINISHED_SUFFIX}*"):
        if re.fullmatch(r"[0-9]+\.new(-wal|-shm|-journal)?", left.name.removeprefix(f"{path.name}.")):
            left.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """Wait until a file, or the entries of a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _require_jobs(copy: Path, source: Path) -> None:
    """Raise if a file is not a job store; an empty file would become a store without jobs."""
    try:
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    except sqlite3.DatabaseError as error:
        raise InputError(f"{source} cannot be restored: {error}") from None
    if not version or "jobs" not in tables:
        raise InputError(f"{source} is not a job store; specify a file written by supercloud store backup")


def _replace(path: Path, new: Path) -> Path | None:
    """Keep the previous store under another name, and replace it with the new one, atomically."""
    kept = None
    if path.exists():
        kept = next(place for place in _iter_kept_names(path) if not os.path.lexists(place))
        logs = [suffix for suffix in ("-wal", "-journal") if Path(f"{path}{suffix}").exists()]
        for suffix in (*logs, ""):
            _link_or_copy(Path(f"{path}{suffix}"), Path(f"{kept}{suffix}"))
        _sync(path.parent)
        # SQLite has emptied the log of a store that it can read (:func:`_require_unused`). That of a damaged one must
        # not be found next to the new file, whose pages it would overwrite.
        for suffix in (*logs, "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        _sync(path.parent)
    _sync(new)
    new.replace(path)
    try:
        _sync(path.parent)
    except OSError as error:
        raise StoreError(
            f"{path} was replaced, but may be the previous store again after a power failure: {path.parent}: "
            f"{error.strerror}; the previous store is {kept or 'not there'}"
        ) from None
    return kept


def _link_or_copy(path: Path, destination: Path) -> None:
    """Create a hard link of a file; copy it if the file system does not support links."""
    try:
        os.link(path, destination)
    except FileExistsError:
        raise
    except OSError:
        try:
            shutil.copyfile(path, destination)
            destination.chmod(0o600)
            _sync(destination)
        except OSError:
            destination.unlink(missing_ok=True)  # an incomplete copy
            raise


def _mark_restored(copy: Path, highest_id: int | None) -> None:
    """Mark a store as restored: engines may have jobs that it lacks, and assigned job IDs are not free.

    ``highest_id`` is the highest job ID of the previous store, None if unknown.
    """
    database = Database(copy, MIGRATIONS)
    try:
        with database.transaction() as connection:
            last = int(connection.execute("SELECT coalesce(max(id), 0) FROM jobs").fetchone()[0])
            since = float(connection.execute("SELECT coalesce(max(at), 0) FROM events").fetchone()[0])
            connection.execute("INSERT INTO restores (at, since, last) VALUES (?, ?, ?)", (time.time(), since, last))
            known = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'").fetchone()
            highest = max(last, known[0] if known else 0)
            highest = highest + _ID_MARGIN if highest_id is None else max(highest, highest_id)
            connection.execute("DELETE FROM sqlite_sequence WHERE name = 'jobs'")
            connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('jobs', ?)", (highest,))
    finally:
        database.close()


def _find_highest_id(path: Path) -> int | None:
    """The highest job ID that a store assigned; None if it does not exist or is too damaged."""
    if not path.exists():
        return None
    try:
        with contextlib.closing(sqlite3.connect(path, timeout=0)) as connection:
            if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                return None
            row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'").fetchone()
            return int(row[0]) if row else 0
    except (sqlite3.Error, UnicodeDecodeError, ValueError, TypeError):
        return None


def _iter_kept_names(path: Path) -> Iterator[Path]:
    number = 1
    while True:
        yield path.with_name(f"{path.name}.before-{number}")
        number += 1


def _require_unused(path: Path) -> None:
    """Raise if a process has the store open: it would continue with the file that is moved away."""
    if not path.exists():
        return
    connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("ROLLBACK")
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            raise StoreError(
                f"{path} is in use; stop supercloud serve and other processes that use it, then repeat"
            ) from None
    except sqlite3.DatabaseError:
        pass  # it is damaged, which is a reason for a restore
    finally:
        connection.close()


@dataclass(frozen=True)
class PruneResult:
    """The result of pruning."""

    pruned_jobs: int
    kept_reasons: tuple[str, ...] = ()
    """The numbers of jobs kept on purpose, with reasons, one sentence each."""
    problem: StoreError | None = None
    """Why some were not deleted, with the work done and how to continue."""


def prune(store: Store, ended_before: float) -> PruneResult:
    """Delete jobs that ended before a date (seconds since 1970), with their histories and files.

    Their keys are free again. They no longer count in fair shares and budgets. If the disk is full it stops early, and
    reports the work done; jobs of the current batch may have lost their logs and results already.
    """
    total, damaged = 0, list[StoreError]()
    removed: list[JobRecord] = []  # files deleted, rows not yet
    try:
        for records in _iter_due(store, ended_before, damaged):
            removed = records
            # first, as that frees space, and while no other job has their keys
            _remove_files(store.folder, records)
            _delete(store, records)
            total += len(records)
            removed = []
    except StoreError as error:
        left = store.read(f"SELECT count(*) FROM jobs WHERE {_DUE_SQL}", (ended_before,))[0][0]
        gone = f", and {_format_job_count(len(removed))} of those lost logs and results here" if removed else ""
        problem = StoreError(
            f"{_format_job_count(total)} deleted, {left:,} not{gone}: {strip_advice(error)}; SQLite needs space for "
            "a journal "
            f"before it can delete rows: free some space on the disk of {store.folder}, then run supercloud store "
            "prune again"
        )
        return PruneResult(total, _describe_kept(store, ended_before, damaged), problem)
    failed = _prune_queue(store, ended_before) or (_compact(store) if total else "")
    return PruneResult(
        total,
        _describe_kept(store, ended_before, damaged),
        StoreError(f"{_format_job_count(total)} deleted; {failed}") if failed else None,
    )


def _iter_due(store: Store, ended_before: float, damaged: list[StoreError]) -> Iterator[list[JobRecord]]:
    """Jobs to delete, in batches; unreadable ones are kept, as their state is unknown."""
    last = 0
    while rows := store.read(
        f"SELECT * FROM jobs WHERE {_DUE_SQL} AND id > ? ORDER BY id LIMIT {_BATCH_SIZE}", (ended_before, last)
    ):
        last = rows[-1]["id"]
        if records := parse_records(rows, damaged):
            yield records


def _delete(store: Store, records: Sequence[JobRecord]) -> None:
    with store.transaction() as database:
        for table, column in (("watches", "job"), ("awaited", "job"), ("events", "job"), ("jobs", "id")):
            database.executemany(f"DELETE FROM {table} WHERE {column} = ?", [(record.id,) for record in records])


def _describe_kept(store: Store, ended_before: float, damaged: Sequence[StoreError]) -> tuple[str, ...]:
    ended = f"SELECT count(*) FROM jobs WHERE state IN ({_FINAL_STATES_SQL}) AND ended < ? AND id IN "
    awaited = store.read(ended + f"({_AWAITED_SQL})", (ended_before,))[0][0]
    abandoned = ended.replace("count(*)", "id") + f"({_ABANDONED_SQL}) ORDER BY id"
    given_up = [str(row["id"]) for row in store.read(abandoned, (ended_before,))]
    reasons = []
    if given_up:
        reasons.append(
            f"{_format_job_count(len(given_up))} kept: a launch of each was abandoned while its cluster did not "
            "respond and may still run there; supercloud serve cancels it when the cluster responds; if the cluster is "
            f"gone, run supercloud store forget {' '.join(given_up[:10])}{' …' if len(given_up) > 10 else ''}"
        )
    if awaited:
        reasons.append(f"{_format_job_count(awaited)} kept: a held job depends on each")
    return (*reasons, *(f"1 job kept: {error}" for error in damaged))


def _prune_queue(store: Store, ended_before: float) -> str:
    """Delete such jobs of the local engine whose records are deleted; returns why that failed, or an empty text.

    The store may not have seen yet how a job ended: only the queue has its outcome then.
    """
    try:
        queue = open_local_queue(store.folder)
        if queue is None:
            return ""
        with contextlib.closing(queue):
            keys = queue.list_ended_keys(ended_before)
            for start in range(0, len(keys), _BATCH_SIZE):
                queue.delete_ended(_select_unrecorded(store, keys[start : start + _BATCH_SIZE]), ended_before)
    except StoreError as error:
        return f"the local engine has not deleted its jobs: {strip_advice(error)}; run supercloud store prune again"
    return ""


def _select_unrecorded(store: Store, engine_keys: Sequence[str]) -> list[str]:
    """Those of an engine's keys that belong to no record of the store, in any launch."""
    names = {key: {key, parse_record_key(key)} for key in engine_keys}
    recorded = {
        row["key"]
        for row in store.read(
            "SELECT key FROM jobs WHERE key IN (SELECT value FROM json_each(?))",
            (json.dumps(sorted(set().union(*names.values()))),),
        )
    }
    return [key for key in engine_keys if not names[key] & recorded]


def _compact(store: Store) -> str:
    """Release the disk space of deleted jobs; returns why that failed, or an empty text."""
    try:
        store.compact()
    except StoreError as error:
        return (
            f"their space in {store.folder / 'jobs.db'} is free for other jobs, but not released to the disk: "
            f"{strip_advice(error)}; that requires as much free space as the size of the file"
        )
    return ""


def _format_job_count(count: int) -> str:
    return f"{count:,} job{'' if count == 1 else 's'}"


def _remove_files(folder: Path, records: Iterable[JobRecord]) -> None:
    """Remove the files of jobs that engines keep here: scripts, logs, results."""
    for record in records:
        for launch in range(record.launch + 1):
            for place in ("local/runs", "slurm", "kubernetes"):
                shutil.rmtree(folder / place / build_engine_key(record.key, launch), ignore_errors=True)
