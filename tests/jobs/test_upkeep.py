"""The store when the disk is full or its file is damaged; backups, and what is forgotten."""

from __future__ import annotations

import contextlib
import os
import random
import re
import resource
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from supercloud.cli.serve import _open_checked_store
from supercloud.errors import InputError, StoreError, SupercloudError
from supercloud.jobs import maintenance as upkeep
from supercloud.jobs.broker import ledger
from supercloud.jobs.broker.loop import Reporter
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.records import Assignment, NewJob
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store

pytestmark = pytest.mark.slow

DAMAGED = 60


def fill_store(folder: Path, count: int = 40) -> None:
    with Store(folder) as store:
        for number in range(count):
            made, _ = store.record(
                NewJob(
                    key=f"k{number}",
                    name=f"job{number}",
                    spec="{}",
                    assignment=Assignment(submission="{}", connection='{"engine":"fake"}', engine="fake"),
                )
            )
            assert store.begin_submission(made.id)
            store.record_submitted(made.id, f"ref-{number}")
            if number % 2:
                store.record_statuses(
                    {made.id: Status(State.COMPLETED, 1, exit_code=0, started=1e9, ended=1e9 + number)}
                )


@pytest.fixture
def no_space() -> Iterator[None]:
    """No file of this process can grow."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_store_on_a_full_disk_can_be_read(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    fill_store(tmp_path)
    request.getfixturevalue("no_space")
    with Store(tmp_path) as store:
        assert len(store.select()) == 40 and store.write_error
        with pytest.raises(StoreError, match="full"):
            store.release_ownership(1)
        assert all(isinstance(problem, SupercloudError) for problem in reconcile(store))


@pytest.mark.parametrize("words", [("jobs",), ("wait", "1", "--timeout", "0.2")], ids=lambda words: words[0])
def test_a_full_disk_is_reported_once(tmp_path: Path, words: tuple[str, ...]) -> None:
    fill_store(tmp_path, 3)
    limit = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); from supercloud.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", limit, *words],
        capture_output=True,
        text=True,
        env={**os.environ, "SUPERCLOUD_STATE": str(tmp_path)},
    )
    if words == ("jobs",):
        assert done.returncode == 0 and done.stdout.count("job") >= 3, done.stderr
    else:
        assert done.returncode == 1 and "job 1 (job0) is still QUEUED" in done.stderr, done.stderr
    assert done.stderr.count("the disk") == 1 and "Traceback" not in done.stderr


UNWRITABLE = {
    "full": "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
    "read-only": "import os; may = os.access; os.access = lambda path, mode: mode != os.W_OK and may(path, mode)",
}


@pytest.mark.parametrize("why", UNWRITABLE)
@pytest.mark.parametrize("known", ["QUEUED", "RUNNING"])
def test_a_job_is_cancelled_on_a_full_disk(tmp_path: Path, why: str, known: str) -> None:
    """Also where it was not yet known to run. Slurm's commands are stand-ins; scancel leaves an empty file."""
    folder, commands = tmp_path / "state", tmp_path / "bin"
    commands.mkdir()
    row = "5|RUNNING|None|0|0|1795213461|1795213461|supercloud:k|"
    for name, does in (("squeue", f"echo '{row}'"), ("scancel", f": >{tmp_path}/ended-$1")):
        (commands / name).write_text(f"#!/bin/sh\n{does}\n")
        (commands / name).chmod(0o755)
    with Store(folder) as store:
        made, _ = store.record(
            NewJob(
                key="k", name="job", spec="{}", assignment=Assignment(connection='{"engine":"slurm"}', engine="slurm")
            )
        )
        assert store.begin_submission(made.id)
        store.record_submitted(made.id, "5")
        if known == "RUNNING":
            store.record_statuses({made.id: Status(State.RUNNING, 1, started=1795213461.0)})
    done = subprocess.run(
        [sys.executable, "-c", f"{UNWRITABLE[why]}; from supercloud.cli import main; main()", "cancel", "1"],
        capture_output=True,
        text=True,
        env={**os.environ, "SUPERCLOUD_STATE": str(folder), "PATH": f"{commands}:{os.environ['PATH']}"},
    )
    assert (tmp_path / "ended-5").exists(), done.stderr
    assert done.returncode == StoreError.exit_code and "Traceback" not in done.stderr
    message = " ".join(done.stderr.split())
    assert "job 1 (job): cancellation of 5 was requested from slurm, but is not recorded: " in message, message
    assert why in message and "run supercloud cancel 1 again" in message


