"""Taking jobs back from engines: recall of waiting jobs, and abandonment of jobs on clusters that do not respond."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ...errors import EngineError
from ..engines.base import RecallsJobs
from ..fleet.state import ListsNodes
from ..store.records import JobRecord
from . import ledger
from .context import BrokerContext
from .decide import Move

__all__ = ["abandon_jobs", "recall_jobs", "request_move", "select_responding"]


def request_move(context: BrokerContext, move: Move) -> bool:
    """Record that a job is about to be recalled; False if its engine does not support it."""
    record = move.record
    if not isinstance(context.open_recorded_engine(record.connection), RecallsJobs):
        return False
    reason = f"{move.placement.cluster} has free capacity ({move.placement})"
    if not ledger.request_recall(context.store, record, f"recall from {record.cluster} requested: {reason}"):
        return False
    context.reporter.report(f"job {record.id} ({record.name}) still waits on {record.cluster}: {reason}")
    return True


def recall_jobs(context: BrokerContext, records: Sequence[JobRecord]) -> None:
    """Recall jobs from their engines, in parallel for different connections."""
    by_connection: dict[str, list[Callable[[], object]]] = {}
    for record in records:
        by_connection.setdefault(record.connection, []).append(partial(_recall, context, record))
    done, _ = context.requests.run_steps("recall", by_connection)
    for answer in done.values():
        answer.result()


def _recall(context: BrokerContext, record: JobRecord) -> None:
    engine = context.open_recorded_engine(record.connection)
    if isinstance(engine, RecallsJobs) and record.ref is not None:
        with contextlib.suppress(EngineError):  # the next cycle tries again
            engine.recall(record.ref)


def select_responding(context: BrokerContext, names: set[str]) -> list[str]:
    """Those of these clusters whose scheduler lists its nodes in time.

    A poll also looks up ended jobs in the accounts, whose database may take minutes: this does not mean that the nodes
    are lost.
    """
    requests: dict[str, Callable[[], object]] = {}
    for name in names:
        engine = context.open_engine(context.get_cluster(name))
        if isinstance(engine, ListsNodes):
            requests[f"nodes of {name}"] = engine.list_nodes
    done, _ = context.requests.run("list", requests)
    found = [name for name in sorted(names) if (answer := done.get(f"nodes of {name}")) and not answer.exception()]
    for name in found:
        context.warn(
            f"{name}: polls are not answered in time, but its scheduler lists its nodes: its jobs continue there; "
            "check the database of its accounts",
            f"accounts of {name}",
        )
    return found


def abandon_jobs(context: BrokerContext, live_jobs: Iterable[JobRecord], clusters: set[str], lost_after: float) -> None:
    """Restart jobs of clusters that have not responded for ``lost_after`` seconds elsewhere; their old copies are
    fenced.
    """
    for record in live_jobs:
        if record.cluster in clusters and record.fleet and record.ref is not None:
            reason = f"{record.cluster} has not responded for {lost_after:g} s"
            ledger.abandon_launch(context.store, record, reason)
            context.reporter.report(f"job {record.id} ({record.name}) is given up on {record.cluster}: {reason}")
