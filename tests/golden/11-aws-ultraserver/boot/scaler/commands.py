"""What all parts of the scaler share: running a command, the log, and the error that ends a pass."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Journal", "Output", "UnavailableError", "run_command"]


class UnavailableError(Exception):
    """Slurm, the cloud or a file gave no answer.

    What is not known is not acted on: the pass ends, and the next one asks again.
    """


class Output(NamedTuple):
    """How a command ended, and what it wrote."""

    code: int
    text: str


def run_command(command: Sequence[str], *, with_errors: bool = False) -> Output:
    """Run a command to its end.

    Args:
        command: Program and arguments; no shell reads them.
        with_errors: Whether the text has what the command writes to stderr too. Otherwise that goes where the stderr of
            this program goes: the journal of the unit, or slurmctld's log.

    Returns:
        Exit code, and text without the line ends at its end. A program that cannot be started has the code 127, as in
        a shell.
    """
    try:
        done = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if with_errors else None,
            encoding="utf-8",
            errors="surrogateescape",
            # Only the lock is inheritable (Memory.hold_lock): should this program be killed, the lock is held until the
            # call of the cloud that it began has ended.
            close_fds=False,
            check=False,
        )
    except OSError as error:
        return Output(127, f"{command[0]}: {error}")
    return Output(done.returncode, done.stdout.rstrip("\n"))


class Journal:
    """The scaler's log: a line of text with the time in UTC."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, text: str) -> None:
        """Append a line. The file is opened for each, so that it can be rotated."""
        self.append(time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()) + text)

    def append(self, text: str) -> None:
        """Append what a command has written."""
        if text:
            with self._path.open("a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text + "\n")
