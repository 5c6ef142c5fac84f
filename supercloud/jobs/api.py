"""Submitting and retrieving jobs, in the manner of ``concurrent.futures``.

>>> job = submit(JobSpec(name="hello", command=["echo", "hello"]), plan, engine="local")
>>> job.result()                     # waits; raises JobFailedError if the job did not complete
>>> print("".join(job.logs()))
hello
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Collection, Iterator
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from ..catalog import Catalog
from ..errors import EngineError, Finding, InputError, SpecError, suggest_nearest
from ..plan.model.plan import Plan
from ..spec import JobSpec
from ..spec.fleet import Connection
from ..spec.tenant import TenantLimits
from . import job_rules as support
from .assignment import build_assignment
from .engines.base import (
    BindsTokens,
    ChecksReachability,
    Engine,
    FindsByKey,
    SupportsDependencies,
    open_engine,
)
from .engines.identity import explain_mismatch, find_digests
from .engines.submission import Submission
from .fleet.connections import pin_connection, require_used_options
from .fleet.stack_outputs import read_connection_from_stack
from .fleet.state import Fleet
from .futures import as_completed, wait
from .job import Job
from .placement.arguments import require_job_and_destination, require_no_engine
from .placement.place import Placement, place
from .reconcile import reconcile
from .recording import record_and_submit, require_accepted
from .runtime.epochs import parse_launch
from .runtime.remote_call import READING_VARIABLE
from .store.database import locate_state_folder
from .store.records import JobRecord, NewJob
from .store.spending import compute_spending
from .store.states import State
from .store.store import Store, has_store, open_default_store

__all__ = [
    "Job",
    "as_completed",
    "require_dependencies",
    "open_default_store",
    "get",
    "list_jobs",
    "bind_tokens",
    "open_engine",
    "prepare",
    "reconcile",
    "submit",
    "wait",
]

_KEY_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def prepare(
    job: JobSpec,
    plan: Plan,
    *,
    engine: str | Connection | None = None,
    key: str | None = None,
    store: Store | None = None,
    catalog: Catalog | None = None,
) -> tuple[Placement, Submission]:
    """The placement and the exact submission of a job: print the submission for a dry run.

    By default ``engine`` is the plan's own scheduler. Has no side effects. Raises :class:`SpecError` with the refusals
    of all pools if no pool fits.

    Raises :class:`InputError` for a key that is not valid or a dependency on another engine, and :class:`EngineError`
    for a job that the engine does not support.
    """
    require_job_and_destination(job, plan, Plan, "prepare requires a job and a plan")
    folder, connection = store.folder if store else locate_state_folder(), _resolve_connection(engine, plan)
    if job.after:
        with Store(folder) if store is None and has_store(folder) else nullcontext(store) as opened:
            resolve_dependencies(job, opened)
            job = _resolve_dependency_refs(job, connection, opened, refresh=False) if opened else job
    return _place_and_prepare(job, plan, connection, "dry-run" if key is None else key, folder, catalog)


def require_dependencies(job: JobSpec) -> None:
    """Raise :class:`InputError` if a job depends on jobs that this user's store does not have; has no side effects."""
    if job.after:
        folder = locate_state_folder()
        with Store(folder) if has_store(folder) else nullcontext() as opened:
            resolve_dependencies(job, opened)


