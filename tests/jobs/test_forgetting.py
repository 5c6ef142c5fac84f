"""Jobs whose engine will never report an end are ended in the store on request."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from supercloud.cli import app
from supercloud.errors import InputError
from supercloud.jobs import maintenance as upkeep
from supercloud.jobs.forgetting import forget
from supercloud.jobs.store.records import Assignment, JobRecord, NewJob
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store


def record_job(store: Store, key: str = "k", *, submitted: bool = True) -> JobRecord:
    at = Assignment(submission="{}", connection='{"engine":"fake"}', engine="fake", cluster="gone")
    job, _ = store.record(NewJob(key=key, name="job", spec="{}", assignment=at))
    assert store.begin_submission(job.id)
    if submitted:
        store.record_submitted(job.id, "ref-7")
    return store.get(job.id)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "state")


def test_a_lost_job_ends_when_its_engine_first_did_not_report_it(store: Store) -> None:
    job = record_job(store)
    store.record_statuses({job.id: Status(State.UNKNOWN, reason="job not found")})
    lost = time.time()
    with store.transaction() as database:
        database.execute("UPDATE events SET at = at - 7200 WHERE job = ?", (job.id,))
    store.add_note(job.id, "requested to cancel")
    assert forget(store, [job.id]) == [f"job {job.id}: it may still run on gone as ref-7"]
    ended = store.get(job.id)
    assert ended.state is State.FAILED and "supercloud store forget" in ended.reason and "ref-7" in ended.reason
    assert ended.ended == pytest.approx(lost - 7200, abs=5)
    assert store.list_events(job.id)[-1].state is State.FAILED


def test_a_submission_with_a_live_owner_is_not_forgotten(store: Store) -> None:
    job = record_job(store, submitted=False)
    with pytest.raises(InputError, match="being submitted by another process"):
        forget(store, [job.id], force=True)
    store.release_ownership(job.id)
    assert "may have been submitted to gone" in forget(store, [job.id])[0]
    assert store.get(job.id).state is State.FAILED


def test_jobs_that_an_engine_reports_are_forgotten_only_with_force(store: Store) -> None:
    job, other = record_job(store), record_job(store, "other")
    store.record_statuses({other.id: Status(State.UNKNOWN)})
    with pytest.raises(InputError, match=rf"job {job.id} was last reported as QUEUED .*--force.*unknown job '99'"):
        forget(store, [other.id, job.id, 99])
    assert store.get(other.id).state is State.UNKNOWN, "all or none"
    assert len(forget(store, [job.id, job.id], force=True)) == 1
    assert store.get(job.id).state is State.FAILED


def test_abandoned_launches_of_an_ended_job_no_longer_keep_it(store: Store) -> None:
    job = record_job(store)
    store.add_abandoned(job, ["ref-7"])
    store.record_statuses({job.id: Status(State.COMPLETED, exit_code=0, started=1e9, ended=1e9 + 1)})
    kept = upkeep.prune(store, 2e9)
    assert kept.pruned_jobs == 0 and f"supercloud store forget {job.id}" in kept.kept_reasons[0]
    assert "1 abandoned launch" in forget(store, [job.id])[0]
    with pytest.raises(InputError, match="has ended"):
        forget(store, [job.id])
    assert upkeep.prune(store, 2e9).pruned_jobs == 1


def test_the_command_forgets_jobs_by_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERCLOUD_STATE", str(tmp_path / "state"))
    with Store(tmp_path / "state") as store:
        job = record_job(store)
    for arguments, words in (
        ([], "requires the number of a job"),
        (["x"], "'x' is not the number of a job"),
        ([str(job.id)], "--force"),
    ):
        refused = CliRunner().invoke(app, ["store", "forget", *arguments])
        assert refused.exit_code and words in refused.output + str(refused.exception)
    done = CliRunner().invoke(app, ["store", "forget", "--force", str(job.id)])
    assert done.exit_code == 0 and done.output == f"job {job.id}: it may still run on gone as ref-7\n"
