from __future__ import annotations

import contextlib
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from supercloud.errors import StoreError
from supercloud.jobs.engines.base import open_engine
from supercloud.jobs.engines.local.engine import LocalEngine
from supercloud.jobs.store import database
from supercloud.jobs.store.database import Database, locate_state_folder
from supercloud.jobs.store.unwritable import read_unwritable
from supercloud.spec.fleet import Connection

TABLE = ("CREATE TABLE things (name TEXT)",)


def open_and_close(path: Path, migrations: tuple[str, ...] = TABLE) -> None:
    Database(path, migrations).close()


def test_migrations_are_applied_once_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    open_and_close(path)
    later = Database(path, (*TABLE, "ALTER TABLE things ADD COLUMN size INTEGER; CREATE INDEX names ON things (name)"))
    assert later.get_version() == 2
    assert later.read("SELECT name, size FROM things") == []
    later.close()


def test_a_newer_file_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    open_and_close(path, (*TABLE, "CREATE TABLE more (a)"))
    with pytest.raises(StoreError, match="newer supercloud.*format 2, supported: 1"):
        open_and_close(path)


@pytest.mark.parametrize("spoil", [b"this is something else" * 40, b"SQLite format 3\0" + b"x" * 5000])
def test_a_damaged_file_is_reported_as_damaged(tmp_path: Path, spoil: bytes) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(spoil)
    with pytest.raises(StoreError, match="damaged"):
        open_and_close(path)
    assert path.read_bytes() == spoil


@pytest.mark.parametrize("checked", [True, False])
def test_internal_damage_is_found_on_opening_or_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checked: bool
) -> None:
    path = tmp_path / "a.db"
    full = Database(path, TABLE)
    with full.transaction() as connection:
        connection.executemany("INSERT INTO things VALUES (?)", [("x" * 500,)] * 200)
    full.close()
    data = bytearray(path.read_bytes())
    data[4096 * 2 : 4096 * 6] = b"\xff" * 4096 * 4
    path.write_bytes(data)
    if checked:
        with pytest.raises(StoreError, match="damaged"):
            Database(path, TABLE)
        return
    monkeypatch.setattr(database, "_SMALL", 0)  # as a large one, which is not looked through whenever it is opened
    hurt = Database(path, TABLE)
    with pytest.raises(StoreError, match="damaged"):
        hurt.read("SELECT * FROM things ORDER BY name")
    hurt.close()


def test_a_locked_file_is_waited_for_then_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.db"
    open_and_close(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    monkeypatch.setattr(database, "_LOCK_TIMEOUT", 0.05)
    patient = Database(path, TABLE)
    with pytest.raises(StoreError, match="locked"), patient.transaction():
        pass
    other.execute("ROLLBACK")
    with patient.transaction() as connection:
        connection.execute("INSERT INTO things VALUES ('a')")
    patient.close()
    other.close()


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    full = Database(path, TABLE)
    with full.transaction() as connection:
        connection.execute("INSERT INTO things VALUES ('before')")
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    full._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreError, match="disk is full"), full.transaction() as connection:
        connection.executemany("INSERT INTO things VALUES (?)", [("x" * 4000,)] * 20)
    assert [row["name"] for row in full.read("SELECT name FROM things")] == ["before"]
    full._connection.execute("PRAGMA max_page_count = 100000")
    with full.transaction() as connection:
        connection.execute("INSERT INTO things VALUES ('after')")
    full.close()
    open_and_close(path)


def test_a_file_at_its_size_limit_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    full = Database(path, TABLE)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:  # the system refuses to write beyond; Python ignores the signal that comes with it
        resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, before[1]))
        with pytest.raises(StoreError, match="disk"), full.transaction() as connection:
            connection.executemany("INSERT INTO things VALUES (?)", [("x" * 4000,)] * 100)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert full.read("SELECT name FROM things") == []
    with full.transaction() as connection:
        connection.execute("INSERT INTO things VALUES ('after')")
    full.close()


