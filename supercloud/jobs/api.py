"""Submitting jobs and holding on to them, in the manner of ``concurrent.futures``.

>>> job = submit(JobSpec(name="hello", command=["echo", "hello"]), plan)
>>> job.result()                     # waits; raises JobFailed when the job did not complete
>>> print("".join(job.logs()))
hello
"""

from __future__ import annotations

import atexit
import codecs
import os
import re
import secrets
import time
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path

from ..catalog import Catalog
from ..errors import EngineError, Finding, InputError, JobFailed, SpecError
from ..plan.model import Plan
from ..spec import JobSpec
from ..spec.fleet import Connection
from . import support
from .database import state_folder
from .engine import Engine, StreamsLogs, open_engine
from .placement import Placement, place
from .reconcile import hand_over, reconcile
from .states import State
from .store import Event, JobRecord, Store
from .submission import Submission

__all__ = ["Job", "default_store", "get", "jobs", "prepare", "reconcile", "submit"]

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_PATIENCE = 300.0  # seconds an engine may stay silent while somebody waits: controllers are restarted


class Job:
    """A submitted job. Every question goes to its engine; ``record`` is what was last known."""

    def __init__(self, record: JobRecord, store: Store):
        self.record = record
        self._store = store
        self._pause = 0.01

    @property
    def id(self) -> int:
        """Its number in this store."""
        return self.record.id

    @property
    def key(self) -> str:
        """Its idempotency key; the engine knows it by this as well."""
        return self.record.key

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.record.name} {self.record.state}>"

    def state(self) -> State:
        """Where it is, as its engine sees it now."""
        if not self.record.state.is_final:
            problems = reconcile(self._store, [self.id])
            self.record = self._store.get(self.id)
            if problems:
                raise problems[0]
        return self.record.state

    def done(self) -> bool:
        """Whether it has ended."""
        return self.state().is_final

    def wait(self, timeout: float | None = None) -> State:
        """Wait until it has ended; raises TimeoutError when that takes longer than ``timeout`` seconds."""
        end = None if timeout is None else time.monotonic() + timeout
        for _ in self._changes(end):
            pass
        return self.record.state

    def result(self, timeout: float | None = None) -> JobRecord:
        """Wait, and return what is known of it; raises :class:`JobFailed` when it did not complete."""
        state = self.wait(timeout)
        if state is not State.COMPLETED:
            why = f": {self.record.reason}" if self.record.reason else ""
            raise JobFailed(f"job {self.id} ({self.record.name}) ended as {state}{why}", state, self.record.exit_code)
        return self.record

    def logs(self, follow: bool = False) -> Iterator[str]:
        """What it printed, in pieces; with ``follow`` until it has ended."""
        engine = self._engine()
        if not isinstance(engine, StreamsLogs):
            raise EngineError(f"the engine {self.record.engine} shows no logs")
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        offset = 0
        for final in self._changes(None) if follow else [True]:
            while data := engine.read_log(self.key, offset):
                offset += len(data)
                yield decoder.decode(data)
            if final and (rest := decoder.decode(b"", final=True)):
                yield rest

    def cancel(self) -> State:
        """Ask that it ends; returns where it is. A job that has ended stays as it is."""
        if self.state().is_final:
            return self.record.state
        if self.record.ref is None:
            raise EngineError(f"job {self.id} is being submitted; try again in a moment")
        self._store.note(self.id, "cancel was asked for")
        self._engine().cancel(self.record.ref)
        return self.state()

    def history(self) -> list[Event]:
        """Everything that happened to it."""
        return self._store.history(self.id)

    def _engine(self) -> Engine:
        return open_engine(Connection.model_validate_json(self.record.connection), self._store.folder)

    def _changes(self, end: float | None) -> Iterator[bool]:
        """Look again and again, first often and then at the engine's pace; each look says whether it was the last."""
        pace = self._engine().pace
        silent_since: float | None = None
        while True:
            try:
                done, silent_since = self.done(), None
            except EngineError:
                done, silent_since = False, silent_since or time.monotonic()
                if time.monotonic() - silent_since > _PATIENCE:
                    raise
            yield done
            if done:
                return
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"job {self.id} ({self.record.name}) is still {self.record.state}")
            left = pace if end is None else max(0.0, end - time.monotonic())
            time.sleep(min(self._pause, pace, left))
            self._pause = min(self._pause * 1.5, pace)


