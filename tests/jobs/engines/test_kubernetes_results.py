"""What a function returns from a pod: printed there by the program that really runs, read back from logs."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jobs import called

from supercloud.jobs.engines.kubernetes.logs import LogSpool
from supercloud.jobs.executor import _read_remote_program, pack_call
from supercloud.jobs.runtime.remote_call import CALL_VARIABLE


class Logs:
    """Pods with what they printed, as an API server shows it."""

    def __init__(self) -> None:
        self.printed: dict[str, str] = {}

    @property
    def pods(self) -> list[dict[str, Any]]:
        return [
            {"metadata": {"name": name, "namespace": "llm", "uid": name}, "status": {"phase": "Running"}}
            for name in self.printed
        ]

    def get_raw(self, path: str, **_: Any) -> bytes:
        lines = self.printed[path.split("/")[-2]].split("\n")
        stamped = [f"2026-01-01T00:00:00.{number:09d}Z {line}" for number, line in enumerate(lines)]
        return "\n".join(stamped[:-1] + [lines[-1] and stamped[-1]]).encode()


def run_function(function: Any, *args: Any, epoch: int = 1, key: str = "k1", rank: str = "0", before: str = "") -> str:
    """What a pod prints that calls a function."""
    env = {"SUPERCLOUD_RESULT_LOG": "1", "SUPERCLOUD_EPOCH": str(epoch), "SUPERCLOUD_JOB_KEY": key, "RANK": rank}
    env[CALL_VARIABLE] = pack_call(function, args, {})
    words = [sys.executable, "-c", _read_remote_program()]
    done = subprocess.run(words, env={"PATH": "/usr/bin:/bin", **env}, capture_output=True, text=True, timeout=60)
    return before + done.stdout


@pytest.fixture
def logs() -> Logs:
    return Logs()


@pytest.fixture
def spool(tmp_path: Path) -> LogSpool:
    return LogSpool(tmp_path / "k1")


def read_result_and_log(spool: LogSpool, logs: Logs) -> tuple[Any, str]:
    spool.gather(logs, logs.pods)  # type: ignore[arg-type]
    data = spool.read_result()
    return pickle.loads(data) if data else None, spool.read(0).decode()


@pytest.mark.slow
def test_a_result_is_read_from_the_log_and_not_shown_in_it(spool: LogSpool, logs: Logs) -> None:
    logs.printed = {"a-0": run_function(called.add, 40, before="loss 2"), "a-1": run_function(called.add, 40, rank="1")}
    answer, log = read_result_and_log(spool, logs)
    assert answer == ("returned", 42)
    assert log.splitlines() == ["loss 2adding on rank 0", "adding on rank 1"]
    assert read_result_and_log(spool, logs) == (answer, log), "read again it is the same"


def test_a_row_with_many_digits_is_no_part_of_a_result(tmp_path: Path) -> None:
    (tmp_path / "k1").mkdir()
    spool = LogSpool(tmp_path / "k1")
    spool._results.write_bytes(b"1" * 5000 + b" 0 1 YQ==\n1 0 1 YWI=\n")
    assert spool.read_result() == b"ab"


@pytest.mark.slow
def test_an_incomplete_result_stays_in_the_log(spool: LogSpool, logs: Logs) -> None:
    text = run_function(called.add, 40)
    logs.printed = {"a-0": text.replace("0\nsupercloud-result", "0 supercloud-result", 1)}
    assert read_result_and_log(spool, logs) == (("returned", 42), "adding on rank 0 \n")


@pytest.mark.slow
def test_a_large_result_is_read_once_it_is_complete(spool: LogSpool, logs: Logs) -> None:
    text = run_function(called.echo, "x" * 100_000)
    assert max(map(len, text.splitlines())) < 16_000, "container runtimes break longer lines"
    lines = text.splitlines(keepends=True)
    logs.printed = {"a-0": "".join(lines[:-1])}
    assert read_result_and_log(spool, logs)[0] is None
    logs.printed = {"a-0": text}
    assert read_result_and_log(spool, logs) == (("returned", "x" * 100_000), "")


@pytest.mark.slow
def test_a_too_large_result_is_reported(spool: LogSpool, logs: Logs) -> None:
    logs.printed = {"a-0": run_function(called.make_zeros, 5 << 20)}
    (kind, error, _), _ = read_result_and_log(spool, logs)
    assert kind == "raised" and "write it to a file" in str(error)


@pytest.mark.slow
def test_only_the_last_start_of_the_job_counts(spool: LogSpool, logs: Logs) -> None:
    logs.printed = {
        "old": run_function(called.add, 1, epoch=3),
        "new": run_function(called.add, 2, epoch=4),
        "other": run_function(called.add, 3, epoch=9, key="k2"),
    }
    answer, log = read_result_and_log(spool, logs)
    assert answer == ("returned", 4) and "supercloud-result k2 9" in log


@pytest.mark.slow
def test_a_reader_that_is_killed_while_writing_causes_no_later_error(
    spool: LogSpool, logs: Logs, tmp_path: Path
) -> None:
    (tmp_path / "k1").mkdir()
    (tmp_path / "k1" / "results").write_text("1 0 1 gARL\n1 0 x\n\n1 0 2 gA")
    logs.printed = {"a-0": run_function(called.add, 40, epoch=2)}
    assert read_result_and_log(spool, logs)[0] == ("returned", 42)
