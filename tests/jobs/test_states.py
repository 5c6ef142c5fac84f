from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supercloud.jobs.store.states import FINAL_STATES, LIVE_STATES, State, can_follow


def test_no_state_follows_a_final_state() -> None:
    for old, new in itertools.product(FINAL_STATES, State):
        assert not can_follow(old, new, 1, 2)


def test_within_an_attempt_jobs_move_forward() -> None:
    assert can_follow(State.QUEUED, State.RUNNING)
    assert not can_follow(State.RUNNING, State.QUEUED)
    assert can_follow(State.RUNNING, State.QUEUED, 1, 2)
    assert not can_follow(State.QUEUED, State.RUNNING, 2, 1)  # an old answer


def test_every_live_state_can_end() -> None:
    for state in LIVE_STATES:
        reachable, seen = {state}, set[State]()
        while reachable - seen:
            seen |= (here := reachable - seen)
            reachable |= {new for old in here for new in State if can_follow(old, new)}
        assert State.CANCELLED in reachable


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(State), st.integers(1, 4)), max_size=30))
def test_no_order_of_answers_repeats_a_state(answers: list[tuple[State, int]]) -> None:
    state, attempt = State.QUEUED, 1
    seen = {(state, attempt)}
    for new, number in answers:
        if can_follow(state, new, attempt, number):
            assert (new, number) not in seen or State.UNKNOWN in (state, new)
            state, attempt = new, number
            seen.add((state, attempt))
