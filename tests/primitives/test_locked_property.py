"""A value that several threads read at the same time is computed once, and objects do not wait for each other."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from supercloud.primitives.locked_property import LockedProperty


class Client:
    def __init__(self) -> None:
        self.released, self.computed = threading.Event(), 0

    @LockedProperty
    def version(self) -> int:
        """The version."""
        self.computed += 1
        assert self.released.wait(60)
        return self.computed


def test_a_value_is_computed_once_for_all_threads() -> None:
    client = Client()
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(lambda: client.version) for _ in range(4)]
        client.released.set()
        assert [answer.result() for answer in answers] == [1] * 4
    assert client.computed == 1


def test_an_object_does_not_wait_for_another() -> None:
    slow, quick = Client(), Client()
    quick.released.set()
    with ThreadPoolExecutor(2) as pool:
        late = pool.submit(lambda: slow.version)
        assert pool.submit(lambda: quick.version).result(60) == 1 and not late.done()
        slow.released.set()
        assert late.result() == 1


def test_a_value_that_was_not_computed_is_computed_by_the_next_read() -> None:
    class Failing:
        tries = 0

        @LockedProperty
        def value(self) -> str:
            self.tries += 1
            if self.tries == 1:
                raise ValueError("no")
            return "yes"

    failing = Failing()
    with pytest.raises(ValueError, match="no"):
        _ = failing.value
    assert failing.value == failing.value == "yes" and failing.tries == 2
    assert Client.version.__doc__ == "The version."
