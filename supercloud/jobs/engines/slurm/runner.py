"""The one place where a process is started on behalf of the Slurm engine; replaced by recordings in tests."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Protocol

from ....errors import EngineError
from ...engine import Unsure

__all__ = ["Answer", "Here", "Runner"]

_PATIENCE = 120  # seconds; Slurm's own commands give up after a minute or so


@dataclass(frozen=True)
class Answer:
    """What a command said."""

    code: int
    out: str
    error: str = ""


class Runner(Protocol):
    """Runs a command where Slurm is."""

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> Answer:
        """Its exit code and what it printed."""


class Here:
    """Runs commands on this machine."""

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> Answer:
        """Its exit code and what it printed; :class:`Unsure` when it does not end."""
        try:
            done = subprocess.run(
                argv, stdin=stdin or subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False
            )
        except FileNotFoundError:
            raise EngineError(f"there is no {argv[0]} here; run this where Slurm's commands are, "
                              "or take --engine local") from None  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Unsure(f"{argv[0]} did not answer for {_PATIENCE} s") from None
        return Answer(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
