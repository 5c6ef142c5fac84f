from __future__ import annotations

from supercloud.jobs.engines.array_status import aggregate_array_status
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status

C, F, R, Q = (Status(state) for state in (State.COMPLETED, State.FAILED, State.RUNNING, State.QUEUED))


def combine_states(*tasks: Status, count: int = 3) -> State | None:
    found = aggregate_array_status(tasks, count)
    return found.state if found else None


def test_an_array_starts_with_its_first_task_and_ends_with_its_last() -> None:
    assert combine_states(Q) is State.QUEUED and combine_states(Q, R) is State.RUNNING
    assert combine_states(C, Q) is State.RUNNING, "one is through, the others wait"
    assert combine_states(C, C, C) is State.COMPLETED and combine_states(C, F, C) is State.FAILED
    assert combine_states(C, Status(State.CANCELLED), Status(State.TIMEOUT)) is State.TIMEOUT


def test_values_that_are_not_known_for_all_tasks_are_omitted() -> None:
    assert combine_states(C, C) is None and combine_states() is None
    assert aggregate_array_status([C], 1) is C and aggregate_array_status([], 1) is None


def test_numbers_of_an_array_are_combined() -> None:
    one = Status(State.FAILED, 1, "ended with exit code 3", 3, 5.0, 9.0)
    other = Status(State.COMPLETED, 1, "", 0, 4.0, 12.0)
    assert aggregate_array_status([one, other], 2) == Status(
        State.FAILED, 0, "1 of 2 tasks: ended with exit code 3", 3, 4.0, 12.0
    )
    assert aggregate_array_status([other, other], 2) == Status(State.COMPLETED, 0, "", 0, 4.0, 12.0)
