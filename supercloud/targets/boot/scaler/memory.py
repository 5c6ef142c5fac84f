"""The state between passes: small files on the protected disk, and the lock.

=================  ====================================================================================================
``nodes/NODE``     ``GROUP INSTANCE``: the instance that has this node's name
``asked/GROUP``    its time is when the group was last resized: earlier refusals of the cloud are ignored
``full/GROUP``     its time is when the group had no capacity
``failed/NODE``    its time is when the node did not join; its text, until Slurm calls ``fail``, its instance
``kept``           the nodes that a release of Slurm cannot keep running at run time, as reported in the log
``lock``           held during a pass
=================  ====================================================================================================
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

__all__ = ["Memory", "Record"]


class Record(NamedTuple):
    """The instance that has a node's name."""

    group: str
    instance: str


class Memory:
    """The folder ``/var/spool/slurmctld/cloud``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Wait until no other pass of Slurm or the loop runs, and prevent others from starting.

        The lock belongs to the open file, which child processes inherit: it is released when the last of them ends.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._folder / "lock", os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.set_inheritable(descriptor, True)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def prepare(self) -> None:
        """Create the folders."""
        for name in ("nodes", "asked", "full", "failed"):
            (self._folder / name).mkdir(parents=True, exist_ok=True)

    def read_records(self) -> dict[str, Record]:
        """Node -> the instance that has its name.

        A damaged file gives a record without an instance: the node is handled as one whose instance ended.
        """
        found: dict[str, Record] = {}
        for path in _list_files(self._folder / "nodes"):
            words = path.read_text(encoding="utf-8", errors="surrogateescape").split()
            found[path.name] = Record(words[0], words[1]) if len(words) > 1 else Record("", "")
        return found

    def write_record(self, node: str, record: Record) -> None:
        """Record the instance of a node, atomically also after a power failure."""
        fresh = self._folder / "nodes" / f".{node}"
        with fresh.open("w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(f"{record.group} {record.instance}\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._folder / "nodes" / node)

    def forget_record(self, node: str) -> None:
        """Delete the record of a node that has no instance any more."""
        (self._folder / "nodes" / node).unlink(missing_ok=True)

    def mark_asked(self, group: str) -> None:
        """Record that the group is resized now."""
        (self._folder / "asked" / group).touch()

    def get_asked_since(self, group: str) -> int:
        """When the group was last resized by the scaler, in seconds since the epoch; now, if it never was."""
        path = self._folder / "asked" / group
        if not path.exists():
            path.touch()
        return int(path.stat().st_mtime)

    def mark_full(self, group: str) -> None:
        """Record that the group has no capacity now."""
        (self._folder / "full" / group).touch()

    def is_full(self, group: str, seconds: float) -> bool:
        """Whether the group had no capacity within the last ``seconds``; older records are deleted."""
        path = self._folder / "full" / group
        if not path.exists():
            return False
        if _get_age(path) < seconds:
            return True
        path.unlink(missing_ok=True)
        return False

    def write_failed(self, node: str, instance: str = "") -> None:
        """Record that the node did not join; ``instance`` describes its instance."""
        (self._folder / "failed").mkdir(parents=True, exist_ok=True)
        text = f"{instance}\n" if instance else ""
        (self._folder / "failed" / node).write_text(text, encoding="utf-8", errors="surrogateescape")

    def has_failed(self, node: str) -> bool:
        """Whether it is recorded that the node did not join."""
        return (self._folder / "failed" / node).exists()

    def forget_failed(self, node: str) -> None:
        """Delete the record of a node that has joined, or may be retried."""
        (self._folder / "failed" / node).unlink(missing_ok=True)

    def list_failed(self, seconds: float) -> list[str]:
        """Nodes that did not join, at least ``seconds`` ago."""
        return [path.name for path in _list_files(self._folder / "failed") if _get_age(path) >= seconds]

    def describe_instance(self, node: str) -> str:
        """``INSTANCE of GROUP`` for a node that did not join; empty if it had no instance."""
        record = self._folder / "nodes" / node
        if record.exists():
            words = record.read_text(encoding="utf-8", errors="surrogateescape").split()
            return f"{words[1]} of {words[0]}" if len(words) > 1 else ""
        left = self._folder / "failed" / node
        return left.read_text(encoding="utf-8", errors="surrogateescape").strip() if left.exists() else ""

    def read_kept(self) -> str:
        """Nodes that the log reports as powered down by Slurm although they should stay on."""
        path = self._folder / "kept"
        return path.read_text(encoding="utf-8").strip() if path.exists() else ""

    def write_kept(self, hosts: str) -> None:
        """Record that the log reports them."""
        (self._folder / "kept").write_text(f"{hosts}\n", encoding="utf-8")


def _list_files(folder: Path) -> list[Path]:
    """The files, without incomplete ones, whose names start with a dot."""
    return [path for path in sorted(folder.glob("*")) if not path.name.startswith(".")] if folder.is_dir() else []


def _get_age(path: Path) -> float:
    """Whole seconds since the file was changed: its time may be rounded."""
    return int(time.time()) - int(path.stat().st_mtime)
