"""``supercloud wait`` polls at the same pace, and gives up after the same time, on a terminal and elsewhere."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
import rich.progress  # noqa: F401  (it must not see the clock of this test)

from supercloud.cli.wait import _print_states, _wait_with_progress
from supercloud.errors import EngineError
from supercloud.jobs.engines.base import ENGINES
from supercloud.jobs.engines.fake import FakeEngine
from supercloud.jobs.job import UNRESPONSIVE_TIMEOUT, Job
from supercloud.jobs.store.records import Assignment, NewJob
from supercloud.jobs.store.store import Store

INTERVAL = 5.0


@pytest.mark.parametrize("is_terminal", [True, False])
def test_wait_ends_if_the_engine_does_not_respond(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    now, polls = [1000.0], 0

    def poll(*_: object) -> None:
        nonlocal polls
        polls += 1
        raise EngineError("no answer")

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(FakeEngine, "poll", poll)
    monkeypatch.setattr(FakeEngine, "poll_interval", INTERVAL)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    with Store(tmp_path / "state") as store:
        assignment = Assignment(connection='{"engine":"fake"}', engine="fake")
        record, _ = store.record(NewJob(key="k", name="job", spec="{}", assignment=assignment))
        assert store.begin_submission(record.id)
        store.record_submitted(record.id, "1")
        with monkeypatch.context() as patched:
            patched.setattr(time, "monotonic", lambda: now[0])
            patched.setattr(time, "sleep", sleep)
            with pytest.raises(EngineError, match="no answer"):
                _wait_with_progress([Job(store.get(record.id), store)], None)
    assert UNRESPONSIVE_TIMEOUT < now[0] - 1000.0 < UNRESPONSIVE_TIMEOUT + 2 * INTERVAL
    assert UNRESPONSIVE_TIMEOUT / INTERVAL < polls < UNRESPONSIVE_TIMEOUT / INTERVAL + 20


class WithoutLogs:
    """An engine that keeps no output."""

    def __init__(self, *_: object) -> None: ...


@pytest.mark.parametrize(
    "engine, connection, command",
    [("fake", True, "logs 1"), ("fake", False, "jobs"), ("without", True, "jobs"), ("uninstalled", True, "jobs")],
)
def test_logs_are_recommended_only_if_there_are_logs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    engine: str,
    connection: bool,
    command: str,
) -> None:
    monkeypatch.setitem(ENGINES, "without", f"{__name__}:WithoutLogs")
    with Store(tmp_path / "state") as store:
        text = f'{{"engine":"{engine}"}}' if connection else ""
        record, _ = store.record(NewJob(key="k", name="job", spec="{}", assignment=Assignment(connection=text)))
        _print_states([Job(record, store)])
    assert f"next: supercloud {command}\n" in capsys.readouterr().err
