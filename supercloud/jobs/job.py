"""A handle of a submitted job, in the manner of ``concurrent.futures``."""

from __future__ import annotations

import codecs
import contextlib
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Generic, TypeVar

from ..errors import EngineError, JobFailedError, StoreError, SupercloudError, UnknownNameError
from ..spec.fleet import Connection
from .copies import build_known_identity, find_copies, select_resubmitted
from .engines.base import DistinguishesJobs, Engine, JobCopies, KeepsResults, StreamsLogs, open_engine
from .reconcile import reconcile
from .store.database import StoreLockedError, strip_advice
from .store.records import JobEvent, JobRecord
from .store.states import State
from .store.store import Store
from .transport.bounded_io import MAX_RESULT_BYTES

__all__ = ["Job", "JobHandle", "UNRESPONSIVE_TIMEOUT", "warn_of_store_errors", "warn_once"]

UNRESPONSIVE_TIMEOUT = 300.0
"""Seconds to wait for an engine that does not respond, as controllers are restarted, and for a store that is locked or
cannot be written, as a disk is full until space is freed."""
_HELD_POLL_INTERVAL = 1.0

_Result = TypeVar("_Result")


def warn_of_store_errors(store: Store, problems: Iterable[Exception]) -> None:
    """Warn once of each reason why the store cannot be written: the end of a job is not recorded meanwhile."""
    if store.write_error:
        warn_once(f"warning: {store.write_error}; the end of a job is not recorded until it can be written again")
    for error in problems:
        if isinstance(error, StoreError) and error is not store.write_error:
            warn_once(f"warning: {error}")


@cache
def warn_once(text: str) -> None:
    """Log a warning once per process."""
    logging.getLogger("supercloud").warning("%s", text)