def test_a_folder_that_cannot_be_created_is_reported_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="SUPERCLOUD_STATE"):
        open_and_close(tmp_path / "file/inside/a.db")


def test_concurrent_first_users_create_one_file(tmp_path: Path) -> None:
    problems: list[Exception] = []

    def use() -> None:
        try:
            opened = Database(tmp_path / "a.db", TABLE)
            with opened.transaction() as connection:
                connection.execute("INSERT INTO things VALUES ('a')")
            opened.close()
        except Exception as error:
            problems.append(error)

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    opened = Database(tmp_path / "a.db", TABLE)
    assert opened.read("SELECT count(*) AS n FROM things")[0]["n"] == 8
    opened.close()


def test_inner_transactions_are_part_of_the_outer_one(tmp_path: Path) -> None:
    opened = Database(tmp_path / "a.db", TABLE)
    with pytest.raises(RuntimeError), opened.transaction():
        with opened.transaction() as connection:
            connection.execute("INSERT INTO things VALUES ('a')")
        raise RuntimeError
    assert opened.read("SELECT * FROM things") == []
    opened.close()


def test_the_state_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERCLOUD_STATE", "/a/b")
    assert locate_state_folder() == Path("/a/b")
    monkeypatch.delenv("SUPERCLOUD_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", "/x")
    assert locate_state_folder() == Path("/x/supercloud")
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert locate_state_folder() == Path("/home/me/.local/state/supercloud")


def test_a_relaxed_transaction_does_not_change_the_synchronization_of_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.db"
    open_and_close(path)
    monkeypatch.setattr(database, "_LOCK_TIMEOUT", 0.05)
    opened = Database(path, TABLE)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError), opened.transaction(relaxed=True):
        pass
    other.close()
    with opened.transaction(relaxed=True) as connection:
        connection.execute("INSERT INTO things VALUES ('a')")
    assert opened.read("PRAGMA synchronous")[0][0] == 2, "FULL"
    opened.close()


def test_an_unclosed_connection_is_closed_with_its_last_reference(tmp_path: Path) -> None:
    opened = Database(tmp_path / "a.db", TABLE)
    connection = opened._connection
    del opened
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):  # Python 3.13 warns of one that is only dropped
        connection.execute("SELECT 1")


def test_engines_and_stores_dropped_from_caches_close_their_files(tmp_path: Path) -> None:
    engine = open_engine(Connection(engine="local"), tmp_path)
    assert isinstance(engine, LocalEngine)
    connection = engine._queue._database._connection
    del engine
    for number in range(40):
        open_engine(Connection(engine="fake"), tmp_path / str(number))
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


