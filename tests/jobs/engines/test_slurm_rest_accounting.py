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
from supercloud.jobs.transport.bounded_io import AnswerTooLargeError

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


def raise_not_found(path: str) -> bytes:
    raise urllib.error.HTTPError(ADDRESS, 404, "Not Found", email.message.Message(), io.BytesIO(b"not found"))


def test_a_service_without_accounting_knows_no_job(
    controller: RestController, answer_with: Callable[[Callable[[str], bytes]], list[str]]
) -> None:
    asked = answer_with(raise_not_found)
    assert controller.read_accounts(["1", "2"]) == [] and len(asked) == 2


def test_a_queue_beyond_the_limit_names_another_connection(
    controller: RestController, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(request: urllib.request.Request, timeout: float) -> bytes:
        if request.full_url.endswith("/jobs"):
            raise AnswerTooLargeError("slurmrestd", 10)
        return json.dumps({"errors": []}).encode()

    monkeypatch.setattr(rest.web, "send", send)
    for read in (controller.read_rows, controller.list_waiting_jobs):
        with pytest.raises(EngineError, match="more than 10 bytes; .*--via ssh:HOST"):
            read()


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
