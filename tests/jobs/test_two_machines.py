"""One home on two machines or in two containers: a job is submitted once, even if processes cannot see each other."""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from jobs.namespaces import Namespaced, are_allowed
from jobs.waiting import wait_for

from supercloud.jobs.engines.base import ENGINES
from supercloud.jobs.engines.local.runs import Run
from supercloud.jobs.engines.submission import Submission
from supercloud.jobs.reconcile import reconcile, submission_in_progress, submit_recorded
from supercloud.jobs.store import database, filesystems, leases
from supercloud.jobs.store.database import Database
from supercloud.jobs.store.processes import ProcessId, read_boot_id, read_namespace
from supercloud.jobs.store.records import Assignment, NewJob
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store
from supercloud.spec.fleet import Connection

HAND_OVERS = int(os.environ.get("SUPERCLOUD_TEST_HAND_OVERS", "60"))
KILLS = HAND_OVERS * 2 // 5
needs_namespaces = pytest.mark.skipif(not are_allowed(), reason="this system allows no PID namespaces")


class SlowEngine:
    """Takes every submission, however often; it can be found from the moment in which the submission has ended."""

    poll_interval = 0.01

    def __init__(self, connection: Connection, folder: Path):
        self.folder = folder

    def submit(self, submission: Submission) -> str:
        time.sleep(random.uniform(0, 0.02))
        with open(self.folder / "taken", "a") as file:
            file.write(f"{submission.key}\n")
        return submission.key

    def find(self, keys: Sequence[str], since: float) -> Mapping[str, str | None]:
        taken = set(self._list_taken())
        return {key: key if key in taken else None for key in keys}

    def poll(self, refs: Sequence[str]) -> Mapping[str, Status]:
        return {ref: Status(State.COMPLETED, 1) for ref in refs}

    def _list_taken(self) -> list[str]:
        path = self.folder / "taken"
        return path.read_text().split() if path.exists() else []


@pytest.fixture(autouse=True)
def _slow_engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setitem(ENGINES, "slow", f"{__name__}:SlowEngine")
    monkeypatch.setattr(leases, "LEASE_DURATION", 0.6)
    monkeypatch.setattr(leases, "RENEW_INTERVAL", 0.05)
    return


def record(store: Store, key: str) -> int:
    made, _ = store.record(
        NewJob(
            key=key,
            name="job",
            spec="{}",
            assignment=Assignment(
                submission=Submission(key, ("true",)).to_json(), connection='{"engine":"slow"}', engine="slow"
            ),
        )
    )
    return made.id


def submit(store: Store, key: str) -> None:
    """As ``api.submit`` does it, without placing anything."""
    with submission_in_progress(store, key):
        number = record(store, key)
        if store.begin_submission(number):
            submit_recorded(
                store, SlowEngine(Connection(engine="slow"), store.folder), number, Submission(key, ("true",))
            )


