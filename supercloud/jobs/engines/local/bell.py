"""Communication between submitters and the agent: a lock that is held by the agent, and a pipe that wakes it.

Writing to a pipe without a reader fails, so waking also detects whether an agent runs. A process that finds none takes
the lock, opens the pipe and passes both to a new agent: the next wake-up is answered immediately, and two agents never
start. An agent that exits closes its end of the pipe, checks the queue once more, and exits.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

from ...store.private_files import create_private_file

__all__ = ["AGENT_VARIABLE", "open_pipe", "wake_agent", "ensure_agent"]

AGENT_VARIABLE = "SUPERCLOUD_AGENT"
"""Set for agents: they are not ended with the job that started them."""
_START_TIMEOUT = 2.0  # seconds that an exiting agent may take


def open_pipe(folder: Path) -> int:
    """Open the agent's end; from now on wake-ups are received."""
    path = folder / "bell"
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path, 0o600)
    return os.open(
        path, os.O_RDWR | os.O_NONBLOCK
    )  # also for writing: otherwise each writer that closes causes an end of file


def wake_agent(folder: Path) -> bool:
    """Wake the agent; False if none runs."""
    try:
        bell = os.open(folder / "bell", os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENOENT):
            return False
        raise
    try:
        with contextlib.suppress(BlockingIOError):  # full: enough wake-ups are pending
            os.write(bell, b"!")
        return True
    except BrokenPipeError:
        return False
    finally:
        os.close(bell)


def ensure_agent(folder: Path, idle_timeout: float) -> None:
    """Ensure that an agent processes the queue: wake it, or start one that exits after ``idle_timeout`` seconds without
    work.
    """
    end = time.monotonic() + _START_TIMEOUT
    while not wake_agent(folder) and not _start_agent(folder, idle_timeout) and time.monotonic() < end:
        time.sleep(0.005)  # an agent is about to exit, or to open its pipe


def _start_agent(folder: Path, idle_timeout: float) -> bool:
    lock = os.open(folder / "agent.lock", os.O_RDWR | os.O_CREAT, 0o600)
    pipe = -1
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        pipe = open_pipe(folder)
        create_private_file(folder / "agent.log")
        module = f"{__package__}.agent"
        command = [sys.executable, "-m", module, str(folder), str(lock), str(pipe), str(idle_timeout)]
        # an agent started by a job is not part of that job
        env = {name: value for name, value in os.environ.items() if name != "SUPERCLOUD_RUN"}
        env[AGENT_VARIABLE] = str(folder)
        # an intermediate shell that exits immediately: the agent has no parent here, and outlives all submitters
        detach = 'log=$1; shift; "$@" </dev/null >>"$log" 2>&1 &'
        subprocess.run(
            ["/bin/sh", "-c", detach, "sh", str(folder / "agent.log"), *command],
            pass_fds=(lock, pipe),
            start_new_session=True,
            check=True,
            cwd="/",
            env=env,
        )
        return True
    except BlockingIOError:
        return False
    finally:
        os.close(lock)  # the agent has inherited it: the lock stays held
        if pipe >= 0:
            os.close(pipe)
