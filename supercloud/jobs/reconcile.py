"""Reconciliation of the store with the engines: after a crash, and before jobs are shown."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from ..errors import (
    EngineConfigurationError,
    EngineError,
    EngineUnreachableError,
    InputError,
    StoreError,
    SupercloudError,
)
from ..primitives.responses import replace_surrogates
from ..spec.fleet import Connection
from .copies import (
    build_identity,
    build_known_identity,
    describe_copies,
    describe_others,
    find_copies,
    select_resubmitted,
)
from .defects import build_defect_error
from .engines.base import (
    AcceptsLateSubmissions,
    DistinguishesJobs,
    Engine,
    FindsByKey,
    FindsCopies,
    FindsSubmitted,
    JobCopies,
    SubmissionUnknownError,
    SubmittedJob,
    TracksSubmissions,
    open_engine,
)
from .engines.identity import find_digests
from .engines.submission import Submission, compute_spec_digest
from .store.leases import LATE_ARRIVAL_WATCH, compute_seconds_left, end_watch, has_expired, hold_lease
from .store.processes import ProcessId
from .store.records import JobRecord
from .store.states import State
from .store.status import Status
from .store.status_changes import can_continue
from .store.store import Store
from .transport.threads import start_thread

__all__ = ["UNDECIDED_ERRORS", "submit_recorded", "submission_in_progress", "reconcile"]


def reconcile(
    store: Store,
    job_ids: Collection[int] | None = None,
    unresponsive: dict[str, EngineError] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> list[SupercloudError]:
    """Poll every engine once for all its live jobs (or only ``job_ids``), and finish steps interrupted by a crash.

    Several engines are polled at the same time: one that hangs delays no other. Engines that do not respond are
    returned as errors (and in ``unresponsive`` by connection); the records of their jobs are not changed. A store that
    could not be written when it was opened is reopened.
    """
    try:
        store.reopen()
    except StoreError as error:
        return [error]
    damaged: list[StoreError] = []
    groups = _group_by_connection(store.list_live(damaged) if job_ids is None else store.select_by_id(job_ids, damaged))
    requests = {
        connection: partial(_reconcile_connection, store, connection, records, clock)
        for connection, records in groups.items()
    }
    problems: list[SupercloudError] = [*damaged]
    for connection, (found, failure) in _run_requests(requests).items():
        problems += found
        if failure is not None:
            problems.append(failure)
            if unresponsive is not None and isinstance(failure, EngineError):
                unresponsive[connection] = failure
    return problems


_Reconciled: TypeAlias = tuple[list[EngineError], SupercloudError | None]
"""Problems of single jobs, and the reason why the others could not be polled."""


def _run_requests(requests: Mapping[str, Callable[[], _Reconciled]]) -> dict[str, _Reconciled]:
    if len(requests) < 2:
        return {connection: request() for connection, request in requests.items()}
    running = {connection: start_thread(request, f"poll: {connection}") for connection, request in requests.items()}
    return {connection: answer.result() for connection, answer in running.items()}


def _reconcile_connection(
    store: Store, connection: str, records: Sequence[JobRecord], clock: Callable[[], float]
) -> _Reconciled:
    problems: list[EngineError] = []
    try:
        engine = open_engine(Connection.model_validate_json(connection), store.folder)
        problems += _recover_submissions(store, engine, [record for record in records if record.ref is None], clock)
        _poll_statuses(store, engine, [record for record in records if record.ref is not None])
    except Exception as error:
        return problems, _build_problem(records[0], error)
    return problems, None


def _group_by_connection(records: Iterable[JobRecord]) -> dict[str, list[JobRecord]]:
    """The jobs that engines may have."""
    groups: dict[str, list[JobRecord]] = {}
    for record in records:
        if not record.state.is_final and record.state is not State.HELD:  # held jobs are handled by the broker
            groups.setdefault(record.connection, []).append(record)
    return groups


def _build_problem(record: JobRecord, error: Exception) -> SupercloudError:
    """The problem that is reported for all jobs of an engine."""
    if isinstance(error, EngineError | InputError | StoreError):  # with a full disk, records can still be read
        return error
    skipped = f"{_describe_location(record)} is skipped"
    if isinstance(error, OSError):  # of this machine: a full disk, no more processes
        return EngineError(f"{skipped}: {error.filename or 'this machine'}: {error.strerror or error}")
    return build_defect_error(skipped, error)  # a defect of an engine, or an answer that it does not check


def _describe_location(record: JobRecord) -> str:
    return f"{record.cluster or 'a cluster'} ({record.engine})"


# Submissions in progress in this process, as folder and key. A job that, according to the store, this process
# submits, and that is not here, was left behind when its end could not be recorded: the disk was full.
_submissions_in_progress: set[tuple[str, str]] = set()


@contextlib.contextmanager
def submission_in_progress(store: Store, key: str) -> Iterator[None]:
    """Context from the record to the submission of a job: other threads of this process do not recover it."""
    item = (str(store.folder), key)
    mine = item not in _submissions_in_progress
    _submissions_in_progress.add(item)
    try:
        yield
    finally:
        if mine:
            _submissions_in_progress.discard(item)


def submit_recorded(store: Store, engine: Engine, job_id: int, submission: Submission) -> None:
    """Submit a job that this process has recorded as SUBMITTING, and record the outcome."""
    record = store.get(job_id)
    submission = replace(submission, recorded=record.recorded, spec=compute_spec_digest(record.spec))
    with contextlib.ExitStack() as broken_off:  # interrupted: it will be looked up
        broken_off.callback(store.release_ownership, job_id)
        try:
            with hold_lease(store, job_id):
                ref = engine.submit(submission)
        except SubmissionUnknownError:
            broken_off.close()
            _watch_late_arrival(store, engine, store.get(job_id))
            raise
        except EngineError as error:
            broken_off.pop_all()
            _record_rejection(store, job_id, error)
            raise
        broken_off.pop_all()
    store.record_submitted(job_id, ref)


UNDECIDED_ERRORS = (EngineUnreachableError, EngineConfigurationError)
"""Errors after which the scheduler has certainly not seen a job: no connection, or no valid credentials for one."""


def _record_rejection(store: Store, job_id: int, error: EngineError) -> None:
    """Record that an engine does certainly not have a job.

    The broker of a fleet selects another cluster. The key of a job that its scheduler refused remains used; one that
    the scheduler did not receive can be submitted again under its key. If its submission was started before, a user may
    wait for it: it remains SUBMITTING, and the next poll looks it up and submits it.
    """
    if store.requeue(job_id, str(error)):
        return
    if not isinstance(error, UNDECIDED_ERRORS):
        store.record_statuses({job_id: Status(State.FAILED, reason=str(error))})
    elif store.select_resubmitted([job_id]):
        store.release_ownership(job_id)
        store.explain_submission(job_id, "", f"not submitted again yet: {error}")
    else:
        store.record_unsent(job_id, f"not sent: {error}")


def _watch_late_arrival(store: Store, engine: Engine, record: JobRecord) -> None:
    """Start the watch of a submission without an answer now, if its engine reports that it has ended.

    If it continues, or the engine cannot report it, the first poll that sees its end starts the watch.
    """
    with contextlib.suppress(EngineError):
        if _get_late_arrival(engine) and not _select_in_progress(engine, [record.engine_key]):
            _has_to_wait(store, engine, record, time.monotonic)


def _select_in_progress(engine: Engine, keys: Sequence[str]) -> set[str]:
    """The keys whose submission has not ended, as far as the engine can detect it."""
    return engine.list_pending_submissions(keys) if keys and isinstance(engine, TracksSubmissions) else set()


def _get_late_arrival(engine: Engine) -> float:
    return engine.late_arrival if isinstance(engine, AcceptsLateSubmissions) else 0.0


def _has_to_wait(store: Store, engine: Engine, record: JobRecord, clock: Callable[[], float], others: str = "") -> bool:
    """Whether the scheduler may still accept a submission that has ended and that it does not have yet; the record then
    has a reason, with the ``others`` that have its key.
    """
    if record.state is not State.SUBMITTING or not (seconds := _get_late_arrival(engine)):
        return False
    try:
        left = compute_seconds_left(store, record, seconds, clock, LATE_ARRIVAL_WATCH)
        is_news = left == seconds or not record.reason.startswith(_LOOKED_FOR) or others not in record.reason
        if left > 0 and is_news:
            until = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() + left))
            store.explain_submission(
                record.id,
                record.owner,
                f"{_LOOKED_FOR} {until}, and then submitted again unless {record.engine} has it"
                f"{'; ' if others else ''}{others}",
            )
    except StoreError:  # the watch starts as soon as the store can be written
        return True
    return left > 0


_LOOKED_FOR = "submission unknown, looked up again until"


def _recover_submissions(
    store: Store, engine: Engine, records: Sequence[JobRecord], clock: Callable[[], float]
) -> list[EngineError]:
    """Recover jobs that were recorded but not as submitted: their submitter died meanwhile, or is still running."""
    orphans = [record for record in records if _is_orphan(store, record, clock)]
    looked_up = [record for record in orphans if record.state is not State.PENDING]
    found = _find_submitted(engine, looked_up) if looked_up else {}
    busy = _select_in_progress(engine, [record.engine_key for record in looked_up if record.engine_key not in found])
    problems: list[EngineError] = []
    for record in orphans:
        there = found.get(record.engine_key)
        if there is not None and there.ref is not None:
            store.record_submitted(record.id, there.ref, record.launch)
        elif record.state is State.PENDING or there is not None:
            others = describe_others(record, there.others) if there is not None else ""
            if not _has_to_wait(store, engine, record, clock, others):
                problems += _resubmit(store, engine, record, others)
        else:
            _explain_unknown_submission(store, engine, record, record.engine_key in busy, clock)
    return problems


def _is_orphan(store: Store, record: JobRecord, clock: Callable[[], float]) -> bool:
    """Whether no process submits the job any more."""
    owner = ProcessId.parse(record.owner)
    if owner == ProcessId.get_current() and (str(store.folder), record.key) not in _submissions_in_progress:
        return True
    alive = owner.is_alive if owner else False
    return has_expired(store, record, clock) if alive is None else not alive


def _resubmit(store: Store, engine: Engine, record: JobRecord, others: str) -> list[EngineError]:
    """Submit a job that its engine does not have, unless another process does; returns the error of its engine."""
    with submission_in_progress(store, record.key):
        if store.begin_submission(record.id, record.owner, record.lease):
            if others:
                store.add_note(record.id, others)
            try:
                submit_recorded(store, engine, record.id, Submission.from_json(record.submission))
            except EngineError as error:
                return [error]
    return []


def _explain_unknown_submission(
    store: Store, engine: Engine, record: JobRecord, is_in_progress: bool, clock: Callable[[], float]
) -> None:
    """Record why it is unknown whether the engine has a job, and what follows."""
    if not isinstance(engine, FindsSubmitted | FindsByKey):
        reason = (
            "its submitter died, and this engine cannot look up whether it has the job; if it does not, run "
            f"supercloud store forget {record.id}"
        )
        store.record_statuses({record.id: Status(State.UNKNOWN, reason=reason)})
    elif is_in_progress:
        end_watch(store, record, LATE_ARRIVAL_WATCH)  # the watch starts at the end of the submission
        _explain(
            store,
            record,
            f"its submitter has ended, but the submission to {record.engine} has not: the job is looked up afterwards",
        )
    elif not _has_to_wait(store, engine, record, clock):
        _explain(
            store,
            record,
            f"submission unknown: {record.engine} cannot determine whether it has the job, which is still in "
            "progress, or older than the queue's history, without accounting; look there for the key "
            f"{record.engine_key}, and if it is not there, run supercloud store forget {record.id}",
        )


def _explain(store: Store, record: JobRecord, reason: str) -> None:
    if record.reason != reason:
        store.explain_submission(record.id, record.owner, reason)


def _find_submitted(engine: Engine, records: Sequence[JobRecord]) -> Mapping[str, SubmittedJob]:
    """Look up jobs at the engine, by their keys. A job that was submitted for another record or spec does not match:
    the engine refuses the key, or accepts it for a second job.
    """
    since = min(record.recorded for record in records)
    if isinstance(engine, FindsSubmitted):
        return engine.find_submitted([build_identity(record) for record in records], since)
    if not isinstance(engine, FindsByKey):
        return {}
    # an engine of another package, without digests of records
    found = engine.find([record.engine_key for record in records], since)
    refs = [ref for ref in found.values() if ref is not None]
    digests = find_digests(engine, refs, since)
    wanted = {record.engine_key: compute_spec_digest(record.spec) for record in records}
    return {
        key: SubmittedJob(None, (ref,))
        if ref is not None and digests.get(ref, wanted[key]) != wanted[key]
        else SubmittedJob(ref)
        for key, ref in found.items()
    }


def _poll_statuses(store: Store, engine: Engine, records: Sequence[JobRecord]) -> None:
    if not records:
        return
    known = {record.id: record for record in records}
    statuses = _request_statuses(store, engine, records)
    silent = Status(State.UNKNOWN, reason=f"job not found by {records[0].engine}")
    answers = {record.id: statuses.get(record.id, silent) for record in records}
    _look_for_copies(store, engine, [record for record in records if answers[record.id].state.is_final], answers)
    store.record_statuses(answers, known)


def _request_statuses(store: Store, engine: Engine, records: Sequence[JobRecord]) -> dict[int, Status]:
    """By job ID; jobs unknown to the engine are omitted."""
    if isinstance(engine, DistinguishesJobs):
        jobs = {
            record.id: (record.ref, build_known_identity(store, record)) for record in records if record.ref is not None
        }
        found = engine.poll_jobs(list(jobs.values()))
        return {number: found[job] for number, job in jobs.items() if job in found}
    statuses = engine.poll([record.ref for record in records if record.ref])
    return {record.id: statuses[record.ref] for record in records if record.ref is not None and record.ref in statuses}


def _look_for_copies(store: Store, engine: Engine, ended: Sequence[JobRecord], answers: dict[int, Status]) -> None:
    """Add live copies to the reasons of jobs that have ended; those of jobs that are restarted
    are left to the broker, like abandoned launches.
    """
    asked = select_resubmitted(store, ended) if isinstance(engine, FindsCopies) else []
    try:
        found, problem = find_copies(engine, asked), None
    except Exception as error:  # the statuses of the jobs are known, and are recorded
        found, problem = {}, error
    for record in asked:
        is_started_again = can_continue(record, answers[record.id])
        copies = found.get(record.id, JobCopies())
        message = ""
        if copies.certain or copies.possible:
            message = describe_copies(record, copies, is_started_again)
        elif problem is not None:
            how = "supercloud serve" if is_started_again else f"supercloud cancel {record.id}"
            message = (
                f"it is unknown whether {record.engine} has a live copy of it "
                f"({replace_surrogates(str(problem))[:200]}); {how} checks again and cancels it"
            )
        if is_started_again and message:
            # the job itself if its copies are unknown: ending it ends them
            store.add_abandoned(record, copies.certain if problem is None else [record.ref or ""])
        if message:
            why = answers[record.id].reason
            answers[record.id] = replace(answers[record.id], reason=f"{why}; {message}" if why else message)
