"""The port every engine fills, and the registry of engines.

An engine is a class with ``Engine``'s four methods, constructed with a connection and the state folder; what else it
can do is a protocol of its own that callers look for. To add one: a module in ``engines/`` and a line in ``ENGINES``;
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

from ...errors import EngineError, UnknownNameError, UnusableEngine
from ...primitives.responses import replace_surrogates
from ..store.status import Status
from .submission import JobIdentity, Submission

if TYPE_CHECKING:  # a list of jobs must come quickly: it opens engines, and places nothing
    from ...spec import JobSpec
    from ...spec.fleet import Connection
    from ..placement.answer import Placement

__all__ = [
    "ENGINES",
    "CarriesDigests",
    "ChecksReachability",
    "SupportsDependencies",
    "EndsStarts",
    "Engine",
    "FindsByKey",
    "FindsCopies",
    "FindsSubmitted",
    "LocatesResults",
    "JobCopies",
    "KeepsResults",
    "RecallsJobs",
    "SeesSubmissions",
    "SubmittedJob",
    "StreamsLogs",
    "TakesLate",
    "BindsTokens",
    "SubmissionUnknownError",
    "defect_of",
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


class SubmissionUnknownError(EngineError):
    """The engine was asked to take a job and did not answer: it may have it. Nobody asks again before looking."""


class Engine(Protocol):
    """Something that runs jobs."""

    poll_interval: float
    """Seconds between two questions while somebody waits for a job."""

    def prepare(self, job: JobSpec, placement: Placement, key: str) -> Submission:
        """What would be done for a job; changes nothing anywhere."""

    def submit(self, submission: Submission) -> str:
        """Do it; returns what the engine calls the job.

        Raises :class:`EngineError` when it was *not* taken, :class:`SubmissionUnknownError` when nobody knows.
        """

    def poll(self, refs: Sequence[str]) -> Mapping[str, Status]:
        """How jobs are, in one question; what the engine does not know is left out."""

    def cancel(self, ref: str) -> None:
        """Ask that a job ends; a job that has ended is no error."""


@runtime_checkable
class ChecksReachability(Protocol):
    """An engine that knows, without asking anybody, when it cannot be reached from this machine."""

    def require_reachable(self) -> None:
        """Raise :class:`EngineError` with how to reach it; called before a job is recorded for it."""


@runtime_checkable
class BindsTokens(Protocol):
    """An engine with tokens of the user, some of which say no host that they are for."""

    def bind_tokens(self) -> None:
        """Called where the user named the connection (in a command or a call, not in a file of a fleet): from now on
        the tokens that say no host are for its address, and for no other.
        """


@runtime_checkable
class FindsByKey(Protocol):
    """An engine whose ``submit`` may be repeated only when the job is certainly not there."""

    def find(self, keys: Sequence[str], since: float) -> Mapping[str, str | None]:
        """For each key submitted after ``since`` its ref, None when it is certainly not there; left out: who knows."""


@dataclass(frozen=True)
class SubmittedJob:
    """What an engine has of a job whose submission got no answer."""

    ref: str | None
    """What it calls the job; None when it is certainly not there."""
    others: Sequence[str] = ()
    """Other jobs of the key: they carry the digest of another record, say of another store or of a job that this store
    has forgotten, or none, because an earlier version submitted them. Nobody takes them for this job.
    """


@runtime_checkable
class FindsSubmitted(Protocol):
    """An engine that keeps the identity of a job with it, so that a job is found of which the store knows what it
    submitted. :class:`FindsByKey` is for a store that has forgotten that.
    """

    def find_submitted(self, jobs: Sequence[JobIdentity], since: float) -> Mapping[str, SubmittedJob]:
        """For each of the jobs, which have different keys and were submitted after ``since``, what is there of it, by
        its key; left out: who knows. A job is one of these only where key, spec and record are the same.
        """


@runtime_checkable
class EndsStarts(Protocol):
    """An engine that can tell the job of a start from another one that has got its ref since."""

    def end_start(self, ref: str, start: JobIdentity) -> None:
        """End the job of a ref, and its copies, where they carry this identity. It is no error that the engine has
        forgotten them, or that the ref is of another job by now, which is left alone.
        """


@runtime_checkable
class TakesLate(Protocol):
    """An engine whose scheduler may still take a job some time after nobody waits for its answer any more, and which
    may then have two jobs of one key: what :meth:`FindsSubmitted.find_submitted` does not see is submitted again only
    after that time.
    """

    late_arrival: float
    """Seconds after the end of a submission without an answer within which its job may still appear."""


@runtime_checkable
class SeesSubmissions(Protocol):
    """An engine whose submissions may go on after the end of the process that began them."""

    def on_its_way(self, keys: Sequence[str]) -> set[str]:
        """Those of the keys whose submission has not ended yet."""


@dataclass(frozen=True)
class JobCopies:
    """What an engine calls the other jobs of the key of a job that have not ended."""

    certain: Sequence[str] = ()
    """Submitted for the same record: whoever ends the job means them, too."""
    possible: Sequence[str] = ()
    """Nothing says for which record they were submitted (an earlier version did), or it was another one, say of another
    store: nobody but their user ends them."""


@runtime_checkable
class FindsCopies(Protocol):
    """An engine that may have several jobs of one key, and can list those that have not ended."""

    def copies(self, jobs: Mapping[str, JobIdentity]) -> Mapping[str, JobCopies]:
        """For each ref, given with what its job carries, the other jobs of its key that have not ended; also where the
        engine has forgotten the job of that ref. Refs without others are left out.
        """


@runtime_checkable
class CarriesDigests(Protocol):
    """An engine that keeps :attr:`Submission.spec` with its jobs."""

    def find_digests(self, refs: Sequence[str], since: float) -> Mapping[str, str]:
        """For each job that :meth:`FindsByKey.find` has found, the digest of the spec it was submitted for; left out:
        it carries none, or the engine no longer says.
        """


@runtime_checkable
class RecallsJobs(Protocol):
    """An engine that can take a job back as long as it has not begun."""

    def recall(self, ref: str) -> None:
        """End a job unless it has begun; it then is CANCELLED without ever having started."""


@runtime_checkable
class SupportsDependencies(Protocol):
    """An engine that itself waits for other jobs of its own: ``prepare`` finds what it calls them in ``job.after``."""

    supports_dependencies: bool


@runtime_checkable
class KeepsResults(Protocol):
    """An engine that takes what a job leaves as its result (in the file SUPERCLOUD_RESULT names, or printed as
    :mod:`..runtime.remote_call` does), and can show it."""

    def read_result(self, key: str, offset: int) -> bytes:
        """A piece of it from a byte on; empty when there is no more (yet)."""


@runtime_checkable
class LocatesResults(Protocol):
    """An engine that can name the place of a result, for messages."""

    def describe_result(self, key: str) -> str:
        """The file that :meth:`KeepsResults.read_result` reads, with its host where that is another one."""


@runtime_checkable
class StreamsLogs(Protocol):
    """An engine that can show what a job has printed."""

    def read_log(self, key: str, offset: int) -> bytes:
        """What a job printed from a byte on, in pieces of bounded size; empty when there is no more (yet)."""


def open_engine(connection: Connection, folder: Path) -> Engine:
    """The engine of a connection; one and the same for the same connection and state folder."""
    return _open_cached(connection, folder, os.getpid())


@lru_cache(maxsize=32)
def _open_cached(connection: Connection, folder: Path, process_id: int) -> Engine:  # a fork needs one of its own
    return cast(Engine, _load_engine_class(connection.engine)(connection, folder))


def _load_engine_class(name: str) -> Any:
    if home := ENGINES.get(name):
        module, _, attribute = home.partition(":")
        return getattr(import_module(module), attribute)
    others = {point.name: point for point in entry_points(group="supercloud.engines")}
    if name not in others:
        raise UnknownNameError("engine", name, list_engine_names())
    return others[name].load()


def defect_of(what: str, error: Exception) -> UnusableEngine:
    """What an engine raised that no engine should raise, as an error that can be shown: ``what`` it means."""
    defect = UnusableEngine(
        f"{what}: its engine failed with {type(error).__name__}: {replace_surrogates(str(error))[:300]}; "
        "please report it"
    )
    defect.__cause__ = error
    return defect


def list_engine_names() -> list[str]:
    """Engines for users; the one that only pretends is for tests of programs that call this package."""
    return sorted({*ENGINES, *(point.name for point in entry_points(group="supercloud.engines"))} - {_FAKE_ENGINE})
