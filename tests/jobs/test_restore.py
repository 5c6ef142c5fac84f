"""What a copy in the place of the store does not know: who has it open, numbers given out, jobs started since."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs.broker.fleets import build_fleet, build_job

from supercloud.errors import EngineError, InputError, StoreError
from supercloud.jobs import api
from supercloud.jobs import maintenance as upkeep
from supercloud.jobs.broker.loop import PlainReporter, Reporter
from supercloud.jobs.broker.serve import Broker
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.fleet.state import Fleet
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store import database
from supercloud.jobs.store.records import NewJob
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec.fleet import Connection


def record_jobs(store: Store, *keys: str) -> list[int]:
    return [store.record(NewJob(key=key, name=key, spec="{}", fleet="fleet", is_held=True))[0].id for key in keys]


@pytest.mark.parametrize("shared", [False, True])
def test_an_open_store_is_not_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool) -> None:
    monkeypatch.setattr(database, "is_shared", lambda path: shared)
    folder = tmp_path / "state"
    with Store(folder) as store:
        record_jobs(store, "a")
        upkeep.back_up(store, tmp_path / "copy")
        with pytest.raises(StoreError, match="in use"):
            upkeep.restore(folder, tmp_path / "copy")
        with Store(folder), pytest.raises(StoreError, match="in use"):
            upkeep.restore(folder, tmp_path / "copy")
        record_jobs(store, "b")
    assert upkeep.restore(folder, tmp_path / "copy")
    with Store(folder) as again:
        assert [record.key for record in again.select()] == ["a"]


def test_a_store_that_was_moved_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "is_shared", lambda path: True)
    with Store(tmp_path / "state") as store:
        (tmp_path / "state/jobs.db").rename(tmp_path / "elsewhere")
        with pytest.raises(StoreError, match="moved or replaced while it was open"):
            record_jobs(store, "a")


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [False, True])
def test_ids_assigned_since_the_backup_are_not_reused(tmp_path: Path, damaged: bool) -> None:
    folder = tmp_path / "state"
    with Store(folder) as store:
        record_jobs(store, "a", "b")
        upkeep.back_up(store, tmp_path / "copy")
        record_jobs(store, "c", "d")
    if damaged:
        (folder / "jobs.db").write_bytes(b"nonsense" * 1000)
    upkeep.restore(folder, tmp_path / "copy")
    with Store(folder) as store:
        assert [record.id for record in store.select()] == [2, 1]
        (number,) = record_jobs(store, "e")
        assert number > 1000 if damaged else number == 5
    upkeep.restore(folder, tmp_path / "copy")
    with Store(folder) as store:
        assert record_jobs(store, "f") == [number + 1], "the second time the same"


def restore_copy(folder: Path, between: Callable[[Store], None], before: Callable[[Store], None]) -> Store:
    """A store that was copied after ``before``, and restored from the copy after ``between``."""
    with Store(folder / "state") as store:
        before(store)
        upkeep.back_up(store, folder / "copy")
        between(store)
    upkeep.restore(folder / "state", folder / "copy")
    return Store(folder / "state")


def open_fake_engine(here: Fleet, store: Store) -> FakeEngine:
    engine = api.open_engine(here.clusters[0].member.connect or Connection(engine="fake"), store.folder)
    assert isinstance(engine, FakeEngine)
    return engine


@pytest.mark.slow
@pytest.mark.parametrize("states, launch", [(["RUNNING"], 0), (["RUNNING", "NODE_FAIL", "|", "RUNNING"], 1)])
def test_a_job_started_after_the_backup_is_not_started_again(tmp_path: Path, states: list[str], launch: int) -> None:
    here = build_fleet({"a": 1})
    wanted = build_job(1, states, retries=2)

    def serve_until_running(store: Store) -> None:
        broker = Broker(store, here)
        for _ in range(5):
            broker.step()
        assert store.get(1).state is State.RUNNING and store.get(1).launch == launch

    with restore_copy(
        tmp_path, serve_until_running, lambda store: ignore(api.submit(wanted, here, store=store, key="nightly"))
    ) as store:
        assert store.get(1).state is State.HELD and store.get(1).launch == 0
        before = open_fake_engine(here, store).submission_count
        messages: list[str] = []
        broker = Broker(store, here, reporter=PlainReporter(messages.append))
        assert broker.step() == 0 and "was submitted to a before the store was restored" in messages[-1]
        broker.step()
        record = store.get(1)
        assert (record.state, record.launch, record.ref) == (State.RUNNING, launch, f"fake-{record.engine_key}")
        assert open_fake_engine(here, store).submission_count == before
        fresh = api.submit(build_job(1, ["COMPLETED"]), build_fleet({"a": 1}), store=store)
        open_fake_engine(here, store).cancel(record.ref or "")
        for _ in range(4):
            broker.step()
        assert fresh.reload().state is State.COMPLETED, "what was never started is"


@pytest.mark.slow
def test_a_key_used_after_the_backup_belongs_to_the_job_of_its_engine(tmp_path: Path, plan: Plan) -> None:
    here, wanted = build_fleet({"a": 1}), build_job(1)

    def submit_with_key(store: Store) -> None:
        api.submit(wanted, here, store=store, key="held")
        Broker(store, here).step()
        api.submit(wanted, plan, engine="fake", store=store, key="direct")

    with restore_copy(tmp_path, submit_with_key, lambda store: None) as store:
        held = api.submit(wanted, here, store=store, key="held")
        direct = api.submit(wanted, plan, engine="fake", store=store, key="direct")
        Broker(store, here).step()
        assert held.reload().ref == "fake-held" and direct.reload().ref == "fake-direct"
        engine = open_fake_engine(here, store)
        assert (engine.count_submissions("held"), engine.count_submissions("direct")) == (1, 1)
        assert held.id > 2, "and its number is a new one"


def strip_digests(here: Fleet, store: Store) -> None:
    """As if an earlier version had submitted all jobs."""
    engine = open_fake_engine(here, store)
    for path in engine.folder.glob("*.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"spec": ""}))


@pytest.mark.slow
@pytest.mark.parametrize("stripped", [False, True])
def test_a_key_used_by_another_job_after_the_backup_is_not_that_job(tmp_path: Path, plan: Plan, stripped: bool) -> None:
    here = build_fleet({"a": 1})

    def submit_with_key(store: Store) -> None:
        api.submit(build_job(1, name="before"), here, store=store, key="held")
        Broker(store, here).step()
        api.submit(build_job(1, name="before"), plan, engine="fake", store=store, key="direct")

    with restore_copy(tmp_path, submit_with_key, lambda store: None) as store:
        if stripped:
            strip_digests(here, store)
        why = "with an unknown spec" if stripped else "with a different spec .digest"
        with pytest.raises(InputError, match=f"pod has job fake-direct under the key 'direct'.*{why}.*'now'"):
            api.submit(build_job(1, name="now"), plan, engine="fake", store=store, key="direct")
        assert store.find_by_key("direct") is None, "nothing is recorded"
        held = api.submit(build_job(1, name="now"), here, store=store, key="held")
        messages: list[str] = []
        broker = Broker(store, here, reporter=PlainReporter(messages.append))
        assert broker.step() == broker.step() == 0
        record = held.reload()
        assert record.state is State.HELD and record.ref is None
        assert re.search(f"a has job fake-held under the key 'held'.*{why}.*job {held.id}.*another key", record.reason)
        assert messages == [f"warning: {record.reason}"] * 2
        assert (
            open_fake_engine(here, store).count_submissions("held"),
            open_fake_engine(here, store).count_submissions("direct"),
        ) == (
            1,
            1,
        )


@pytest.mark.slow
def test_a_restored_job_without_a_digest_is_the_job_of_its_engine(tmp_path: Path) -> None:
    here = build_fleet({"a": 1})

    def prepare_store(store: Store) -> None:
        api.submit(build_job(1), here, store=store, key="nightly")

    with restore_copy(tmp_path, lambda store: ignore(Broker(store, here).step()), prepare_store) as store:
        strip_digests(here, store)
        Broker(store, here).step()
        assert store.get(1).ref == "fake-nightly" and open_fake_engine(here, store).count_submissions("nightly") == 1


def test_a_crashed_submission_is_not_the_job_of_another_spec(tmp_path: Path, plan: Plan) -> None:
    with Store(tmp_path) as store:
        api.submit(build_job(1, name="other"), plan, engine="fake", store=store, key="k")
        with store.transaction() as database:  # as if the store had forgotten it, and a second submitter had died
            database.execute(
                "UPDATE jobs SET state = 'SUBMITTING', ref = NULL, spec = ?, owner = ''",
                (build_job(1, name="mine").model_dump_json(exclude_defaults=True),),
            )
        engine = api.open_engine(Connection(engine="fake"), store.folder)
        assert isinstance(engine, FakeEngine)
        reconcile(store)
        assert engine.count_submissions("k") == 2, "it is submitted itself"


@pytest.mark.slow
def test_a_restored_job_is_held_until_its_engine_responds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = build_fleet({"a": 1})

    def prepare_store(store: Store) -> None:
        api.submit(build_job(1, ["RUNNING"]), here, store=store, key="nightly")

    with restore_copy(tmp_path, lambda store: ignore(Broker(store, here).step()), prepare_store) as store:
        with monkeypatch.context() as patched:
            patched.setattr(FakeEngine, "find", lambda self, keys, since: {})
            broker = Broker(store, here)
            assert broker.step() == 0
            assert "the store was restored: a has not confirmed yet whether it has this job" in store.get(1).reason
            fresh = api.submit(build_job(1), build_fleet({"a": 2}), store=store)
            assert Broker(store, build_fleet({"a": 2})).step() == 1 and fresh.reload().ref, (
                "what is new is not held for ever"
            )
            fresh.cancel()
        broker.step()
        assert store.get(1).ref == "fake-nightly" and open_fake_engine(here, store).count_submissions("nightly") == 1


def test_a_cluster_that_is_down_after_a_restore_delays_no_job_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = build_fleet({"a": 1, "b": 1})

    def refuse(keys: object, since: object) -> None:
        raise EngineError("connection refused")

    def prepare_store(store: Store) -> None:
        api.submit(build_job(1, ["RUNNING"]), here, store=store, key="old")

    with restore_copy(tmp_path, lambda store: None, prepare_store) as store:
        connection = here.clusters[1].member.connect
        assert connection is not None
        monkeypatch.setattr(api.open_engine(connection, store.folder), "find", refuse)
        fresh = api.submit(build_job(1, ["RUNNING"]), here, store=store)
        broker = Broker(store, here)
        broker.step()
        assert fresh.reload().cluster == "a" and fresh.reload().ref
        assert store.get(1).state is State.HELD, "what the copy knew may be where nobody answers"


def ignore(value: object) -> None:
    pass


def copy_store(folder: Path, to: Path) -> None:
    """The files of a store as a process that was killed leaves them, with its write-ahead log."""
    to.mkdir(mode=0o700)
    for name in ("jobs.db", "jobs.db-wal"):
        shutil.copy(folder / name, to / name)


def restore_killed_at(step: int, folder: Path, source: Path) -> bool:
    """Restore in a child that is killed at a step of it, with no chance to tidy up; False where it came to its end."""
    child = os.fork()
    if child == 0:
        left = step

        def count(event: str, arguments: object) -> None:
            nonlocal left
            if event in ("os.link", "os.rename", "os.remove", "shutil.copyfile", "sqlite3.connect"):
                left -= 1
                if not left:
                    os._exit(9)

        sys.addaudithook(count)
        try:
            upkeep.restore(folder, source)
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


def list_keys(folder: Path) -> list[str]:
    with Store(folder) as store:
        return [record.key for record in store.select()]


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [False, True])
def test_a_restore_that_is_killed_leaves_the_old_store_or_the_new_one(tmp_path: Path, damaged: bool) -> None:
    with Store(tmp_path / "whole") as store:
        record_jobs(store, "a")
        upkeep.back_up(store, tmp_path / "copy")
    with Store(tmp_path / "whole") as store:  # its log has some of the pages, not all
        record_jobs(store, "b")
        copy_store(tmp_path / "whole", tmp_path / "left")
    if damaged:
        (tmp_path / "left/jobs.db").write_bytes(b"nonsense" * 2000)
    old: list[str] | None = None if damaged else ["b", "a"]
    step, seen = 1, []
    while True:
        folder = tmp_path / str(step)
        shutil.copytree(tmp_path / "left", folder)
        ended = not restore_killed_at(step, folder, tmp_path / "copy")
        try:
            now = list_keys(folder)
        except StoreError as error:
            assert damaged and "damaged" in str(error), error
            now = None
        assert now in (old, ["a"]), f"killed at step {step}"
        seen.append(now)
        if ended:
            break
        upkeep.restore(folder, tmp_path / "copy")
        assert list_keys(folder) == ["a"] and not list(folder.glob("*.new*"))
        step += 1
    assert seen[0] == old and seen[-1] == ["a"] and len(seen) > 8, "it was killed before and after"
    assert sorted(seen, key=lambda one: one == ["a"]) == seen


def test_a_restored_file_is_on_disk_before_it_replaces_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "state") as store:
        record_jobs(store, "a")
        upkeep.back_up(store, tmp_path / "copy")
    steps: list[str] = []
    sync, replace = os.fsync, Path.replace
    monkeypatch.setattr(
        os, "fsync", lambda handle: ignore((steps.append(os.readlink(f"/proc/self/fd/{handle}")), sync(handle)))
    )
    monkeypatch.setattr(Path, "replace", lambda self, to: (steps.append("replace"), replace(self, to))[1])
    monkeypatch.setattr(os, "link", lambda *names: refuse_links())
    kept = upkeep.restore(tmp_path / "state", tmp_path / "copy")
    assert kept and list_keys(tmp_path / "state") == ["a"]
    at = steps.index("replace")
    assert steps[at - 1].endswith(".new") and steps[at + 1] == str(tmp_path / "state")
    assert str(kept) in steps[:at], "also where there are no links"


def refuse_links() -> None:
    raise PermissionError(1, "Operation not permitted")


@pytest.mark.slow
def test_one_outage_is_one_line_whichever_request_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here, clock = build_fleet({"a": 2}), {"text": "connection refused"}

    def refuse(self: object, *arguments: object) -> None:
        raise (SubmissionUnknownError if "timed" in clock["text"] else EngineError)(clock["text"])

    def prepare_store(store: Store) -> None:
        api.submit(build_job(1, ["RUNNING"]), here, store=store, key="runs")
        Broker(store, here).step()
        api.submit(build_job(1, ["RUNNING"]), here, store=store, key="held")

    with restore_copy(tmp_path, lambda store: None, prepare_store) as store:
        lines: list[str] = []
        reporter = Reporter(lines.append)
        broker = Broker(store, here, reporter=reporter)

        def step() -> None:
            broker.step()
            reporter.end_step()

        with monkeypatch.context() as down:
            for name in ("poll", "find", "list_nodes", "submit"):
                down.setattr(FakeEngine, name, refuse, raising=False)
            step()
            clock["text"] = "timed out after 12 s"
            step()
            clock["text"] = "timed out after 13 s"
            step()
            with (
                store.transaction() as database
            ):  # not requested now: the first request is for the nodes of the clusters
                database.execute("UPDATE jobs SET state = 'CANCELLED', ended = 1 WHERE key = 'runs'")
            step()
        step()
        step()
    messages = [line.split(" ", 1)[1] for line in lines if "a: " in line and "job" not in line]
    assert messages == ["warning: a: connection refused", "over: a: connection refused"]
