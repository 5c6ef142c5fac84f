"""The interface of engines, and the registry of engines.

An engine is a class with ``Engine``'s four methods, constructed with a connection and the state folder; further
abilities are separate protocols that callers check for. To add one: a module in ``engines/`` and a line in ``ENGINES``;
from another distribution: an entry point of the group ``supercloud.engines``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from ...errors import SubmissionUnknownError, UnknownNameError
from ..store.status import Status
from .submission import JobIdentity, Submission

if TYPE_CHECKING:  # a list of jobs must be fast: it opens engines, and places nothing
    from ...spec import JobSpec
    from ...spec.fleet import Connection
    from ..placement.answer import Placement

__all__ = [
    "ENGINES",
    "CarriesDigests",
    "ChecksReachability",
    "SupportsDependencies",
    "DistinguishesJobs",
    "EndsStarts",
    "Engine",
    "FindsByKey",
    "FindsCopies",
    "FindsSubmitted",
    "LocatesResults",
    "JobCopies",
    "KeepsResults",
    "RecallsJobs",
    "TracksSubmissions",
    "SubmittedJob",
    "StreamsLogs",
    "AcceptsLateSubmissions",
    "BindsTokens",
    "SubmissionUnknownError",
    "list_engine_names",
    "open_engine",
]

ENGINES = {
    "fake": "supercloud.jobs.engines.fake:FakeEngine",
    "kubernetes": "supercloud.jobs.engines.kubernetes.engine:KubernetesEngine",
    "local": "supercloud.jobs.engines.local.engine:LocalEngine",
    "slurm": "supercloud.jobs.engines.slurm.engine:SlurmEngine",
}

_FAKE_ENGINE = "fake"


class Engine(Protocol):
    """The interface of an engine."""

    poll_interval: float
    """Seconds between two polls while a job is waited for."""

    def prepare(self, job: JobSpec, placement: Placement, key: str) -> Submission:
        """The submission of a job; has no side effects."""

    def submit(self, submission: Submission) -> str:
        """Submit it; returns the engine's reference of the job.

        Raises :class:`EngineError` if it was *not* accepted (:class:`EngineUnreachableError` or
        :class:`EngineConfigurationError` if the scheduler has not decided on it, so that its key remains free), and
        :class:`SubmissionUnknownError` if unknown.
        """

    def poll(self, refs: Sequence[str]) -> Mapping[str, Status]:
        """The statuses of jobs, in one request; jobs unknown to the engine are omitted."""

    def cancel(self, ref: str) -> None:
        """Cancel a job; not an error if it has ended."""


@runtime_checkable
class ChecksReachability(Protocol):
    """An engine that can check, without a request, whether it is reachable from this machine."""

    def require_reachable(self) -> None:
        """Raise :class:`EngineError` with a hint if it is unreachable; called before a job is recorded."""


@runtime_checkable
class BindsTokens(Protocol):
    """An engine with tokens of the user, some of which have no host."""

    def bind_tokens(self) -> None:
        """Called if the user specified the connection (in a command or a call, not in a fleet file): from now on
        tokens without a host are for its address only.
        """


@runtime_checkable
class FindsByKey(Protocol):
    """An engine whose ``submit`` may be repeated only if the job is certainly not present."""

    def find(self, keys: Sequence[str], since: float) -> Mapping[str, str | None]:
        """For each key submitted after ``since`` its ref, None if certainly not present; omitted if unknown."""


@dataclass(frozen=True)
class SubmittedJob:
    """The result of looking up a job whose submission got no answer."""

    ref: str | None
    """The reference of the job; None if it is certainly not present."""
    others: Sequence[str] = ()
    """Other jobs with the key: they carry the digest of another record, for example of another store or of a job that
    was deleted from this store, or no digest if an earlier version submitted them. They are never treated as this job.
    """


@runtime_checkable
class FindsSubmitted(Protocol):
    """An engine that keeps the identity of a job with the job, so that a job with a record in the store can be found.
    :class:`FindsByKey` is for a store that has lost the record.
    """

    def find_submitted(self, jobs: Sequence[JobIdentity], since: float) -> Mapping[str, SubmittedJob]:
        """Look up jobs that have different keys and were submitted after ``since``; returns the results by key, omitted
        if unknown. A job of the engine matches only if key, spec and record are equal.
        """


@runtime_checkable
class EndsStarts(Protocol):
    """An engine that can distinguish the job of a launch from a later job that has the same ref."""

    def end_start(self, ref: str, start: JobIdentity) -> None:
        """Cancel the job of a ref, and its copies, if they carry this identity. It is not an error if the engine has
        purged them, or if the ref now belongs to another job, which is not changed.
        """


@runtime_checkable
class DistinguishesJobs(Protocol):
    """An engine whose refs may later belong to another job, and which keeps identities with its jobs. Only data that
    both identities have is compared: a job without a known identity is taken for the one of its ref.
    """

    def poll_jobs(self, jobs: Sequence[tuple[str, JobIdentity]]) -> Mapping[tuple[str, JobIdentity], Status]:
        """:meth:`Engine.poll` of refs with the identities of their jobs; UNKNOWN with a reason for a ref that belongs
        to another job now.
        """

    def cancel_job(self, ref: str, identity: JobIdentity) -> None:
        """:meth:`Engine.cancel`, unless the ref belongs to another job now, which is not changed."""


@runtime_checkable
class AcceptsLateSubmissions(Protocol):
    """An engine whose scheduler may still accept a job some time after its client has given up, and which
    may then have two jobs with one key: a job that :meth:`FindsSubmitted.find_submitted` does not find is submitted
    again only after that time.
    """

    late_arrival: float
    """Seconds after the end of a submission without an answer within which its job may still appear."""


@runtime_checkable
class TracksSubmissions(Protocol):
    """An engine whose submissions may continue after the end of the process that started them."""

    def list_pending_submissions(self, keys: Sequence[str]) -> set[str]:
        """The keys whose submission has not ended yet."""


@dataclass(frozen=True)
class JobCopies:
    """References of the other live jobs with the key of a job."""

    certain: Sequence[str] = ()
    """Submitted for the same record: cancelled together with the job."""
    possible: Sequence[str] = ()
    """Submitted for an unknown record (by an earlier version), or for another one, for example of another
    store: only their user cancels them."""


@runtime_checkable
class FindsCopies(Protocol):
    """An engine that may have several jobs with one key, and can list the live ones."""

    def find_copies(self, jobs: Mapping[str, JobIdentity]) -> Mapping[str, JobCopies]:
        """For each ref, passed with its job's identity, the other live jobs of its key; also if the
        engine has purged the job of that ref. Refs without others are omitted.
        """


@runtime_checkable
class CarriesDigests(Protocol):
    """An engine that keeps :attr:`Submission.spec` with its jobs."""

    def find_digests(self, refs: Sequence[str], since: float) -> Mapping[str, str]:
        """For each job that :meth:`FindsByKey.find` has found, the digest of its spec; omitted if
        it has none, or the engine no longer has it.
        """


@runtime_checkable
class RecallsJobs(Protocol):
    """An engine that can recall a job that has not started."""

    def recall(self, ref: str) -> None:
        """Cancel a job unless it has started; it is then CANCELLED without a start."""


@runtime_checkable
class SupportsDependencies(Protocol):
    """An engine that supports dependencies on its own jobs: ``prepare`` gets their references in ``job.after``."""

    supports_dependencies: bool


@runtime_checkable
class KeepsResults(Protocol):
    """An engine that stores the result of a job (in the file SUPERCLOUD_RESULT, or printed as
    :mod:`..runtime.remote_call` does), and can read it.
    """

    def read_result(self, key: str, offset: int) -> bytes:
        """A chunk of it from a byte offset; empty if there is no more (yet)."""


@runtime_checkable
class LocatesResults(Protocol):
    """An engine that can return the location of a result, for messages."""

    def describe_result(self, key: str) -> str:
        """The file that :meth:`KeepsResults.read_result` reads, with its host if it is on another host."""


@runtime_checkable
class StreamsLogs(Protocol):
    """An engine that can read the output of a job."""

    def read_log(self, key: str, offset: int) -> bytes:
        """The output of a job from a byte offset, in chunks of bounded size; empty if there is no more (yet)."""


def open_engine(connection: Connection, folder: Path) -> Engine:
    """The engine of a connection; the same object for the same connection and state folder.

    Raises :class:`UnknownNameError` for an unknown engine.
    """
    return _open_cached(connection, folder, os.getpid())


@lru_cache(maxsize=32)
def _open_cached(
    connection: Connection, folder: Path, process_id: int
) -> Engine:  # a forked process needs a separate one
    return cast(Engine, _load_engine_class(connection.engine)(connection, folder))


def _load_engine_class(name: str) -> Any:
    if home := ENGINES.get(name):
        module, _, attribute = home.partition(":")
        return getattr(import_module(module), attribute)
    others = {point.name: point for point in entry_points(group="supercloud.engines")}
    if name not in others:
        raise UnknownNameError("engine", name, list_engine_names())
    return others[name].load()


def list_engine_names() -> list[str]:
    """Engines for users; the fake engine is for tests of programs that call this package."""
    return sorted({*ENGINES, *(point.name for point in entry_points(group="supercloud.engines"))} - {_FAKE_ENGINE})