def submit(
    job: JobSpec,
    destination: Plan | Fleet,
    *,
    engine: str | Connection | None = None,
    key: str | None = None,
    store: Store | None = None,
    catalog: Catalog | None = None,
) -> Job:
    """Place a job, record it, and submit it to its engine; for a fleet, record it for placement by the fleet's broker.

    After the return the job is not lost and not run twice, even after crashes. After a crash before the return the job
    may exist or not, which its key shows. If the scheduler cannot be reached, nothing is sent, and the same call may be
    repeated, with the same key.

    Args:
        job: The job.
        destination: The plan of a cluster, or a fleet.
        engine: Name of the engine or a connection; by default the plan's own scheduler. ``"local"`` simulates the
            cluster on this machine. Omit it for a fleet.
        key: Makes the submission idempotent: the same key returns the same job, unless it was never sent.
        store: Records of jobs; by default those of this user.
        catalog: Facts, instead of those of the plan.

    Raises:
        SpecError: If no pool fits; with the refusals of all pools.
        InputError: For a key or a dependency that is not valid, a tenant beyond its limits, an engine for a fleet.
        EngineError: If the engine rejects the job, now or in an earlier call with this key; with a hint.
        EngineUnreachableError: If the engine cannot be reached and nothing was sent: the call may be repeated.
        EngineConfigurationError: The same, until a user fixes the reported problem.
        SubmissionUnknownError: If it is unknown whether the engine has the job.
    """
    if script := os.environ.get(READING_VARIABLE):
        raise InputError(
            f"{script} submits jobs while a job imports its functions; move the submission of jobs under "
            'if __name__ == "__main__":'
        )
    require_job_and_destination(job, destination, (Plan, Fleet), "submit requires a job and a plan or a fleet")
    store = store or open_default_store()
    named, key = key is not None, secrets.token_hex(8) if key is None else key
    spec = job.model_dump_json(exclude_defaults=True)
    new_job = NewJob(key, job.name, spec, job.tenant or "", job.priority, job.retries)
    if (known := store.find_by_key(key)) and known.spec == spec:
        if known.ref is None:  # its submitting process may have died
            reconcile(store, [known.id])
        now = store.get(known.id)
        if now.key == key:  # else it was not sent, and is submitted now
            return Job(require_accepted(now, key), store)  # without placing it again: the plan may have changed since
    if isinstance(destination, Fleet):
        require_no_engine(engine, destination)
        awaited = _admit_to_fleet(job, destination, key, store)
        held, _ = store.record(replace(new_job, fleet=destination.spec.name, is_held=True), awaited)
        return Job(require_accepted(held, key), store)
    connection = _resolve_connection(engine, destination)
    bind_tokens(connection, store.folder)
    if isinstance(opened := open_engine(connection, store.folder), ChecksReachability):
        opened.require_reachable()
    known_there = (
        _find_submission_before_restore(opened, destination.name, key, job.name, spec, store) if named else None
    )
    ready = _resolve_dependency_refs(job, connection, store)
    placement, submission = _place_and_prepare(ready, destination, connection, key, store.folder, catalog)
    assignment = build_assignment(job, destination, connection, placement, submission)
    record = record_and_submit(store, replace(new_job, assignment=assignment), connection, submission, known_there)
    return Job(require_accepted(store.get(record.id), key), store)


def bind_tokens(connection: Connection, folder: Path) -> None:
    """Record that the user specified this connection in a command or a call: see :class:`BindsTokens`."""
    is_service = (connection.via or "").startswith("http")
    if is_service and isinstance(engine := open_engine(connection, folder), BindsTokens):
        engine.bind_tokens()


def _find_submission_before_restore(
    engine: Engine, cluster: str, key: str, name: str, spec: str, store: Store
) -> str | None:
    """The reference of a job of this key that an engine accepted before the store was restored; None if there is none.
    Raises :class:`InputError` if that job is, or may be, a different one.
    """
    restored = store.find_restore()
    if restored is None or not isinstance(engine, FindsByKey):
        return None
    ref = engine.find([key], restored.since).get(key)
    if ref is not None:
        digest = find_digests(engine, [ref], restored.since).get(ref)
        if problem := explain_mismatch(cluster, ref, key, digest, repr(name), spec):
            raise InputError(problem)
    return ref


def _admit_to_fleet(job: JobSpec, fleet: Fleet, key: str, store: Store) -> list[int]:
    """The dependencies of a job. Raises with the reasons if no cluster of the fleet can ever run it, or its tenant
    cannot pay for it.
    """
    _require_valid_key(key)
    support.require_valid_job(job)
    awaited = [require_completable(record).id for record in resolve_dependencies(job, store)]  # resolved once, now
    connected = tuple(cluster for cluster in fleet.clusters if cluster.member.connect)
    if not connected:
        raise InputError(
            f"no cluster of {fleet.spec.name} has a connection",
            [
                Finding(
                    "fleet-connect",
                    "error",
                    "clusters",
                    "'connect' is not set",
                    "set connect: {engine: slurm, via: ssh:HOST} for a cluster in the fleet file",
                )
            ],
        )
    limits = next((item.limits for item in fleet.spec.tenants if item.name == job.tenant), TenantLimits())
    mine = (
        sum(record.tenant == job.tenant and record.fleet == fleet.spec.name for record in store.list_live(damaged=[]))
        if limits.submitted is not None
        else 0
    )
    if limits.submitted is not None and mine >= limits.submitted:
        raise InputError(
            f"tenant {job.tenant} has {mine} running or waiting jobs in {fleet.spec.name}, its limit is "
            f"{limits.submitted}; wait for one of them, or cancel one"
        )
    answer = place(job, replace(fleet, clusters=connected, spent=compute_spending(store, fleet.spec.budgets)))
    if not isinstance(answer, Placement):
        findings = [
            Finding("place", "error", f"pool {refusal.cluster}/{refusal.pool}", refusal.reason, refusal.suggestion)
            for refusal in answer
        ]
        findings += _check_requested_clusters(job, fleet)
        raise SpecError(f"no pool of {fleet.spec.name} can ever run job {job.name!r}", findings)
    return awaited


