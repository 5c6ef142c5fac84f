"""Who is in the middle of handing a job over, where the processes that share a store cannot see each other.

Two login nodes or two containers may have one home, hence one store. The owner of a submission counts its lease up in
the store every ``RENEW_INTERVAL`` seconds until the job is handed over. Another process that cannot look the owner up
leaves the job alone until the count has stood still for ``LEASE_DURATION`` seconds, as its own monotonic clock sees it;
it writes down when it first saw the count, so that commands that end at once add up to a watch.

No wall clock takes part: dates that differ between machines or jump change nothing. What must hold is that an owner
that goes on with a submission is never held up for ``LEASE_DURATION`` seconds (stopped, swapped out, cut off from the
store) and that monotonic clocks of two machines do not drift apart by more than ``LEASE_DURATION - RENEW_INTERVAL``
within ``LEASE_DURATION``. An owner that breaks the first is still caught by engines that take a key once.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from ...errors import StoreError
from .processes import ProcessId, read_boot_id
from .records import JobRecord
from .store import Store

__all__ = [
    "LATE_ARRIVAL_WATCH",
    "LEASE_DURATION",
    "RENEW_INTERVAL",
    "end_watch",
    "has_expired",
    "hold_lease",
    "seconds_left",
]

LEASE_DURATION = 60.0
"""Seconds for which a count must stand still."""
RENEW_INTERVAL = 10.0
"""Seconds between two counts of an owner."""
LATE_ARRIVAL_WATCH = "late arrival"
"""The watch of a submission that has ended without an answer; that of a lease has no name."""


@contextlib.contextmanager
def hold_lease(store: Store, job_id: int) -> Iterator[None]:
    """Around the hand-over of a job that this process owns: its lease does not run out."""
    owner, ended = str(ProcessId.get_current()), threading.Event()

    def renew() -> None:
        while not ended.wait(RENEW_INTERVAL):
            with (
                contextlib.suppress(StoreError),
                store.transaction(relaxed=True) as database,
            ):  # locked: the next one counts
                database.execute("UPDATE jobs SET lease = lease + 1 WHERE id = ? AND owner = ?", (job_id, owner))

    thread = threading.Thread(target=renew, name=f"lease of job {job_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def has_expired(store: Store, record: JobRecord, clock: Callable[[], float] = time.monotonic) -> bool:
    """Whether the owner of a submission, which cannot be looked up from here, has not counted for ``LEASE_DURATION``
    seconds."""
    return seconds_left(store, record, LEASE_DURATION, clock) <= 0


def seconds_left(
    store: Store,
    record: JobRecord,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
    watch: str = "",
) -> float:
    """How many of ``seconds`` are left since a submission was first seen with the owner and the count that it has now.

    0 or less: they are over. Writes down when it was first seen, for each ``watch`` by itself; raises
    :class:`StoreError` where it cannot.
    """
    asked = "SELECT since FROM watches WHERE job = ? AND boot = ? AND owner = ? AND lease = ?"
    seen = store.read(asked, (record.id, _build_clock_name(watch), record.owner, record.lease))
    now = clock()
    if seen and seen[0]["since"] <= now:
        return seconds - (now - float(seen[0]["since"]))
    with store.transaction(relaxed=True) as database:
        database.execute(
            "INSERT OR REPLACE INTO watches (job, boot, owner, lease, since) VALUES (?, ?, ?, ?, ?)",
            (record.id, _build_clock_name(watch), record.owner, record.lease, now),
        )
    return seconds


def end_watch(store: Store, record: JobRecord, watch: str) -> None:
    """Let the seconds of a watch count from the next :func:`seconds_left`, on every machine."""
    row = (record.id, f"% {watch}")
    if store.read("SELECT 1 FROM watches WHERE job = ? AND boot LIKE ?", row):
        with store.transaction(relaxed=True) as database:
            database.execute("DELETE FROM watches WHERE job = ? AND boot LIKE ?", row)


def _build_clock_name(watch: str) -> str:
    """What the store calls the monotonic clock of this boot, for one watch."""
    return f"{read_boot_id()} {watch}".rstrip()