READERS = """
import os, resource, sys
from pathlib import Path
from supercloud.jobs.store import database
from supercloud.jobs.store.database import Database
path, table = Path(sys.argv[1]), ("CREATE TABLE things (name TEXT)",)
database._LOCK_TIMEOUT = 2.0
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
children = []
for _ in range(4):
    if not (child := os.fork()):
        opened = Database(path, table)
        for _ in range(25):
            opened.reopen()
            assert opened.write_error and opened.read("SELECT name FROM things")[0]["name"] == "a"
        os._exit(0)
    children.append(child)
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


def write_one(path: Path) -> Database:
    opened = Database(path, TABLE)
    with opened.transaction() as connection:
        connection.execute("INSERT INTO things VALUES ('a')")
    return opened


@pytest.mark.slow
@pytest.mark.parametrize("is_clean", [True, False], ids=["closed", "with-a-log"])
def test_readers_on_a_full_disk_do_not_block_each_other(tmp_path: Path, is_clean: bool) -> None:
    path = tmp_path / "a.db"
    opened = write_one(path)
    if not is_clean:  # as after the end of a process in between
        for suffix in ("", "-wal", "-shm"):
            shutil.copy(f"{path}{suffix}", tmp_path / f"b.db{suffix}")
        path = tmp_path / "b.db"
    opened.close()
    done = subprocess.run([sys.executable, "-c", READERS, path], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """No file may be written, as far as one can ask."""
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_read_only_file_is_read(tmp_path: Path, request: pytest.FixtureRequest, mode: str) -> None:
    path = tmp_path / "with ?a=b#c%20.db"
    opened = write_one(path)
    opened._set_journal_mode(mode)
    opened.close()
    request.getfixturevalue("read_only")
    opened = Database(path, TABLE)
    for _ in range(2):
        assert "read-only" in str(opened.write_error) and opened.get_version() == 1
        assert opened.read("SELECT name FROM things")[0]["name"] == "a"
        opened.reopen()
    opened.require_integrity()
    opened.copy_to(tmp_path / "copy.db")
    with pytest.raises(StoreError, match="read-only"), opened.transaction():
        pass
    opened.close()
    assert not Path(f"{path}-shm").exists(), "nothing is made beside it"
    with pytest.raises(StoreError, match="newer supercloud"):
        Database(path, ())


def test_a_read_only_file_is_never_read_without_its_log(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    opened = write_one(tmp_path / "a.db")
    for suffix in ("", "-wal", "-shm"):
        shutil.copy(tmp_path / f"a.db{suffix}", tmp_path / f"b.db{suffix}")
    opened.close()
    request.getfixturevalue("read_only")
    left = Database(tmp_path / "b.db", TABLE)
    assert left.read("SELECT name FROM things")[0]["name"] == "a"
    (tmp_path / "b.db-shm").unlink()
    with pytest.raises(StoreError, match="changes in a log.*copy its folder"):
        left.read("SELECT name FROM things")
    left.close()


def test_a_file_that_changes_while_it_is_read_without_locks_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write_one(path).close()
    looks: list[int] = []

    def look(connection: sqlite3.Connection) -> int:
        looks.append(connection.execute("SELECT count(*) FROM things").fetchone()[0])
        if len(looks) == 1:
            with contextlib.closing(sqlite3.connect(path)) as other, other:
                other.execute("INSERT INTO things VALUES ('b')")
            raise StoreError("what was read is torn")
        return looks[-1]

    assert read_unwritable(path, lambda uri: sqlite3.connect(uri, uri=True), look, 60) == 2
    assert looks[:2] == [1, 2]


def test_a_log_whose_index_appears_while_the_file_is_opened_is_read(tmp_path: Path) -> None:
    path, calls = tmp_path / "b.db", list[str]()
    opened = write_one(tmp_path / "a.db")
    for suffix in ("", "-wal"):
        shutil.copy(tmp_path / f"a.db{suffix}", f"{path}{suffix}")

    def connect(uri: str) -> sqlite3.Connection:
        calls.append(uri)
        if len(calls) == 1:  # another process opens it for writing just after SQLite has looked for the index
            shutil.copy(tmp_path / "a.db-shm", f"{path}-shm")
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorname = "SQLITE_CANTOPEN"
            raise error
        return sqlite3.connect(uri, uri=True)

    assert read_unwritable(path, connect, lambda found: found.execute("SELECT * FROM things").fetchall(), 60) == [
        ("a",)
    ]
    opened.close()


@pytest.mark.slow
def test_a_file_opened_while_another_thread_reads_it_on_a_full_disk_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    write_one(path).close()
    for suffix in ("-wal", "-shm"):  # as an attempt to open it on a full disk leaves them
        Path(f"{path}{suffix}").touch()
    opened: list[Database] = []
    thread = threading.Thread(target=lambda: opened.append(Database(path, TABLE)))

    def look(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT count(*) FROM things").fetchone()
        thread.start()
        thread.join(0.2)  # it waits until this ends; one that does not is done by then

    read_unwritable(path, lambda uri: sqlite3.connect(uri, uri=True), look, 60)
    thread.join()
    with opened[0].transaction() as connection:
        connection.execute("INSERT INTO things VALUES ('b')")
    opened[0].close()
