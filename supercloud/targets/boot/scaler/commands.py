"""Common parts of the scaler: running a command, the log, and the error that ends a pass."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Journal", "Output", "UnavailableError", "run_command"]


class UnavailableError(Exception):
    """Slurm or the cloud did not respond, or a file cannot be read.

    The pass ends, as nothing is changed by incomplete information; the next one tries again.
    """


class Output(NamedTuple):
    """Exit code and output of a command."""

    code: int
    text: str


def run_command(command: Sequence[str], *, with_errors: bool = False) -> Output:
    """Run a command to its end.

    Args:
        command: Program and arguments; no shell reads them.
        with_errors: Whether the output includes stderr. Otherwise stderr is that of this program: the journal of the
            unit, or slurmctld's log.

    Returns:
        Exit code, and output without trailing newlines. A program that cannot be started has the code 127, as in a
        shell.
    """
    try:
        done = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if with_errors else None,
            # Only the lock is inheritable (Memory.hold_lock): if this program is killed, the lock is held until its
            # call of the cloud has ended.
            close_fds=False,
            check=False,
        )
    except OSError as error:
        return Output(127, f"{command[0]}: {error}")
    # not in text mode, which also ends lines at carriage returns
    return Output(done.returncode, done.stdout.decode("utf-8", "surrogateescape").rstrip("\n"))


class Journal:
    """The scaler's log: lines with the time in UTC."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, text: str) -> None:
        """Append a line. The file is opened for each line, so that it can be rotated."""
        self.append(time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()) + text)

    def append(self, text: str) -> None:
        """Append the output of a command."""
        if text:
            with self._path.open("a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text + "\n")