@pytest.mark.slow
@needs_namespaces
def test_a_store_with_readers_in_another_namespace_loses_and_repeats_no_job(tmp_path: Path) -> None:
    folder, chance = tmp_path / "jobs", random.Random(20261122)
    Store(folder).close()

    def read_for_ever() -> None:
        with Store(folder) as store:
            while True:
                reconcile(store)
                time.sleep(0.002)

    def submit_from(first: int) -> None:
        with Store(folder) as store:
            for number in range(first, HAND_OVERS):
                submit(store, f"k{number}")

    reader = Namespaced(read_for_ever)
    kills, began = 0, 0
    while kills < KILLS or began < HAND_OVERS:
        writer = Namespaced(lambda began=began: submit_from(began))
        if kills < KILLS:
            before = began
            wait_for(lambda before=before: record_owned_job(folder) > min(before, HAND_OVERS - 1), 60)
            time.sleep(chance.uniform(0, 0.03))
            writer.kill()
            kills += 1
        else:
            assert writer.wait() == 0
        # a store that is closed here once more: no process keeps a lock
        began = min(record_owned_job(folder), HAND_OVERS * (kills + 1) // KILLS if kills < KILLS else HAND_OVERS)
        if kills >= KILLS and began >= HAND_OVERS:
            break
    try:
        with Store(folder) as store:
            wait_for(lambda: not store.list_live(), 60)
            keys = {item.key for item in store.select()}
            taken = Counter((folder / "taken").read_text().split())
            assert keys == {f"k{number}" for number in range(HAND_OVERS)}
            assert set(taken) == keys, "none is lost"
            assert set(taken.values()) == {1}, "none is doubled"
    finally:
        reader.kill()


def record_owned_job(folder: Path) -> int:
    with Store(folder) as store:
        return int(store.read("SELECT count(*) AS n FROM jobs")[0]["n"])


def format_foreign_owner(pid: int = 1) -> str:
    return f"{pid} 77 00000000-0000-0000-0000-000000000000 pid:[1]"


def record_held_job(store: Store, owner: str) -> int:
    number = record(store, "k")
    with store.transaction() as connection:
        connection.execute("UPDATE jobs SET state = 'SUBMITTING', owner = ?", (owner,))
    return number


def test_an_owner_in_another_boot_or_namespace_is_not_considered_dead() -> None:
    me = ProcessId.get_current()
    assert me.is_alive is True
    assert ProcessId(me.pid, me.start_time, "another boot", me.namespace).is_alive is None
    assert ProcessId(me.pid, me.start_time, read_boot_id(), "pid:[1]").is_alive is None
    assert ProcessId(me.pid, "1", read_boot_id(), read_namespace()).is_alive is False
    assert ProcessId.parse(f"{me.pid} {me.start_time} {read_boot_id()}") is not None, (
        "what earlier versions wrote is read"
    )


def test_a_remote_owner_is_kept_until_its_lease_expires(store: Store) -> None:
    number = record_held_job(store, format_foreign_owner())
    clock = 1000.0
    assert not leases.has_expired(store, store.get(number), lambda: clock)
    clock += 0.5
    assert not leases.has_expired(store, store.get(number), lambda: clock)
    with store.transaction() as connection:
        connection.execute("UPDATE jobs SET lease = lease + 1")
    clock += 0.5
    assert not leases.has_expired(store, store.get(number), lambda: clock), "it has counted meanwhile"
    assert leases.has_expired(store, store.get(number), lambda: clock + 0.6)


@pytest.mark.slow
def test_a_lease_needs_no_wall_clock(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    number = record_held_job(store, format_foreign_owner())
    for jump in (0.0, 1e6, -1e6):
        monkeypatch.setattr(time, "time", lambda jump=jump: 1.8e9 + jump)
        reconcile(store)
        assert store.get(number).state is State.SUBMITTING
    wait_for(lambda: not reconcile(store) and store.get(number).ref, 60)


def test_an_owner_that_renews_its_lease_is_not_replaced(store: Store) -> None:
    number = record_held_job(store, format_foreign_owner())
    seen = store.get(number)
    with store.transaction() as connection:
        connection.execute("UPDATE jobs SET lease = lease + 1")
    assert not store.begin_submission(number, seen.owner, seen.lease)


def test_a_lease_is_renewed_while_a_submission_takes_long(store: Store) -> None:
    number = record(store, "k")
    assert store.begin_submission(number)
    before = store.get(number).lease
    with leases.hold_lease(store, number):
        wait_for(lambda: store.get(number).lease > before + 2, 60)


@pytest.mark.slow
@needs_namespaces
def test_a_task_in_another_namespace_lives_as_long_as_its_lock(tmp_path: Path) -> None:
    run = Run(tmp_path, "key", 1, 0)

    def start() -> None:
        run.spawn(["sleep", "60"], "/", {"PATH": os.environ["PATH"]}).wait()

    container = Namespaced(start)
    process = wait_for(run.read_process, 60)
    try:
        assert process.is_alive is None and run.is_held()
    finally:
        container.kill()
    wait_for(lambda: not run.is_held(), 60)


MOUNTS = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:45 / /home rw,relatime shared:2 - nfs4 server:/home rw,vers=4.2
31 30 0:46 / /home/with\040space rw - lustre mgs@tcp:/scratch rw
32 22 0:47 / /mnt/objects rw - fuse.sshfs host: rw
33 30 8:2 / /home/local rw - xfs /dev/sdb rw
"""
# The kernel escapes line feeds in mount points, but no other character that ends lines for str.splitlines.
ODD_MOUNTS = "".join(
    f"34 22 0:48 / /tmp/odd{mark}35 22 0:49 / /home/local rw - nfs4 server:/x rw - fuse.x x rw\n"
    for mark in "\x0b\x1c\x85\u2028\r"
)


def test_the_file_system_of_a_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mountinfo").write_bytes((MOUNTS.replace("\\\\", "\\") + ODD_MOUNTS).encode())
    for path, kind in (
        ("/home/me/x", "nfs4"),
        ("/home/with space/x", "lustre"),
        ("/home/local/x", "xfs"),
        ("/homes", "ext4"),
        ("/mnt/objects", "fuse.sshfs"),
    ):
        assert filesystems.find_filesystem_type(Path(path), tmp_path / "mountinfo") == kind
    monkeypatch.setattr(filesystems, "find_filesystem_type", lambda path: kind)
    assert filesystems.is_shared(tmp_path)


def test_a_shared_file_system_has_no_write_ahead_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = ("CREATE TABLE things (name TEXT)",)
    opened = Database(tmp_path / "a.db", table)
    assert opened.read("PRAGMA journal_mode")[0][0] == "wal"
    opened.close()
    monkeypatch.setattr(database, "is_shared", lambda path: True)
    for name in ("a.db", "b.db"):  # one that was moved there, and a new one
        opened = Database(tmp_path / name, table)
        with opened.transaction() as connection:
            connection.execute("INSERT INTO things VALUES ('x')")
        assert opened.read("PRAGMA journal_mode")[0][0] == "delete"
        opened.close()
    assert not list(tmp_path.glob("*-wal"))
