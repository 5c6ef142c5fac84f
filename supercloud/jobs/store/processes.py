"""Unique identities of processes: a process ID alone is reused after its process has ended.

Only a process of this boot and this PID namespace can be looked up. Whether any other (on another login node or in
another container with the same home directory) runs is unknown: ``is_alive`` is None, which is not False.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["ProcessId", "find_by_environment", "find_related", "read_boot_id", "read_namespace"]

_PROC = Path("/proc")


@cache
def read_boot_id() -> str:
    """The ID of this boot of this machine."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "-"


class _Entry(NamedTuple):
    """A process in /proc."""

    state: str
    parent: int
    group: int
    session: int
    start_time: str
    """In ticks since boot."""


def _read_entry(pid: int | str) -> _Entry | None:
    try:
        stat = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()  # the name before it may contain any character
    return _Entry(fields[0], int(fields[1]), int(fields[2]), int(fields[3]), fields[19])


def _read_start_time(pid: int | str) -> str | None:
    """When a process started, in ticks since boot; None if there is no such process, or it is a zombie."""
    entry = _read_entry(pid)
    return None if entry is None or entry.state in "ZX" else entry.start_time


def read_namespace() -> str:
    """The PID namespace of this process, as ``pid:[4026531836]``; ``-`` if the system does not provide it."""
    return _read_namespace_cached(os.getpid())


@cache
def _read_namespace_cached(process_id: int) -> str:  # a forked process may be in another one
    try:
        return os.readlink(_PROC / "self/ns/pid")
    except OSError:
        return "-"


def _has_own_proc() -> bool:
    """Whether the numbers in /proc are those of this PID namespace: a container may be started without a separate
    /proc.
    """
    try:
        return os.readlink(_PROC / "self") == str(os.getpid())
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process of one boot and one PID namespace; serialized as ``pid start boot namespace``."""

    pid: int
    start_time: str
    boot_id: str
    namespace: str = ""
    """Empty if recorded by a version without namespaces."""

    @classmethod
    def get_current(cls) -> ProcessId:
        """The current process."""
        return cls(os.getpid(), _read_start_time("self") or "-", read_boot_id(), read_namespace())

    @classmethod
    def parse(cls, text: str) -> ProcessId | None:
        """Parse the serialized form; None if it is invalid."""
        parts = text.split()
        return cls(int(parts[0]), *parts[1:]) if len(parts) in (3, 4) and parts[0].isdecimal() else None

    @property
    def is_alive(self) -> bool | None:
        """Whether this process still runs; None if that cannot be determined from here."""
        if not self.pid:
            return False
        if self == ProcessId.get_current():
            return True
        if self.boot_id != read_boot_id() or self.namespace not in ("", read_namespace()):
            return None
        if self.start_time != "-":
            return _read_start_time(self.pid) == self.start_time if _has_own_proc() else None
        try:  # a system without /proc: only the process ID is available
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return self.pid > 1

    def __str__(self) -> str:
        return f"{self.pid} {self.start_time} {self.boot_id} {self.namespace}".rstrip()


def find_by_environment(variable: str, prefix: str) -> Iterator[int]:
    """Processes whose initial environment has ``variable`` with this prefix, whatever their present session."""
    mark = f"{variable}={prefix}".encode()
    for entry in os.scandir(_PROC):
        if not entry.name.isdigit():
            continue
        try:
            environment = Path(entry.path, "environ").read_bytes()
        except OSError:
            continue  # it has ended, or is another user's
        if any(item.startswith(mark) for item in environment.split(b"\0")):
            yield int(entry.name)


def find_related(leaders: Iterable[ProcessId], pids: Collection[int], separate_pids: Collection[int] = ()) -> set[int]:
    """``pids`` and the processes of the sessions of ``leaders``, with their descendants, without ``separate_pids`` and
    the descendants of those.

    A program can clear or overwrite its environment, in which :func:`find_by_environment` searches. A leader may have
    ended: its ID is not used again while its session or process group has members.
    """
    table = {
        int(entry.name): found
        for entry in os.scandir(_PROC)
        if entry.name.isdigit()
        and (found := _read_entry(entry.name))
        and found.state not in "ZX"
        and int(entry.name) not in separate_pids
    }
    sessions = {leader.pid for leader in leaders if _is_session_of(leader, table.get(leader.pid))}
    members = {pid for pid, entry in table.items() if pid in pids or {pid, entry.session, entry.group} & sessions}
    children: dict[int, list[int]] = {}
    for pid, entry in table.items():
        children.setdefault(entry.parent, []).append(pid)
    new = list(members)
    while new:
        begotten = [child for child in children.get(new.pop(), ()) if child not in members]
        members.update(begotten)
        new += begotten
    return members


def _is_session_of(leader: ProcessId, present: _Entry | None) -> bool:
    """Whether the session with the ID of a process that once led it is still its session."""
    is_here = leader.boot_id == read_boot_id() and leader.namespace in ("", read_namespace()) and _has_own_proc()
    return leader.pid > 1 and is_here and (present is None or present.start_time == leader.start_time)
