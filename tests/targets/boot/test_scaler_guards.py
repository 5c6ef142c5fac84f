"""What the scaler does when something ends, refuses or is damaged in the middle: locks, crashes, files, restarts."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from scaler_machine import UP, Scaler, join_two

HANG = (
    'cloud_size() { : >"$CLOUD/hangs"; until [ -e "$CLOUD/go" ]; do command sleep 0.02; done; cat "$CLOUD/size-$1"; }\n'
)
FAILS = 'cloud_{0}() {{ echo {0} "$@" >>"$SAID"; echo "broken: {0}"; return 1; }}\n'
LIMIT = 60
"""Seconds until a test gives up waiting."""


@pytest.fixture
def scaler(tmp_path: Path) -> Scaler:
    found = Scaler(tmp_path)
    (found.bin / "sleep").unlink()  # that of a boot machine does not sleep
    return found


def wait_for(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + LIMIT
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def is_locked(scaler: Scaler) -> bool:
    """Whether somebody runs a pass."""
    with (scaler.state / "lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_one_pass_at_a_time(scaler: Scaler) -> None:
    """Slurm calls while the loop is in a pass: the second call waits, and asks for nothing twice."""
    scaler.nodes(train_0001=UP)
    scaler.provide(HANG)
    first = scaler.begin_call("pass")
    wait_for((scaler.cloud / "hangs").exists)
    second = scaler.begin_call("resume", "train-0001")
    wait_for(lambda: "Slurm: resume train-0001" in scaler.log)
    assert scaler.asked.count("scontrol -o show nodes") == 1 and is_locked(scaler)