def prepare(
    job: JobSpec, plan: Plan, *, engine: str | Connection = "local", key: str | None = None,
    store: Store | None = None, catalog: Catalog | None = None,
) -> tuple[Placement, Submission]:  # fmt: skip
    """Where a job would go and exactly what its engine would be told: print the submission for a dry run.

    Changes nothing anywhere. Raises :class:`SpecError` with the reason of every pool when none can have the job.
    """
    folder = store.folder if store else state_folder()
    return _prepare(job, plan, _connection(engine), key or "dry-run", folder, catalog)


def submit(
    job: JobSpec, plan: Plan, *, engine: str | Connection = "local", key: str | None = None,
    store: Store | None = None, catalog: Catalog | None = None,
) -> Job:  # fmt: skip
    """Place a job, record it, hand it to its engine.

    ``key`` makes it idempotent: the same key again is the same job. Once this has returned the job is not lost and not
    run twice, whatever is killed; if it is killed before, the job may be there or not, and the key tells.
    """
    store = store or default_store()
    connection = _connection(engine)
    key = key or secrets.token_hex(8)
    spec = job.model_dump_json(exclude_defaults=True)
    if (known := store.by_key(key)) and known.spec == spec:
        if known.ref is None:  # its submitter may have died
            reconcile(store, [known.id])
        return Job(store.get(known.id), store)  # without placing it again: the plan may have changed since
    placement, submission = _prepare(job, plan, connection, key, store.folder, catalog)
    with store.writing():  # one write to the disk for both steps
        record, new = store.record(
            key=key, name=job.name, spec=spec, placement=placement.to_json(), submission=submission.to_json(),
            cluster=plan.name, connection=connection.model_dump_json(exclude_defaults=True), engine=connection.engine,
        )  # fmt: skip
        mine = new and store.begin(record.id)
    if mine:
        hand_over(store, open_engine(connection, store.folder), record.id, submission)
    return Job(store.get(record.id), store)


def jobs(store: Store | None = None, states: Collection[State] = tuple(State), limit: int = -1) -> list[Job]:
    """Jobs as the store has them, the newest first; :func:`reconcile` brings it up to date."""
    store = store or default_store()
    return [Job(record, store) for record in store.select(states, limit)]


def get(number: int, store: Store | None = None) -> Job:
    """A job by its number."""
    store = store or default_store()
    return Job(store.get(number), store)


def default_store() -> Store:
    """The store of this user, opened once."""
    return _store(state_folder(), os.getpid())


@lru_cache(maxsize=8)
def _store(folder: Path, process: int) -> Store:
    store = Store(folder)
    atexit.register(store.close)
    return store


def _connection(engine: str | Connection) -> Connection:
    return engine if isinstance(engine, Connection) else Connection(engine=engine)


def _prepare(
    job: JobSpec, plan: Plan, connection: Connection, key: str, folder: Path, catalog: Catalog | None
) -> tuple[Placement, Submission]:
    if not _KEY.fullmatch(key):
        raise InputError(f"{key[:80]!r} is no key: write up to 64 letters, digits, dots, dashes and underscores, "
                         "beginning with a letter or digit")  # fmt: skip
    support.check(job)
    answer = place(job, plan, catalog)
    if not isinstance(answer, Placement):
        findings = [Finding("place", "error", f"pool {refusal.pool}", refusal.reason, refusal.remedy)
                    for refusal in answer]  # fmt: skip
        raise SpecError(f"no pool of {plan.name} can have job {job.name!r}", findings)
    return answer, open_engine(connection, folder).prepare(job, answer, key)
