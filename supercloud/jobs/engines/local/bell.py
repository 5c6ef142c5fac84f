"""How submitters and the agent find each other: a lock that says who the agent is, and a pipe that wakes it.

An open pipe without a reader refuses its writers, so ringing also tells whether an agent is there. Whoever finds none
takes the lock, opens the pipe and hands both to a new agent: the next one to ring is answered at once, and no two
agents ever start. An agent that wants to leave closes its end of the pipe, looks into the queue once more, and goes.
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

__all__ = ["open_pipe", "wake_agent", "ensure_agent"]

_START_TIMEOUT = 2.0  # seconds a leaving agent may take


def open_pipe(folder: Path) -> int:
    """The agent's end; from now on ringing is heard."""
    path = folder / "bell"
    with contextlib.suppress(FileExistsError):
        os.mkfifo(path, 0o600)
    return os.open(path, os.O_RDWR | os.O_NONBLOCK)  # also for writing: otherwise each writer that leaves is an end


def wake_agent(folder: Path) -> bool:
    """Wake the agent; False when there is none."""
    try:
        bell = os.open(folder / "bell", os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in (errno.ENXIO, errno.ENOENT):
            return False
        raise
    try:
        with contextlib.suppress(BlockingIOError):  # full: it has been rung often enough
            os.write(bell, b"!")
        return True
    except BrokenPipeError:
        return False
    finally:
        os.close(bell)


def ensure_agent(folder: Path, idle_timeout: float) -> None:
    """See to it that an agent works the queue off: ring, or start one that leaves after ``idle_timeout`` seconds of
    nothing."""
    end = time.monotonic() + _START_TIMEOUT
    while not wake_agent(folder) and not _start_agent(folder, idle_timeout) and time.monotonic() < end:
        time.sleep(0.005)  # one is about to leave, or to open its pipe


def _start_agent(folder: Path, idle_timeout: float) -> bool:
    lock = os.open(folder / "agent.lock", os.O_RDWR | os.O_CREAT, 0o600)
    pipe = -1
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        pipe = open_pipe(folder)
        create_private_file(folder / "agent.log")
        module = f"{__package__}.agent"
        command = [sys.executable, "-m", module, str(folder), str(lock), str(pipe), str(idle_timeout)]
        # the agent of a job that submits jobs is no part of that job
        env = {name: value for name, value in os.environ.items() if name != "SUPERCLOUD_RUN"}
        # a shell in between that ends at once: the agent is nobody's child, and outlives everybody
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
        os.close(lock)  # the agent has its own copy: the lock stays
        if pipe >= 0:
            os.close(pipe)
