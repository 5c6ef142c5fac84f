"""Processes that are told apart for ever: a number alone is used again after its process has ended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["ProcessId", "boot", "marked"]

_PROC = Path("/proc")


@cache
def boot() -> str:
    """This boot of this machine."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "-"


def _start(pid: int) -> str | None:
    """When a process started, in ticks since boot; None when there is no such process, or only its remains."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may hold anything
    return None if fields[0] in "ZX" else fields[19]


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process of one boot; written ``pid start boot``."""

    pid: int
    start: str
    boot: str

    @classmethod
    def own(cls) -> ProcessId:
        """The process that asks."""
        pid = os.getpid()
        return cls(pid, _start(pid) or "-", boot())

    @classmethod
    def parse(cls, text: str) -> ProcessId | None:
        """What was written, None where it makes no sense."""
        parts = text.split()
        return cls(int(parts[0]), parts[1], parts[2]) if len(parts) == 3 and parts[0].isdigit() else None

    @property
    def alive(self) -> bool:
        """Whether this very process still runs."""
        if self.start != "-":
            return self.boot == boot() and _start(self.pid) == self.start
        try:  # a system without /proc: the number is all there is
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return self.pid > 1

    def __str__(self) -> str:
        return f"{self.pid} {self.start} {self.boot}"


def marked(name: str, beginning: str) -> Iterator[int]:
    """Processes started with an environment in which ``name`` begins so, whatever session they are in by now."""
    mark = f"{name}={beginning}".encode()
    for entry in os.scandir(_PROC):
        if not entry.name.isdigit():
            continue
        try:
            environment = Path(entry.path, "environ").read_bytes()
        except OSError:
            continue  # it has ended, or is another user's
        if any(item.startswith(mark) for item in environment.split(b"\0")):
            yield int(entry.name)
