"""Check of the files of a state folder for damage: the job store, and the queue of the local engine."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from .store.store import Store

if TYPE_CHECKING:
    from .engines.local.queue import Queue

__all__ = ["check_integrity", "open_local_queue"]

_QUEUE = "local/queue.db"


def check_integrity(store: Store) -> list[Path]:
    """Check all files for damage; returns the files that were checked.

    Raises :class:`StoreError` if one of them is damaged.
    """
    store.require_integrity()
    queue = open_local_queue(store.folder)
    if queue is None:
        return [store.folder / "jobs.db"]
    with contextlib.closing(queue):
        queue.require_integrity()
    return [store.folder / "jobs.db", store.folder / _QUEUE]


def open_local_queue(folder: Path) -> Queue | None:
    """The queue of the local engine; None if no job was submitted to it."""
    place = folder / _QUEUE
    if not place.exists():
        return None
    from .engines.local.queue import Queue

    return Queue(place.parent)