def test_a_broker_that_starts_on_a_full_disk_waits_for_space(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Freed(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            return False

    fill_store(tmp_path, 3)
    monkeypatch.setenv("SUPERCLOUD_STATE", str(tmp_path))
    messages: list[str] = []
    request.getfixturevalue("no_space")
    store = _open_checked_store(Reporter(messages.append), Freed(), 0.01)
    assert store is not None and not store.write_error and len(messages) == 1 and "the disk" in messages[0]
    store.release_ownership(1)
    store.close()


def run_limited(folder: Path, limit: str, *words: str) -> str:
    """What a command prints on stderr, where no file can grow beyond a number of bytes; it must fail."""
    program = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); {MAIN}"
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        env={**os.environ, "SUPERCLOUD_STATE": str(folder)},
    )
    assert done.returncode and "Traceback" not in done.stderr, done.stderr
    return " ".join(done.stderr.split())


MAIN = "from supercloud.cli import main; main()"


def test_a_backup_on_a_full_disk_names_the_disk_of_the_backup(tmp_path: Path) -> None:
    fill_store(tmp_path / "state")
    said = run_limited(tmp_path / "state", "8192", "store", "backup", str(tmp_path / "backup"))
    assert f"{tmp_path / 'backup'}: " in said and "enough space" in said and "jobs.db" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["state"]


@pytest.mark.parametrize("is_new", [False, True])
def test_a_restore_that_cannot_write_changes_nothing_and_reports_that(tmp_path: Path, is_new: bool) -> None:
    fill_store(tmp_path / "state")
    with Store(tmp_path / "state") as store:
        upkeep.back_up(store, tmp_path / "backup")
    before = (tmp_path / "state/jobs.db").read_bytes()
    folder = tmp_path / "file/state" if is_new else tmp_path / "state"
    (tmp_path / "file").touch()
    said = run_limited(folder, "8192", "store", "restore", str(tmp_path / "backup"))
    assert "nothing was restored, and the previous store is unchanged: free some space" in said
    assert (tmp_path / "state/jobs.db").read_bytes() == before
    assert not list(tmp_path.glob("state/*.new*"))


def test_an_unreadable_backup_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_store(tmp_path / "state")
    with Store(tmp_path / "state") as store:
        upkeep.back_up(store, tmp_path / "backup")

    def refuse(path: Path, flags: int, *mode: int) -> int:
        if path == tmp_path / "backup":
            raise PermissionError(13, "Permission denied", str(path))
        return really(path, flags, *mode)

    really = os.open
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(StoreError, match=f"{tmp_path}/backup: Permission denied; nothing was restored"):
        upkeep.restore(tmp_path / "state", tmp_path / "backup")


