"""Taking jobs back from engines: recall of jobs that wait while other nodes are free."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial

from ...errors import EngineError
from ..engines.base import RecallsJobs
from ..store.records import JobRecord
from . import ledger
from .context import BrokerContext
from .decide import Move

__all__ = ["recall_jobs", "request_move"]


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
