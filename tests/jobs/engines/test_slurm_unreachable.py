"""A service that has not received a submission is distinguished from a lost answer."""

from __future__ import annotations

from pathlib import Path

import pytest
from jobs.engines.scheduler_stand_in import Scheduler, submit

from supercloud.errors import EngineUnreachableError
from supercloud.jobs.engines.slurm import tokens
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.spec.fleet import Connection


def test_a_service_that_refuses_connections_has_received_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JWT", "secret")
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, "http://127.0.0.1:1")
    with pytest.raises(EngineUnreachableError, match="is unreachable"):
        submit(SlurmEngine(Connection(engine="slurm", via="http://127.0.0.1:1"), tmp_path))


@pytest.mark.parametrize("code, text", [(503, "503"), (0, "closed the connection")], ids=["proxy", "no answer"])
def test_a_service_that_does_not_respond_before_the_submission_has_received_nothing(
    rest: SlurmEngine, monkeypatch: pytest.MonkeyPatch, code: int, text: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Scheduler, "do_GET", lambda self: self.answer(code, {}) if code else None)
        with pytest.raises(EngineUnreachableError, match=text):
            submit(rest)
    assert not Scheduler.jobs and submit(rest) == "1"
