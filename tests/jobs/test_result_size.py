"""A result is read in linear time, up to a size."""

from __future__ import annotations

from typing import Any

import pytest

from supercloud.errors import EngineError
from supercloud.jobs import job as handle
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.job import Job
from supercloud.jobs.store.records import Assignment, NewJob
from supercloud.jobs.store.store import Store

PIECE = 4096


class Piece(bytes):
    """Notes how much is copied where pieces are put together one by one."""

    copied = 0

    def __add__(self, after: Any) -> Piece:
        Piece.copied += len(self)
        return Piece(bytes(self) + bytes(after))

    def __radd__(self, before: Any) -> Piece:
        return Piece(before) + self


class Keeps(FakeEngine):
    """An engine that has so many bytes of a result."""

    size = 0

    def read_result(self, key: str, offset: int) -> bytes:
        return Piece(b"x" * min(PIECE, self.size - offset))


@pytest.fixture
def done(store: Store, monkeypatch: pytest.MonkeyPatch) -> Job:
    monkeypatch.setitem(handle.open_engine.__globals__["ENGINES"], "keeps", f"{__name__}:Keeps")
    record, _ = store.record(
        NewJob(key="k", name="job", spec="{}", assignment=Assignment(connection='{"engine":"keeps"}', engine="keeps"))
    )
    return Job(record, store)


def test_a_result_of_many_pieces_is_not_copied_per_piece(done: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Keeps, "size", 200 * PIECE)
    monkeypatch.setattr(Piece, "copied", 0)
    assert done.read_output() == b"x" * 200 * PIECE
    assert Piece.copied < 2 * 200 * PIECE


def test_an_endless_result_is_aborted_with_a_next_step(done: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Keeps, "size", 10**15)
    monkeypatch.setattr(handle, "MAX_RESULT_BYTES", 100 * PIECE)
    with pytest.raises(EngineError, match="job 1 .job. has more than 409,600 bytes.*shared storage"):
        done.read_output()
