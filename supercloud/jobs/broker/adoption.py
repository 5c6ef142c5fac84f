"""Adoption of jobs that were submitted after the backup was made from which the store was restored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...errors import EngineError, InputError
from ...spec import JobSpec
from ..assignment import build_assignment
from ..engines.identity import explain_mismatch
from ..fleet.state import Cluster
from ..placement.place import Placement, place
from ..runtime.epochs import build_engine_key
from ..store.records import JobRecord
from ..store.states import State
from . import ledger
from .capacity import select_clusters
from .context import BrokerContext, require_connection, serialize_connection
from .live_jobs import LiveJobs
from .polls import PollResult
from .rediscovery import Rediscovery

__all__ = ["adopt_jobs", "is_confirmed_absent"]


def adopt_jobs(context: BrokerContext, live_jobs: LiveJobs, rediscovery: Rediscovery) -> None:
    """Adopt the held jobs of the fleet that engines have."""
    for record in live_jobs.list_readable():
        is_held_here = record.state is State.HELD and record.fleet == context.fleet.spec.name
        if not is_held_here or not (start := rediscovery.find_latest_launch(record)):
            continue
        launch, connection, ref = start
        cluster = next(one for one in context.fleet.clusters if serialize_connection(one) == connection)
        digest, is_known = rediscovery.find_digest(connection, ref), rediscovery.is_in_backup(record)
        mismatch = explain_mismatch(
            cluster.plan.name,
            ref,
            build_engine_key(record.key, launch),
            digest,
            f"job {record.id} ({record.name})",
            record.spec,
        )
        if mismatch and (digest or not is_known):
            ledger.record_hold_reason(context.store, record, mismatch)
            context.reporter.report(f"warning: {mismatch}")
            continue
        try:
            _adopt(context, record, live_jobs.parsed_specs[record.id], launch, cluster, ref)
        except (EngineError, InputError) as error:
            ledger.record_hold_reason(context.store, record, f"{cluster.plan.name} has it as {ref}: {error}")


def _adopt(context: BrokerContext, record: JobRecord, job: JobSpec, launch: int, cluster: Cluster, ref: str) -> None:
    name = cluster.plan.name
    # its nodes are not recorded: it counts as it would be placed now on an idle cluster
    placement = place(job, select_clusters(context.fleet, [name]), now=context.clock(), with_suggestions=False)
    if not isinstance(placement, Placement):
        raise InputError(
            f"{placement[0]}; cancel it there, or change the cluster so that it fits"
            if placement
            else "no pool fits; cancel it there"
        )
    placement = replace(placement, begin=0.0)
    submission = context.open_engine(cluster).prepare(job, placement, build_engine_key(record.key, launch))
    assignment = build_assignment(job, cluster.plan, require_connection(cluster), placement, submission)
    with context.store.transaction():
        advanced = ledger.advance_launch(context.store, record, launch)
        if not ledger.assign(context.store, advanced, assignment, f"{name}: {placement}"):
            return
        context.store.record_submitted(record.id, ref)
    context.reporter.report(
        f"job {record.id} ({record.name}) was submitted to {name} before the store was restored: {ref}"
    )


def is_confirmed_absent(
    context: BrokerContext, rediscovery: Rediscovery | None, record: JobRecord, answers: Mapping[str, PollResult]
) -> bool:
    """Whether engines have confirmed that they do not have a held job, if the store was restored."""
    if rediscovery is None:
        return True
    if rediscovery.find_latest_launch(record):
        return False
    by_connection = {serialize_connection(cluster): cluster for cluster in context.fleet.clusters}
    responding = [one for one in by_connection if one in answers and answers[one].queried_keys]
    unconfirmed = rediscovery.list_unconfirmed(record, list(by_connection), responding)
    names = [by_connection[one].plan.name for one in unconfirmed]
    if names:
        ledger.record_hold_reason(
            context.store,
            record,
            f"the store was restored: {', '.join(names)} has not confirmed yet whether "
            "it has this job; if it never responds, cancel the job and submit it again",
        )
    return not names
