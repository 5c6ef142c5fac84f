"""Several clusters asked at the same time, so that one that hangs keeps nobody from the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any

from ..engines.bounded_io import POLL_TIMEOUT

__all__ = ["ParallelRequests"]


class ParallelRequests:
    """Questions by name (of a connection), each in a thread; of one name one at a time.

    A question that is not answered in time goes on. Nothing else is asked under its name until it has ended, and its
    answer is that of the next question of the same kind.
    """

    def __init__(self, patience: float = POLL_TIMEOUT):
        self.timeout = patience
        self._pending: dict[str, tuple[str, Future[Any]]] = {}

    def run(
        self, kind: str, requests: Mapping[str, Callable[[], Any]]
    ) -> tuple[dict[str, Future[Any]], dict[str, str]]:
        """What has been answered within ``timeout`` seconds; and by name the kind of question that is still open."""
        asked: dict[str, Future[Any]] = {}
        late: dict[str, str] = {}
        for name, question in requests.items():
            before = self._pending.get(name)
            if before and not before[1].done():
                late[name] = before[0]
                continue
            if before and before[0] != kind:
                del self._pending[name]
                before[1].result()  # raises where what was asked before broke off
            if before and before[0] == kind:
                asked[name] = before[1]
            else:
                asked[name] = _start_thread(question, f"{kind}: {name}")
            self._pending[name] = kind, asked[name]
        done, _ = wait(asked.values(), self.timeout)
        late |= {name: kind for name, answer in asked.items() if answer not in done}
        for name in asked.keys() - late.keys():
            del self._pending[name]
        return {name: answer for name, answer in asked.items() if answer in done}, late


def _start_thread(request: Callable[[], Any], name: str) -> Future[Any]:
    answer: Future[Any] = Future()

    def run() -> None:
        try:
            answer.set_result(request())
        except BaseException as error:  # whoever reads the answer gets it
            answer.set_exception(error)

    # daemons: when the process is to end, it does not wait for a cluster that hangs
    threading.Thread(target=run, name=name, daemon=True).start()
    return answer
