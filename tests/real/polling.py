"""Waiting for a state of a real part: ask again until it is there, and show what was last seen when it never is."""

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
    """Ask until the answer is true, and return it.

    Args:
        what: the awaited state, for the message.
        ask: returns something true once the state is there. What it raises ends the wait.
        seconds: the limit; at least a minute, as the machine may be busy.
        interval: seconds between two questions.
        show: what to print when time is up, instead of the last answer.

    Raises:
        AssertionError: with what was last seen, when time is up.
    """
    end = time.monotonic() + max(seconds, 60.0)
    while not (answer := ask()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds:.0f} s: {what}; last seen: {show() if show else answer!r}")
        time.sleep(interval)
    return answer


def check_stays(what: str, ask: Callable[[], Any], seconds: float, interval: float = 0.5) -> None:
    """Check that an answer is true, again and again for some seconds: for what must not happen.

    Raises:
        AssertionError: as soon as it is not.
    """
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        answer = ask()
        assert answer, f"no longer: {what}; last seen: {answer!r}"
        time.sleep(interval)