class JobHandle(ABC, Generic[_Result]):
    """A submitted job with a result. Every query goes to its engine; ``record`` is the last known state."""

    def __init__(self, record: JobRecord, store: Store):
        self.record = record
        self.store = store
        self._poll_delay = 0.01

    @property
    def id(self) -> int:
        """Its ID in this store."""
        return self.record.id

    @property
    def key(self) -> str:
        """Its idempotency key; the engine stores it too."""
        return self.record.key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.record.name} {self.record.state}>"

    def get_state(self) -> State:
        """Its current state, from its engine.

        Raises:
            EngineError: If the engine does not respond.
            StoreError: If the job is no longer in the store, or the store cannot be used.
        """
        if not self.record.state.is_final:
            problems = self._refresh()
            if problems:
                raise problems[0]
        return self.record.state

    def _refresh(self) -> list[SupercloudError]:
        """Poll its engine, then read its record; returns the errors that occurred.

        Raises :class:`StoreError` if the store cannot be read.
        """
        problems = reconcile(self.store, [self.id])
        self.reload()
        return problems

    def reload(self) -> JobRecord:
        """Its record in the store, without polling its engine.

        Raises:
            StoreError: If the job is no longer in the store.
        """
        try:
            self.record = self.store.get(self.id)
        except UnknownNameError:
            raise StoreError(f"job {self.id} ({self.record.name}) is no longer in the store") from None
        return self.record

    def done(self) -> bool:
        """Whether it has ended."""
        return self.get_state().is_final

    def running(self) -> bool:
        """Whether it runs."""
        return self.get_state() is State.RUNNING

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self.get_state() is State.CANCELLED

    def wait(self, timeout: float | None = None) -> State:
        """Wait until it has ended, and return its final state.

        Args:
            timeout: Seconds to wait; None means no limit.

        Raises:
            TimeoutError: If it has not ended in time.
            EngineError: If the engine does not respond for 5 minutes.
            StoreError: If the job is no longer in the store, or the store cannot be used.
        """
        end = None if timeout is None else time.monotonic() + timeout
        for _ in self._poll_until_done(end):
            pass
        return self.record.state

    @abstractmethod
    def result(self, timeout: float | None = None) -> _Result:
        """Wait until it has ended, and return its result.

        Args:
            timeout: Seconds to wait; None means no limit.
        """

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Wait until it has ended, and return what :meth:`result` would raise; None if it completed.

        Args:
            timeout: Seconds to wait; None means no limit.

        Raises:
            TimeoutError: If it has not ended in time.
        """
        self.wait(timeout)
        return self._find_exception()

    def logs(self, follow: bool = False) -> Iterator[str]:
        """Its output, in chunks.

        Args:
            follow: Whether to continue until it has ended.

        Raises:
            EngineError: If its engine does not support logs, or does not respond.
        """
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        offset, shown = 0, self.record.engine_key
        for final in self._poll_until_done(None) if follow else [True]:
            if not self.record.connection:
                continue  # not submitted yet
            if self.record.engine_key != shown:  # it was restarted elsewhere, with a separate log
                offset, shown = 0, self.record.engine_key
            engine = self._open_engine()
            if not isinstance(engine, StreamsLogs):
                raise EngineError(f"engine {self.record.engine} does not support logs")
            while data := engine.read_log(shown, offset):
                offset += len(data)
                yield decoder.decode(data)
            if final and (rest := decoder.decode(b"", final=True)):
                yield rest

    def supports_logs(self) -> bool:
        """Whether :meth:`logs` can read its output: it was submitted, and its engine keeps output."""
        try:
            return bool(self.record.connection) and isinstance(self._open_engine(), StreamsLogs)
        except SupercloudError:  # its engine is not installed here
            return False

    def read_output(self) -> bytes:
        """The content of its file SUPERCLOUD_RESULT; empty if there is none.

        Raises:
            EngineError: If that is more than ``bounded_io.MAX_RESULT_BYTES`` bytes, or the engine does not support
                results.
        """
        engine = self._open_engine()
        if not isinstance(engine, KeepsResults):
            raise EngineError(f"engine {self.record.engine} does not support results")
        data = bytearray()
        while piece := engine.read_result(self.record.engine_key, len(data)):
            data.extend(piece)
            if len(data) > MAX_RESULT_BYTES:
                raise EngineError(
                    f"the result of job {self.id} ({self.record.name}) has more than {MAX_RESULT_BYTES:,} bytes, "
                    "the maximum; let the job write a file on shared storage, and "
                    "return its path as the result"
                )
        return bytes(data)

    def cancel(self) -> State:
        """Cancel it, and every copy of it on its engine; returns its state.

        Copies exist if an engine accepted a job again whose first submission got no answer. A job that has ended is not
        changed, nor is a job with the same key that was submitted for another record, for example of another store.

        Raises:
            EngineError: If the engine does not respond, and while another process submits the job.
            StoreError: If the store cannot be written (a full disk). Cancellation is still requested from the engine;
                the message states this, and what is not recorded.
        """
        unrecorded = self._refresh_for_cancel()
        if self.record.state.is_final:
            try:
                self._cancel_copies()
            except (SupercloudError, OSError) as error:  # its cluster may no longer exist
                logging.getLogger("supercloud").warning(
                    "warning: job %d has ended; copies of it that %s may still have were not cancelled: %s",
                    self.id,
                    self.record.engine,
                    error,
                )
            return self.record.state
        if self.record.state is State.HELD and self.store.cancel_held(self.id):
            return self.reload().state
        if self.record.ref is None:
            raise EngineError(
                f"job {self.id} is being submitted; try again "
                f"{f'later: {self.record.reason}' if self.record.reason else 'in a moment'}"
            )
        try:
            self.store.disable_requeue(self.id, "cancellation requested")
        except StoreError as error:
            unrecorded = error
        try:
            engine = self._open_engine()
            if isinstance(engine, DistinguishesJobs):
                engine.cancel_job(self.record.ref, build_known_identity(self.store, self.record))
            else:
                engine.cancel(self.record.ref)
        except StoreError as error:  # the queue of this machine, which is on the same disk
            raise StoreError(f"job {self.id} ({self.record.name}) was not cancelled: {error}") from error
        self._cancel_copies()
        unrecorded = unrecorded or self._refresh_for_cancel()
        if unrecorded:
            again = ", or its broker may start it again" if self.record.fleet else ""
            raise StoreError(
                f"job {self.id} ({self.record.name}): cancellation of {self.record.ref} was requested from "
                f"{self.record.engine}, but is not recorded: {strip_advice(unrecorded)}. When the store can be "
                f"written, run supercloud cancel {self.id} again{again}"
            ) from unrecorded
        return self.record.state

    def _refresh_for_cancel(self) -> StoreError | None:
        """Update the status; returns the error if it cannot be recorded. Raises other problems."""
        problems = [] if self.record.state.is_final else self._refresh()
        for problem in problems:
            if not isinstance(problem, StoreError):
                raise problem
        return next((problem for problem in problems if isinstance(problem, StoreError)), None)

    def _cancel_copies(self) -> None:
        """Cancel the copies of a job that was submitted more than once; for other jobs no engine is queried."""
        if not select_resubmitted(self.store, [self.record]):
            return
        engine = self._open_engine()
        copies = find_copies(engine, [self.record]).get(self.id, JobCopies())
        for ref in copies.certain:
            note = f"cancellation of {self.record.engine} job {ref}, a copy of job {self.id}, requested"
            logging.getLogger("supercloud").warning("note: %s", note)
            engine.cancel(ref)
            with contextlib.suppress(StoreError):  # a full disk; the copy is cancelled nevertheless
                self.store.add_note(self.id, note)
        if copies.possible:
            logging.getLogger("supercloud").warning(
                "note: %s has job %s of the same key as job %d, which is not cancelled: it may be of another store",
                self.record.engine,
                " and ".join(copies.possible),
                self.id,
            )

    def list_events(self) -> list[JobEvent]:
        """Its history."""
        return self.store.list_events(self.id)

    def _find_exception(self) -> BaseException | None:
        """Why a job that has ended has no result; None if it has one."""
        return None if self.record.state is State.COMPLETED else self._build_failure()

    def _build_failure(self) -> JobFailedError:
        why = f": {self.record.reason}" if self.record.reason else ""
        text = f"job {self.id} ({self.record.name}) ended as {self.record.state}{why}"
        return JobFailedError(text, self.record.state, self.record.exit_code)

    def _open_engine(self) -> Engine:
        return open_engine(Connection.model_validate_json(self.record.connection), self.store.folder)

    def _poll_until_done(self, end: float | None) -> Iterator[bool]:
        """Poll repeatedly, first often and then at the engine's poll interval; each poll yields whether it was the
        last.
        """
        silent_since: float | None = None
        while True:
            try:
                problems = [] if self.record.state.is_final else self._refresh()
            except StoreLockedError as error:  # by another process: the next poll succeeds
                problems = [error]
            except StoreError:
                yield False  # its output is shown before the error
                raise
            warn_of_store_errors(self.store, problems)
            done = self.record.state.is_final
            yield done
            if done:
                return
            if problems:
                silent_since = silent_since or time.monotonic()
                is_temporary = isinstance(problems[0], EngineError | StoreError)
                if not is_temporary or time.monotonic() - silent_since > UNRESPONSIVE_TIMEOUT:
                    raise problems[0]
            else:
                silent_since = None
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"job {self.id} ({self.record.name}) is still {self.record.state}")
            pace = self._open_engine().poll_interval if self.record.connection else _HELD_POLL_INTERVAL
            left = pace if end is None else max(0.0, end - time.monotonic())
            time.sleep(min(self._poll_delay, pace, left))
            self._poll_delay = min(self._poll_delay * 1.5, pace)


class Job(JobHandle[JobRecord]):
    """A submitted job. Every query goes to its engine; ``record`` is the last known state."""

    def result(self, timeout: float | None = None) -> JobRecord:
        """Wait until it has ended, and return its record.

        Args:
            timeout: Seconds to wait; None means no limit.

        Raises:
            JobFailedError: If it did not complete.
            TimeoutError: If it has not ended in time.
        """
        problem = self.exception(timeout)
        if problem is not None:
            raise problem
        return self.record
