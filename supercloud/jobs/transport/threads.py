"""Requests in threads that do not keep the process alive."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

__all__ = ["start_thread"]


def start_thread(request: Callable[[], Any], name: str) -> Future[Any]:
    """The future answer of a request, which runs in a thread of this name; it also has the request's exception."""
    answer: Future[Any] = Future()

    def run() -> None:
        try:
            answer.set_result(request())
        except BaseException as error:  # raised where the answer is read
            answer.set_exception(error)

    # daemon threads: the process exits without waiting for a cluster that hangs
    threading.Thread(target=run, name=name, daemon=True).start()
    return answer