def damage(data: bytes, chance: random.Random) -> bytes:
    """The same with something broken: cut off, zeroes, garbage, or pages in another order."""
    start = chance.randrange(len(data))
    size = chance.choice([8, 64, 512, 4096])
    kind = chance.randrange(5)
    if kind == 0:
        return data[:start]
    if kind == 1:
        return data[:start] + bytes(size) + data[start + size :]
    if kind == 2:
        return data[:start] + chance.randbytes(size) + data[start + size :]
    if kind == 3:
        page = start // 4096 * 4096
        other = chance.randrange(len(data) // 4096) * 4096
        return data[:page] + data[other : other + 4096] + data[page + 4096 :]
    return data[:start] + bytes([data[start] ^ 1 << chance.randrange(8)]) + data[start + 1 :]


def list_known_jobs(folder: Path) -> list[object]:
    with Store(folder) as store:
        return [*store.select(), *(store.list_events(number) for number in range(1, 41))]


def test_damage_is_detected_or_harmless(tmp_path: Path) -> None:
    fill_store(tmp_path / "whole")
    data, whole = (tmp_path / "whole/jobs.db").read_bytes(), list_known_jobs(tmp_path / "whole")
    chance = random.Random(20261122)
    noticed, silent = 0, []
    for number in range(DAMAGED):
        folder = tmp_path / str(number)
        folder.mkdir(mode=0o700)
        (folder / "jobs.db").write_bytes(damage(data, chance))
        (folder / "jobs.db").chmod(0o600)
        try:
            if list_known_jobs(folder) != whole:
                silent.append(number)
        except SupercloudError:
            noticed += 1
    assert not silent, f"{len(silent)} of {DAMAGED} say something else without a word"
    assert noticed > DAMAGED // 2, "the test has damaged something"


def test_a_backup_is_complete_private_and_can_be_restored(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    fill_store(folder)
    before = list_known_jobs(folder)
    with Store(folder) as store:
        upkeep.back_up(store, tmp_path / "copy")
        with pytest.raises(InputError, match="already exists"):
            upkeep.back_up(store, tmp_path / "copy")
        with pytest.raises(StoreError, match="in use"):
            upkeep.restore(folder, tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600
    (folder / "jobs.db").write_bytes(b"nonsense" * 1000)
    with pytest.raises(StoreError, match="store restore"):
        Store(folder)
    kept = upkeep.restore(folder, tmp_path / "copy")
    assert kept and kept.read_bytes().startswith(b"nonsense") and list_known_jobs(folder) == before
    with pytest.raises(InputError, match="cannot be restored"):
        upkeep.restore(folder, kept)
    assert list_known_jobs(folder) == before and sorted(path.name for path in folder.iterdir()) == [
        "jobs.db",
        kept.name,
        "jobs.lock",
    ]


def test_old_jobs_are_pruned_with_their_files(tmp_path: Path) -> None:
    fill_store(tmp_path)
    (tmp_path / "slurm/k1").mkdir(parents=True)
    (tmp_path / "slurm/k39").mkdir()
    (tmp_path / "slurm/k0").mkdir()
    with Store(tmp_path) as store:
        assert upkeep.prune(store, 1e9 + 30).pruned_jobs == 15
        assert {record.key for record in store.select()} == {f"k{n}" for n in range(40) if n % 2 == 0 or n > 30}
        assert not store.list_events(2) and store.list_events(1)
        assert not store.find_by_key("k1")
        assert upkeep.prune(store, time.time()).pruned_jobs == 5 and len(store.list_live()) == 20
    assert sorted(path.name for path in (tmp_path / "slurm").iterdir()) == ["k0"]


def test_dependencies_of_a_held_job_are_not_pruned(tmp_path: Path) -> None:
    fill_store(tmp_path, 4)
    with Store(tmp_path) as store:
        held, _ = store.record(NewJob(key="held", name="held", spec="{}", fleet="f", is_held=True), dependency_ids=[2])
        pruned = upkeep.prune(store, time.time())
        assert pruned.pruned_jobs == 1 and store.get(2).state is State.COMPLETED
        assert pruned.kept_reasons == ("1 job kept: a held job depends on each",)
        store.cancel_held(held.id)
        assert upkeep.prune(store, time.time() + 60).pruned_jobs == 2 and not store.read("SELECT * FROM awaited")


def test_an_abandoned_start_that_may_still_run_is_not_pruned(tmp_path: Path) -> None:
    fill_store(tmp_path, 4)
    with Store(tmp_path) as store:
        with store.transaction() as database:
            database.execute("INSERT INTO abandoned (job, connection, ref) VALUES (2, '{}', 'ref-1')")
        pruned = upkeep.prune(store, time.time())
        assert pruned.pruned_jobs == 1 and store.find_by_key("k1") and pruned.problem is None
        (problem,) = pruned.kept_reasons
        assert problem.startswith("1 job kept: a launch of each was abandoned while its cluster did not respond")
        ledger.delete_abandoned(store, ledger.list_abandoned(store)[0])
        assert upkeep.prune(store, time.time()).pruned_jobs == 1


def test_a_damaged_row_is_kept_and_the_others_are_pruned(tmp_path: Path) -> None:
    fill_store(tmp_path, 6)
    with contextlib.closing(sqlite3.connect(tmp_path / "jobs.db")) as other:
        other.create_function("checksum", -1, lambda *values: 0)
        other.execute("UPDATE jobs SET name = 'x' WHERE id = 4")
        other.commit()
    with Store(tmp_path) as store:
        pruned = upkeep.prune(store, time.time())
        assert pruned.pruned_jobs == 2 and pruned.kept_reasons[0].startswith(
            "1 job kept: job 4 of the store is damaged"
        )


def test_prune_on_a_full_disk_reports_what_it_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upkeep, "_BATCH_SIZE", 4)
    fill_store(tmp_path, 80)
    for number in range(80):
        (tmp_path / f"slurm/k{number}").mkdir(parents=True)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Store(tmp_path) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (80_000, before[1]))  # a part of the journal can be written
        try:
            pruned = upkeep.prune(store, time.time())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        done, lost = pruned.pruned_jobs, 80 - len(list((tmp_path / "slurm").iterdir()))
        assert 0 < done < 40 and lost == done + 4 and len(store.select()) == 80 - done
        assert re.match(
            f"{done} jobs deleted, {40 - done} not, and 4 jobs of those lost logs and results here: .*"
            "the disk.*free some space.*store prune again",
            str(pruned.problem),
        )
        assert "nothing was changed" not in str(pruned.problem)
        again = upkeep.prune(store, time.time())
        assert (again.pruned_jobs, again.problem) == (40 - done, None)


def test_prune_reports_if_it_cannot_free_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_store(tmp_path, 4)

    def refuse(store: Store) -> None:
        raise StoreError("jobs.db cannot grow: the disk is full; free some space and repeat, nothing was changed")

    with Store(tmp_path) as store:
        monkeypatch.setattr(Store, "compact", refuse)
        pruned = upkeep.prune(store, time.time())
        assert pruned.pruned_jobs == 2 and len(store.select()) == 2
        assert re.match(
            "2 jobs deleted; their space in .* not released to the disk: .*is full; that requires", str(pruned.problem)
        )


def test_the_store_command_works(tmp_path: Path) -> None:
    fill_store(tmp_path / "state", 4)

    def run(*words: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "supercloud", "store", *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "SUPERCLOUD_STATE": str(tmp_path / "state")},
        )
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    assert "no damage" in run("check")
    assert "written" in run("backup", "copy")
    assert "2 jobs deleted" in run("prune", "--older", "1 d")
    assert "is restored" in run("restore", "copy")
    assert "2 jobs deleted" in run("prune")
    assert "requires a file" in run("backup", code=2)


@pytest.mark.parametrize("what", ["an empty file", "another database"])
def test_a_file_that_is_not_a_store_is_not_restored(what: str, tmp_path: Path) -> None:
    """An empty file is an empty database to SQLite: it would become a store without jobs."""
    copy = tmp_path / "copy.db"
    if what == "an empty file":
        copy.touch()
    else:
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            connection.execute("CREATE TABLE notes (text)")
            connection.execute("PRAGMA user_version = 1")
    with pytest.raises(InputError, match="is not a job store"):
        upkeep.restore(tmp_path / "jobs", copy)
    assert not (tmp_path / "jobs" / "jobs.db").exists()
