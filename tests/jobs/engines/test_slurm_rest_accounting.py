"""Accounting through slurmrestd that does not respond, or that has another clock: no job is lost or started twice."""

from __future__ import annotations

import email.message
import io
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from supercloud.errors import EngineError
from supercloud.jobs.engines.slurm import rest, tokens
from supercloud.jobs.engines.slurm.rest import RestController

ADDRESS = "http://127.0.0.1:1"


@pytest.fixture
def controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RestController:
    monkeypatch.setenv("SLURM_JWT", "secret")
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, ADDRESS)
    return RestController(ADDRESS, tmp_path)


@pytest.fixture
def answer_with(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[str], bytes]], list[str]]:
    """Replace the connection by a function of the path; returns the paths below ``slurmdb`` that are requested."""

    def replace(answer: Callable[[str], bytes]) -> list[str]:
        asked: list[str] = []

        def send(request: urllib.request.Request, timeout: float) -> bytes:
            path = request.full_url.removeprefix(ADDRESS)
            if path.startswith("/slurmdb/"):
                asked.append(path)
                return answer(path)
            return json.dumps({"errors": [], "jobs": []}).encode()

        monkeypatch.setattr(rest.web, "send", send)
        return asked

    return replace


def raise_timeout(path: str) -> bytes:
    raise TimeoutError


def raise_gateway_timeout(path: str) -> bytes:
    raise urllib.error.HTTPError(ADDRESS, 504, "Gateway Time-out", email.message.Message(), io.BytesIO(b"<html>"))


@pytest.mark.parametrize("answer", [raise_timeout, raise_gateway_timeout])
def test_accounting_that_hangs_is_asked_once(
    controller: RestController,
    answer_with: Callable[[Callable[[str], bytes]], list[str]],
    answer: Callable[[str], bytes],
) -> None:
    asked = answer_with(answer)
    with pytest.raises(EngineError):  # not an empty answer, which would say that it does not know the jobs
        controller.read_accounts(["1", "2", "3"])
    assert len(asked) == 1


def test_a_submission_is_found_if_the_clock_of_this_machine_is_a_day_ahead(
    controller: RestController, answer_with: Callable[[Callable[[str], bytes]], list[str]]
) -> None:
    asked = answer_with(lambda path: b'{"jobs": [], "errors": []}')
    assert controller.read_older_jobs(60) == []
    submitted = time.time() - 60 - 86_400
    assert int(asked[0].partition("start_time=")[2]) < submitted
