"""Leases of submissions in progress, for processes that share a store but cannot observe each other.

Two login nodes or two containers may share one home directory, and thus one store. The owner of a submission increments
its lease counter in the store every ``RENEW_INTERVAL`` seconds until the job is submitted. Another process that cannot
look up the owner leaves the job alone until the counter has not changed for ``LEASE_DURATION`` seconds of its own
monotonic clock; it records when it first saw the counter, so that the times of short commands add up.

No wall clock is used: dates that differ between machines or jump have no effect. It is assumed that an owner that
continues a submission is never delayed for ``LEASE_DURATION`` seconds (stopped, swapped out, disconnected from the
store) and that monotonic clocks of two machines do not drift apart by more than ``LEASE_DURATION - RENEW_INTERVAL``
within ``LEASE_DURATION``. If the first is violated, engines that accept a key only once still prevent a second job.
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
    "compute_seconds_left",
]

LEASE_DURATION = 60.0
"""Seconds for which a counter must be unchanged."""
RENEW_INTERVAL = 10.0
"""Seconds between two increments by an owner."""
LATE_ARRIVAL_WATCH = "late arrival"
"""The watch of a submission that has ended without an answer; the watch of a lease has an empty name."""


@contextlib.contextmanager
def hold_lease(store: Store, job_id: int) -> Iterator[None]:
    """Keep the lease of a job during its submission by this process."""
    owner, ended = str(ProcessId.get_current()), threading.Event()

    def renew() -> None:
        while not ended.wait(RENEW_INTERVAL):
            with (
                contextlib.suppress(StoreError),
                store.transaction(relaxed=True) as database,
            ):  # locked: the next increment follows
                database.execute("UPDATE jobs SET lease = lease + 1 WHERE id = ? AND owner = ?", (job_id, owner))

    thread = threading.Thread(target=renew, name=f"lease of job {job_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def has_expired(store: Store, record: JobRecord, clock: Callable[[], float] = time.monotonic) -> bool:
    """Whether the owner of a submission, which cannot be looked up from here, has not renewed its lease for
    ``LEASE_DURATION`` seconds.
    """
    return compute_seconds_left(store, record, LEASE_DURATION, clock) <= 0


def compute_seconds_left(
    store: Store,
    record: JobRecord,
    seconds: float,
    clock: Callable[[], float] = time.monotonic,
    watch: str = "",
) -> float:
    """How many of ``seconds`` are left since a submission was first seen with its present owner and lease counter.

    0 or less: expired. Records when it was first seen, separately for each ``watch``; raises
    :class:`StoreError` if that fails.
    """
    query = "SELECT since FROM watches WHERE job = ? AND boot = ? AND owner = ? AND lease = ?"
    seen = store.read(query, (record.id, _build_clock_name(watch), record.owner, record.lease))
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
    """Restart a watch: its seconds count from the next :func:`compute_seconds_left`, on every machine."""
    row = (record.id, f"% {watch}")
    if store.read("SELECT 1 FROM watches WHERE job = ? AND boot LIKE ?", row):
        with store.transaction(relaxed=True) as database:
            database.execute("DELETE FROM watches WHERE job = ? AND boot LIKE ?", row)


def _build_clock_name(watch: str) -> str:
    """The name of the monotonic clock of this boot in the store, for one watch."""
    return f"{read_boot_id()} {watch}".rstrip()
