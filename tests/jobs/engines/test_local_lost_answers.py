"""A job that is in the queue of this machine is looked up, and never recorded as refused."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
from jobs.engines.scheduler_stand_in import SLURM_AT, build_job

from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.local import engine as local
from supercloud.spec.fleet import Connection


def test_a_queued_job_is_not_refused_if_no_agent_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = local.LocalEngine(Connection(engine="local"), tmp_path)

    def refuse_process(*_: Any) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(local, "ensure_agent", refuse_process)
    with pytest.raises(SubmissionUnknownError, match="temporarily unavailable"):
        engine.submit(engine.prepare(build_job(image=None), SLURM_AT, "k"))
    assert engine.find(["k"], 0.0) == {"k": "1"}
