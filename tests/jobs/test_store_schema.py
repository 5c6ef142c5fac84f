"""A store of the first version is brought up to the present one with everything in it."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from supercloud.errors import StoreError
from supercloud.jobs.broker import ledger
from supercloud.jobs.store.records import Assignment, NewJob
from supercloud.jobs.store.schema import MIGRATIONS
from supercloud.jobs.store.spending import compute_period_start
from supercloud.jobs.store.states import LIVE_STATES, State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store


def write_first_version(folder: Path) -> Path:
    """As the first release left it."""
    folder.mkdir()
    connection = sqlite3.connect(folder / "jobs.db")
    connection.executescript(MIGRATIONS[0])
    connection.execute("PRAGMA user_version = 1")
    rows = [
        ("a", '{"name":"a","tenant":"llm","priority":"high","retries":3}', "RUNNING", 5.0),
        ("b", "{}", "COMPLETED", 1.0),
    ]
    connection.executemany(
        "INSERT INTO jobs (key, name, spec, placement, submission, cluster, connection, engine, state, recorded,"
        " started) VALUES (?, 'job', ?, '{}', '{}', 'pod', '{\"engine\":\"fake\"}', 'fake', ?, 1, ?)",
        rows,
    )
    connection.commit()
    connection.close()
    return folder


def test_jobs_of_the_first_version_are_migrated(tmp_path: Path) -> None:
    with Store(write_first_version(tmp_path / "old")) as store:
        one, two = store.get(1), store.get(2)
        assert (one.tenant, one.priority, one.retries, one.launch, one.fleet) == ("llm", "high", 3, 0, "")
        assert (two.tenant, two.priority, two.retries) == ("", "normal", 0)
        assert [record.id for record in store.list_live()] == [1]
        assert one.compute_energy() is None and one.compute_cost() is None, "what it used is not known, and not nothing"
        store.record_statuses({1: Status(State.COMPLETED, 1, exit_code=0, ended=8.0)})
        assert store.get(1).state is State.COMPLETED
    with Store(tmp_path / "old") as again:
        assert again.get(1).ended == 8.0


def test_launches_that_an_earlier_version_abandoned_are_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is as the version before the keys of abandoned starts wrote it."""
    before = next(n for n, text in enumerate(MIGRATIONS) if "ALTER TABLE abandoned ADD COLUMN key" in text)
    with monkeypatch.context() as earlier:
        earlier.setattr("supercloud.jobs.store.store.MIGRATIONS", MIGRATIONS[:before])
        with Store(tmp_path) as store:
            number = store.record(NewJob(key="k", name="job", spec="{}", assignment=Assignment(connection="{}")))[0].id
            with store.transaction() as database:
                database.execute("INSERT INTO abandoned (job, connection, ref) VALUES (?, '{}', '5')", (number,))
    with Store(tmp_path) as store:
        store.add_abandoned(replace(store.get(number), launch=1), ["5"])
        assert [(item.job, item.ref, item.key) for item in ledger.list_abandoned(store)] == [
            (number, "5", ""),
            (number, "5", "k.e1"),
        ]


def test_an_older_version_refuses_a_newer_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Store(tmp_path).close()
    monkeypatch.setattr("supercloud.jobs.store.store.MIGRATIONS", MIGRATIONS[:1])
    with pytest.raises(StoreError, match="newer supercloud"):
        Store(tmp_path)


def test_an_interrupted_migration_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_first_version(tmp_path / "old")
    broken = (MIGRATIONS[0], MIGRATIONS[1] + "; CREATE TABLE jobs (a)")
    monkeypatch.setattr("supercloud.jobs.store.store.MIGRATIONS", broken)
    with pytest.raises(StoreError):
        Store(folder)
    monkeypatch.undo()
    with Store(folder) as store:
        assert store.get(1).tenant == "llm"


def test_the_index_over_live_jobs_is_used(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        among = ", ".join(f"'{state}'" for state in State if state in LIVE_STATES)
        plan = store.read(f"EXPLAIN QUERY PLAN SELECT * FROM jobs WHERE state IN ({among}) ORDER BY id DESC LIMIT 5")
        assert any("live_jobs" in row["detail"] for row in plan)
        plan = store.read(
            "EXPLAIN QUERY PLAN SELECT * FROM jobs WHERE tenant = 'a' AND (ended >= 1 OR ended IS NULL)"
            " AND (hourly IS NOT NULL OR dollars > 0)"
        )
        assert any("spending" in row["detail"] for row in plan)


def test_energy_and_cost_add_up_over_starts(store: Store) -> None:
    number = store.record(
        NewJob(key="k", name="job", spec="{}", fleet="f", retries=5, assignment=Assignment(watts=1000.0, hourly=10.0))
    )[0].id
    store.begin_submission(number)
    store.record_submitted(number, "r")
    store.record_statuses({number: Status(State.RUNNING, 1, started=1000.0)})
    store.record_statuses({number: Status(State.QUEUED, 2)})
    first = store.get(number)
    assert first.joules is not None and first.joules > 0 and first.compute_run_time() == 0
    with store.transaction() as database:
        database.execute("UPDATE jobs SET joules = 3.6e6, dollars = 10")
    store.record_statuses({number: Status(State.RUNNING, 2, started=2000.0)})
    store.record_statuses({number: Status(State.COMPLETED, 2, ended=2000.0 + 1800)})
    done = store.get(number)
    assert done.compute_energy() == pytest.approx(3.6e6 + 1.8e6) and done.compute_cost() == pytest.approx(15.0)


@pytest.mark.parametrize(
    "per, begin",
    [("day", 1795132800), ("week", 1794787200), ("month", 1793491200), ("quarter", 1790812800), ("year", 1767225600)],
)
def test_budget_periods_start_at_calendar_boundaries(per: str, begin: int) -> None:
    now = 1795213461.0  # Friday, 20 November 2026, 22:24 UTC
    assert compute_period_start(per, now) == begin
