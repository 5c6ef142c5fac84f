"""Submitting jobs and holding on to them, in the manner of ``concurrent.futures``.

>>> job = submit(JobSpec(name="hello", command=["echo", "hello"]), plan, engine="local")
>>> job.result()                     # waits; raises JobFailed when the job did not complete
>>> print("".join(job.logs()))
hello
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Collection, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from ..catalog import Catalog
from ..errors import EngineError, Finding, InputError, SpecError, StoreError, nearest
from ..plan.model.plan import Plan
from ..spec import JobSpec
from ..spec.fleet import Connection
from ..spec.tenant import Limits
from . import job_rules as support
from .arguments import check_job_and_place
from .engines.base import ChecksReach, Depends, Engine, Finds, TakesTokens, Unsure, open_engine
from .engines.identity import digests_of, explain_other
from .engines.submission import Submission
from .fleet.connections import check_options
from .fleet.stack_outputs import reached
from .fleet.state import Fleet
from .futures import as_completed, wait
from .job import Job
from .placement.energy import watts
from .placement.place import Placement, place
from .placement.steps.cost import promise
from .reconcile import hand_over, in_hand, reconcile
from .runtime.epochs import launch_of
from .runtime.remote_call import READING
from .store.database import state_folder, without_advice
from .store.records import JobRecord
from .store.spending import spent
from .store.states import State
from .store.store import Store, default_store, has_store

__all__ = ["Job", "as_completed", "check_after", "default_store", "get", "jobs", "name_address", "open_engine",
           "prepare", "reconcile", "submit", "wait"]  # fmt: skip

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def prepare(
    job: JobSpec, plan: Plan, *, engine: str | Connection | None = None, key: str | None = None,
    store: Store | None = None, catalog: Catalog | None = None,
) -> tuple[Placement, Submission]:  # fmt: skip
    """Where a job would go and exactly what its engine would be told: print the submission for a dry run.

    ``engine`` left out is the plan's own scheduler. Changes nothing anywhere. Raises :class:`SpecError` with the reason
    of every pool when none can have the job.
    """
    check_job_and_place(job, plan, Plan, "prepare takes a job and a plan")
    folder, connection = store.folder if store else state_folder(), _connection(engine, plan)
    if job.after:
        with Store(folder) if store is None and has_store(folder) else nullcontext(store) as opened:
            referred(job, opened)
            job = _awaited(job, connection, opened, ask=False) if opened else job
    return _prepare(job, plan, connection, "dry-run" if key is None else key, folder, catalog)


def check_after(job: JobSpec) -> None:
    """Raise :class:`InputError` where a job waits for jobs that this user's store does not have; changes nothing."""
    if job.after:
        folder = state_folder()
        with Store(folder) if has_store(folder) else nullcontext() as opened:
            referred(job, opened)


def submit(
    job: JobSpec, where: Plan | Fleet, *, engine: str | Connection | None = None, key: str | None = None,
    store: Store | None = None, catalog: Catalog | None = None,
) -> Job:  # fmt: skip
    """Place a job, record it, hand it to its engine; given a fleet, record it for the fleet's broker to place.

    ``engine`` left out is the plan's own scheduler; ``"local"`` simulates the cluster on this machine. Where the
    scheduler cannot be reached from here, :class:`EngineError` says how, and nothing is recorded.

    ``key`` makes it idempotent: the same key again is the same job. Once this has returned the job is not lost and not
    run twice, whatever is killed; if it is killed before, the job may be there or not, and the key tells.
    """
    if script := os.environ.get(READING):
        raise InputError(f"{script} submits jobs while a job reads it for its functions; put what submits jobs under "
                         "if __name__ == \"__main__\":")  # fmt: skip
    check_job_and_place(job, where, (Plan, Fleet), "submit takes a job and a plan or a fleet")
    store = store or default_store()
    named, key = key is not None, secrets.token_hex(8) if key is None else key
    spec = job.model_dump_json(exclude_defaults=True)
    whose: dict[str, Any] = {"key": key, "name": job.name, "spec": spec, "tenant": job.tenant or "",
                             "priority": job.priority, "retries": job.retries}  # fmt: skip
    if (known := store.by_key(key)) and known.spec == spec:
        if known.ref is None:  # its submitter may have died
            reconcile(store, [known.id])
        return Job(store.get(known.id), store)  # without placing it again: the plan may have changed since
    if isinstance(where, Fleet):
        awaited = _holdable(job, where, key, store)
        record, _ = store.record(**whose, fleet=where.spec.name, held=True, awaited=awaited)
        return Job(record, store)
    connection = _connection(engine, where)
    name_address(connection, store.folder)
    if isinstance(opened := open_engine(connection, store.folder), ChecksReach):
        opened.check_reach()
    known_there = _started_before(opened, where.name, key, job.name, spec, store) if named else None
    ready = _awaited(job, connection, store)
    placement, submission = _prepare(ready, where, connection, key, store.folder, catalog)
    with in_hand(store, key):
        with store.writing():  # one write to the disk for both steps
            record, new = store.record(
                **whose, placement=placement.to_json(), submission=submission.to_json(), cluster=where.name,
                connection=connection.model_dump_json(exclude_defaults=True), engine=connection.engine,
                watts=watts(where, placement), hourly=placement.price, units=placement.units,
                promised=promise(job, placement),
            )  # fmt: skip
            mine = new and store.begin(record.id)
        try:
            if mine and known_there:
                store.submitted(record.id, known_there)
            elif mine:
                hand_over(store, open_engine(connection, store.folder), record.id, submission)
        except (Unsure, StoreError) as error:  # whoever repeats it without its key has it twice
            raise type(error)(
                f"job {record.id} ({job.name}, key {key}) is recorded, and whether its engine has it is not known: "
                f"{without_advice(error)}; submitting it once more could run it twice. To find out, and to hand "
                f"it over if it was not taken, run: supercloud wait {record.id}"
            ) from error
    return Job(store.get(record.id), store)


