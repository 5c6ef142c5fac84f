"""Waiting for a state of a real component: poll until it is reached, and report the last observation if it is not."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["PATIENCE", "check_stays", "wait_for"]

PATIENCE = 240.0
"""Seconds. Only a test that fails waits so long, so it can be generous to a machine that is busy with other work."""


def wait_for(
    what: str,
    ask: Callable[[], Any],
    *,
    seconds: float = PATIENCE,
    interval: float = 0.1,
    show: Callable[[], object] | None = None,
) -> Any:
    """Poll until the answer is true, and return it.

    Args:
        what: the expected state, for the message.
        ask: returns a true value when the state is reached. An exception ends the wait.
        seconds: the limit; at least a minute, as the machine may be busy.
        interval: seconds between two calls.
        show: returns the text for the message after the limit, instead of the last answer.

    Raises:
        AssertionError: with the last observation, after the limit.
    """
    end = time.monotonic() + max(seconds, 60.0)
    while not (answer := ask()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:.0f} s: {what}; last seen: {show() if show else answer!r}")
        time.sleep(interval)
    return answer


def check_stays(what: str, ask: Callable[[], Any], seconds: float, interval: float = 0.5) -> None:
    """Check repeatedly for some seconds that an answer is true: for events that must not happen.

    Raises:
        AssertionError: as soon as it is false.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = ask()
        assert answer, f"no longer: {what}; last seen: {answer!r}"
        time.sleep(interval)