def _check_requested_clusters(job: JobSpec, fleet: Fleet) -> Iterator[Finding]:
    """Findings for clusters that a job requires and that are unknown or have no connection."""
    known = {cluster.plan.name: cluster.member.connect for cluster in fleet.clusters}
    for name in () if job.place.clusters == "any" else job.place.clusters:
        if name not in known:
            yield Finding(
                "place",
                "error",
                "place.clusters",
                f"unknown cluster {name!r} in {fleet.spec.name}",
                suggest_nearest(name, known),
            )
        elif not known[name]:
            yield Finding(
                "fleet-connect",
                "error",
                f"cluster {name}",
                "the job may run there, but the fleet has no connection to it",
                "set connect: for it in the fleet file, such as "
                "connect: {engine: slurm, via: ssh:HOST}, or omit place.clusters",
            )


def resolve_dependencies(job: JobSpec, store: Store | None) -> list[JobRecord]:
    """Resolve ``after``: by ID, by key, or by name (the last job with that name).

    Raises :class:`InputError` with all unknown jobs; without a store all are unknown.
    """
    found = [store.find_by_name(name) if store else None for name in job.after]
    known = store.list_names() if store and None in found else []
    findings = [
        Finding(
            "job-after",
            "error",
            f"after[{index}]",
            f"no job has the ID, key or name {name!r}",
            suggest_nearest(name, known) or "submit that job first",
        )
        for index, name in enumerate(job.after)
        if found[index] is None
    ]
    if findings:
        raise InputError(f"job {job.name!r} depends on jobs that the store does not have", findings)
    return [record for record in found if record is not None]


def require_completable(record: JobRecord) -> JobRecord:
    """The same job; raises :class:`InputError` if it has ended without completing."""
    if record.state.is_final and record.state is not State.COMPLETED:
        raise InputError(
            f"job {record.id} ({record.name}) ended as {record.state}: jobs that depend on it can never start; "
            "submit it again first"
        )
    return record


def _resolve_dependency_refs(job: JobSpec, connection: Connection, store: Store, refresh: bool = True) -> JobSpec:
    """The job with the engine's references of its dependencies; completed ones are omitted.

    Their statuses are queried first, unless ``refresh`` is False.
    """
    if not job.after:
        return job
    meant = [record.id for record in resolve_dependencies(job, store)]
    if refresh:
        reconcile(store, meant)
    awaited = [require_completable(store.get(number)) for number in meant]
    open_ = [record for record in awaited if not record.state.is_final]
    engine = open_engine(connection, store.folder)
    for record in open_:
        if Connection.model_validate_json(record.connection or '{"engine": "-"}') != connection or record.ref is None:
            raise InputError(
                f"job {record.id} ({record.name}) is on another engine; wait for it, or submit both "
                "to a fleet, whose broker starts them in order"
            )
        if not isinstance(engine, SupportsDependencies):
            raise EngineError(
                f"engine {connection.engine} does not support job dependencies; wait for job {record.id} first"
            )
    return job.model_copy(update={"after": tuple(record.ref for record in open_ if record.ref)})


def list_jobs(store: Store | None = None, states: Collection[State] = tuple(State), limit: int = -1) -> list[Job]:
    """Jobs from the store, newest first, as last recorded; ``Job.get_state`` asks the engine.

    Args:
        store: Records of jobs; by default those of this user.
        states: Only jobs in these states.
        limit: Maximum number of jobs; -1 means all.

    Raises:
        StoreError: If the store cannot be read.
    """
    store = store or open_default_store()
    return [Job(record, store) for record in store.select(states, limit)]


def get(job_id: int, store: Store | None = None) -> Job:
    """A job by its ID.

    Args:
        job_id: ID in the store.
        store: Records of jobs; by default those of this user.

    Raises:
        UnknownNameError: If the store has no such job.
        StoreError: If the store cannot be read.
    """
    store = store or open_default_store()
    return Job(store.get(job_id), store)


def _resolve_connection(engine: str | Connection | None, plan: Plan) -> Connection:
    """The requested connection, or that of its stack; by default the cluster's own scheduler as reached from here.

    It is recorded with the job.
    """
    if not isinstance(engine, Connection):
        return pin_connection(Connection(engine=engine or plan.scheduler.kind))
    return pin_connection(require_used_options(read_connection_from_stack(require_used_options(engine))))


def _place_and_prepare(
    job: JobSpec, plan: Plan, connection: Connection, key: str, folder: Path, catalog: Catalog | None
) -> tuple[Placement, Submission]:
    _require_valid_key(key)
    support.require_valid_job(job)
    answer = place(job, plan, catalog)
    if not isinstance(answer, Placement):
        findings = [
            Finding("place", "error", f"pool {refusal.pool}", refusal.reason, refusal.suggestion) for refusal in answer
        ]
        raise SpecError(f"job {job.name!r} does not fit any pool of {plan.name}", findings)
    return answer, open_engine(connection, folder).prepare(job, answer, key)


def _require_valid_key(key: str) -> None:
    if not _KEY_PATTERN.fullmatch(key) or parse_launch(key):
        raise InputError(
            f"{key[:80]!r} is not a valid key: use up to 64 letters, digits, dots, dashes and underscores, "
            "starting with a letter or digit, not ending in .e and a number"
        )