def name_address(connection: Connection, folder: Path) -> None:
    """Take note that the user named this connection in a command or a call: see :class:`TakesTokens`."""
    is_service = (connection.via or "").startswith("http")
    if is_service and isinstance(engine := open_engine(connection, folder), TakesTokens):
        engine.name_address()


def _started_before(engine: Engine, cluster: str, key: str, name: str, spec: str, store: Store) -> str | None:
    """What an engine calls a job of this key that it got before a copy was put in the place of the store; None where it
    finds none. Raises :class:`InputError` where that job is another one, or may be.
    """
    restored = store.restored()
    if restored is None or not isinstance(engine, Finds):
        return None
    ref = engine.find([key], restored.since).get(key)
    if ref is not None:
        digest = digests_of(engine, [ref], restored.since).get(ref)
        if problem := explain_other(cluster, ref, key, digest, repr(name), spec):
            raise InputError(problem)
    return ref


def _holdable(job: JobSpec, fleet: Fleet, key: str, store: Store) -> list[int]:
    """The jobs that a job waits for. Raises with the reasons where no cluster of the fleet could ever have it, or its
    tenant cannot pay for it.
    """
    from dataclasses import replace

    _check_key(key)
    support.check(job)
    awaited = [require_completable(record).id for record in referred(job, store)]  # decided now, and once
    connected = tuple(cluster for cluster in fleet.clusters if cluster.member.connect)
    if not connected:
        raise InputError(f"no cluster of {fleet.spec.name} says how it is reached",
                         [Finding("fleet-connect", "error", "clusters", "none has 'connect'",
                                  "write connect: {engine: slurm, via: ssh:HOST}, or take --engine")])  # fmt: skip
    limits = next((item.limits for item in fleet.spec.tenants if item.name == job.tenant), Limits())
    mine = sum(record.tenant == job.tenant and record.fleet == fleet.spec.name for record in store.live(damaged=[])) \
        if limits.submitted is not None else 0  # fmt: skip
    if limits.submitted is not None and mine >= limits.submitted:
        raise InputError(f"tenant {job.tenant} has {mine} jobs in {fleet.spec.name} that run or wait, it may have "
                         f"{limits.submitted}; wait for one of them, or cancel one")  # fmt: skip
    answer = place(job, replace(fleet, clusters=connected, spent=spent(store, fleet.spec.budgets)))
    if not isinstance(answer, Placement):
        findings = [Finding("place", "error", f"pool {refusal.cluster}/{refusal.pool}", refusal.reason, refusal.remedy)
                    for refusal in answer]  # fmt: skip
        findings += _unreachable(job, fleet)
        raise SpecError(f"no pool of {fleet.spec.name} can ever have job {job.name!r}", findings)
    return awaited


