"""Waits for conditions, and ends processes that tests have started."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from supercloud.jobs.store.processes import find_by_environment


def stop_agent(folder: Path, number: int = signal.SIGKILL) -> bool:
    """Kill the agent of a state folder, if there is one."""
    with contextlib.suppress(OSError, ValueError):
        pid = int((folder / "local/agent.lock").read_text())
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if str(folder / "local").encode() in arguments:
            os.kill(pid, number)
            return True
    return False


def end_everything(folder: Path) -> None:
    """Kill the agent of a state folder and what its jobs have started."""
    stop_agent(folder)
    for pid in find_by_environment("SUPERCLOUD_RUN", f"{folder}/"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_for(question: Callable[[], Any], seconds: float = 20.0) -> Any:
    """The answer, as soon as it is true."""
    end = time.monotonic() + seconds
    while True:
        answer = question()
        if answer or time.monotonic() > end:
            assert answer, "it never became true"
            return answer
        time.sleep(0.01)
