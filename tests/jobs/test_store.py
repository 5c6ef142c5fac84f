from __future__ import annotations

from typing import Any

import pytest

from supercloud.errors import InputError, UnknownNameError
from supercloud.jobs.placement.place import Placement
from supercloud.jobs.placement.steps.locality import LocalityRequest
from supercloud.jobs.store.records import Assignment, JobRecord, NewJob
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store


def record(store: Store, key: str = "k", spec: str = "{}") -> tuple[JobRecord, bool]:
    return store.record(
        NewJob(
            key=key,
            name="job",
            spec=spec,
            assignment=Assignment(
                placement="{}", submission="{}", cluster="pod", connection='{"engine":"fake"}', engine="fake"
            ),
        )
    )


def record_queued_job(store: Store, key: str = "k") -> int:
    number = record(store, key)[0].id
    assert store.begin_submission(number)
    store.record_submitted(number, f"ref-{key}")
    return number


def test_every_step_is_in_the_history(store: Store) -> None:
    number = record_queued_job(store)
    store.record_statuses({number: Status(State.RUNNING, 1, started=5.0)})
    store.record_statuses({number: Status(State.COMPLETED, 1, exit_code=0, ended=7.0)})
    assert [event.state for event in store.list_events(number)] == [
        State.PENDING,
        State.SUBMITTING,
        State.QUEUED,
        State.RUNNING,
        State.COMPLETED,
    ]
    last = store.get(number)
    assert (last.started, last.ended, last.exit_code, last.ref) == (5.0, 7.0, 0, "ref-k")


def test_a_key_identifies_one_job(store: Store) -> None:
    first, new = record(store)
    again, renewed = record(store)
    assert new and not renewed and first == again
    with pytest.raises(InputError, match=f"already used by job {first.id}"):
        record(store, spec='{"name": "another"}')


def test_only_one_process_submits_a_job(store: Store) -> None:
    number = record(store)[0].id
    assert store.begin_submission(number)
    assert not store.begin_submission(number)
    owner = store.get(number).owner
    assert store.begin_submission(number, owner), "who knows that the first has died may go on"
    store.release_ownership(number)
    assert store.begin_submission(number)


def test_stale_answers_change_nothing(store: Store) -> None:
    number = record_queued_job(store)
    store.record_statuses({number: Status(State.RUNNING, 1)})
    for stale in (Status(State.QUEUED, 1), Status(State.RUNNING, 1), Status(State.QUEUED)):
        before = store.get(number), len(store.list_events(number))
        store.record_statuses({number: stale})
        assert (store.get(number), len(store.list_events(number))) == before


def test_a_requeued_job_waits_in_its_next_attempt(store: Store) -> None:
    number = record_queued_job(store)
    store.record_statuses({number: Status(State.RUNNING, 1, started=5.0)})
    store.record_statuses({number: Status(State.QUEUED, 2, "it was requeued")})
    assert (store.get(number).attempt, store.get(number).started) == (2, None)
    store.record_statuses({number: Status(State.NODE_FAIL, 1)})
    assert store.get(number).state is State.QUEUED, "the end of the attempt before is no end"
    store.record_statuses({number: Status(State.COMPLETED, exit_code=0)})
    assert store.get(number).attempt == 2, "an engine that does not count keeps the attempt"


def test_a_new_reason_is_recorded_without_an_event(store: Store) -> None:
    number = record_queued_job(store)
    events = len(store.list_events(number))
    store.record_statuses({number: Status(State.QUEUED, 1, "it is next")})
    assert store.get(number).reason == "it is next"
    assert len(store.list_events(number)) == events


def test_jobs_are_selected_by_field(store: Store) -> None:
    numbers = [record_queued_job(store, f"k{n}") for n in range(5)]
    store.record_statuses({numbers[1]: Status(State.FAILED, 1)})
    assert [item.id for item in store.select()] == numbers[::-1]
    assert [item.id for item in store.select(limit=2)] == numbers[:2:-1]
    assert [item.id for item in store.select([State.FAILED])] == [numbers[1]]
    assert [item.id for item in store.list_live()] == [numbers[0], *numbers[2:]]
    with pytest.raises(UnknownNameError, match="'99'"):
        store.get(99)


def test_jobs_remain_after_reopening(store: Store) -> None:
    number = record_queued_job(store)
    with Store(store.folder) as again:
        assert again.get(number) == store.get(number)
        assert again.find_by_key("k") == store.get(number)


def test_two_writers_take_turns(store: Store, tmp_path: Any) -> None:
    with Store(store.folder) as other:
        numbers = [record_queued_job(item, f"k{n}") for n, item in enumerate([store, other] * 10)]
    assert numbers == sorted(numbers) and len(set(numbers)) == 20


@pytest.mark.parametrize("nodes, each, level", [(1, 8, ""), (4, 8, "su"), (2, 0, ""), (1, 0, "su"), (16, 8, "")])
def test_the_location_of_a_job_is_formatted_as_its_placement(store: Store, nodes: int, each: int, level: str) -> None:
    at = Placement("pod", "train", nodes, each, 8, "h100-sxm", locality=LocalityRequest(level=level))
    number = store.record(
        NewJob(key="k", name="job", spec="{}", assignment=Assignment(placement=at.to_json(), cluster="pod"))
    )[0].id
    assert store.get(number).location == f"pod: {at}"
    former = at.to_json().replace('"locality"', '"near"')
    other = NewJob(key="former", name="job", spec="{}", assignment=Assignment(placement=former, cluster="pod"))
    assert store.record(other)[0].location == f"pod: {at}"
    assert store.record(NewJob(key="h", name="job", spec="{}", fleet="all", is_held=True))[0].location == "fleet all"
