"""Parallel requests to several clusters, so that one that hangs does not delay the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from functools import partial
from typing import Any

from ..transport.bounded_io import POLL_TIMEOUT
from ..transport.threads import start_thread

__all__ = ["ParallelRequests"]


class ParallelRequests:
    """Requests by name (of a connection), each in a thread; one at a time per name.

    A request that is not answered in time continues. No other is sent under its name until it has ended, and its answer
    is that of the next request of the same kind.
    """

    def __init__(self, timeout: float = POLL_TIMEOUT):
        self.timeout = timeout
        self._pending: dict[str, tuple[str, Future[Any]]] = {}

    def run(
        self, kind: str, requests: Mapping[str, Callable[[], Any]]
    ) -> tuple[dict[str, Future[Any]], dict[str, str]]:
        """The answers within ``timeout`` seconds; and, by name, the kind of request that is still open."""
        running: dict[str, Future[Any]] = {}
        late: dict[str, str] = {}
        for name, request in requests.items():
            before = self._pending.get(name)
            if before and not before[1].done():
                late[name] = before[0]
                continue
            if before and before[0] != kind:
                del self._pending[name]
                before[1].result()  # raises if the previous request failed
            if before and before[0] == kind:
                running[name] = before[1]
            else:
                running[name] = start_thread(request, f"{kind}: {name}")
            self._pending[name] = kind, running[name]
        done, _ = wait(running.values(), self.timeout)
        late |= {name: kind for name, answer in running.items() if answer not in done}
        for name in running.keys() - late.keys():
            del self._pending[name]
        return {name: answer for name, answer in running.items() if answer in done}, late

    def run_steps(
        self, kind: str, steps: Mapping[str, Sequence[Callable[[], object]]]
    ) -> tuple[dict[str, Future[Any]], dict[str, str]]:
        """As :meth:`run`, for several steps by name; the answers are the numbers of steps that returned a true value.

        The steps of a name are taken in order until half of the timeout has passed; the caller repeats the others.
        """
        return self.run(kind, {name: partial(self._run_in_order, mine) for name, mine in steps.items()})

    def _run_in_order(self, steps: Sequence[Callable[[], object]]) -> int:
        end = time.monotonic() + self.timeout / 2
        count = 0
        for step in steps:
            count += bool(step())
            if time.monotonic() > end:
                break
        return count