def _unreachable(job: JobSpec, fleet: Fleet) -> Iterator[Finding]:
    """The clusters that a job insists on and that are not there, or that nobody can reach."""
    known = {cluster.plan.name: cluster.member.connect for cluster in fleet.clusters}
    for name in () if job.place.clusters == "any" else job.place.clusters:
        if name not in known:
            yield Finding("place", "error", "place.clusters", f"no cluster of {fleet.spec.name} is called {name!r}",
                          nearest(name, known))  # fmt: skip
        elif not known[name]:
            yield Finding("fleet-connect", "error", f"cluster {name}", "the job may go there, but the fleet does not "
                          "say how it is reached", "write connect: for it in the file of the fleet, such as "
                          "connect: {engine: slurm, via: ssh:HOST}, or leave out place.clusters")  # fmt: skip


def referred(job: JobSpec, store: Store | None) -> list[JobRecord]:
    """The jobs that ``after`` means: by number, by key, or by name (then the last one of that name).

    Raises :class:`InputError` with all that are not there; without a store none is.
    """
    found = [store.named(name) if store else None for name in job.after]
    known = store.names() if store and None in found else []
    findings = [Finding("job-after", "error", f"after[{index}]", f"no job is called {name!r}, by number, key or name",
                        nearest(name, known) or "submit that job first")
                for index, name in enumerate(job.after) if found[index] is None]  # fmt: skip
    if findings:
        raise InputError(f"job {job.name!r} waits for jobs that the store does not have", findings)
    return [record for record in found if record is not None]


def require_completable(found: JobRecord) -> JobRecord:
    """The same job; raises :class:`InputError` where it has ended otherwise than what waits for it needs."""
    if found.state.is_final and found.state is not State.COMPLETED:
        raise InputError(f"job {found.id} ({found.name}) ended as {found.state}: what waits for it can never begin; "
                         "submit it again first")  # fmt: skip
    return found


def _awaited(job: JobSpec, connection: Connection, store: Store, ask: bool = True) -> JobSpec:
    """The job with what its engine calls the jobs it waits for; those that have completed are left out.

    Their engines are asked how those are, unless ``ask`` is False.
    """
    if not job.after:
        return job
    meant = [record.id for record in referred(job, store)]
    if ask:
        reconcile(store, meant)
    awaited = [require_completable(store.get(number)) for number in meant]
    open_ = [record for record in awaited if not record.state.is_final]
    engine = open_engine(connection, store.folder)
    for record in open_:
        if Connection.model_validate_json(record.connection or '{"engine": "-"}') != connection or record.ref is None:
            raise InputError(f"job {record.id} ({record.name}) is not on the same engine; wait for it, or submit both "
                             "to a fleet: its broker sees to the order")  # fmt: skip
        if not isinstance(engine, Depends):
            raise EngineError(f"the engine {connection.engine} starts nothing after something else; wait for job "
                              f"{record.id} first")  # fmt: skip
    return job.model_copy(update={"after": tuple(record.ref for record in open_ if record.ref)})


def jobs(store: Store | None = None, states: Collection[State] = tuple(State), limit: int = -1) -> list[Job]:
    """Jobs as the store has them, the newest first; :func:`reconcile` brings it up to date."""
    store = store or default_store()
    return [Job(record, store) for record in store.select(states, limit)]


def get(number: int, store: Store | None = None) -> Job:
    """A job by its number."""
    store = store or default_store()
    return Job(store.get(number), store)


def _connection(engine: str | Connection | None, plan: Plan) -> Connection:
    """What was asked for, or what its stack says; without either, the cluster's own scheduler as reached from here."""
    if not isinstance(engine, Connection):
        return Connection(engine=engine or plan.scheduler.kind)
    return check_options(reached(check_options(engine)))


def _prepare(
    job: JobSpec, plan: Plan, connection: Connection, key: str, folder: Path, catalog: Catalog | None
) -> tuple[Placement, Submission]:
    _check_key(key)
    support.check(job)
    answer = place(job, plan, catalog)
    if not isinstance(answer, Placement):
        findings = [Finding("place", "error", f"pool {refusal.pool}", refusal.reason, refusal.remedy)
                    for refusal in answer]  # fmt: skip
        raise SpecError(f"no pool of {plan.name} can have job {job.name!r}", findings)
    return answer, open_engine(connection, folder).prepare(job, answer, key)


def _check_key(key: str) -> None:
    if not _KEY.fullmatch(key) or launch_of(key):
        raise InputError(f"{key[:80]!r} is no key: write up to 64 letters, digits, dots, dashes and underscores, "
                         "beginning with a letter or digit, not ending in .e and a number")  # fmt: skip
