"""One poll of a connection: the statuses of its jobs, its free capacity, and jobs that a restored store does not
have.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import EngineError, StoreError, SupercloudError
from ...spec.fleet import Connection
from ..copies import build_identity
from ..engines.base import EndsStarts, FindsByKey, open_engine
from ..engines.identity import find_digests
from ..fleet.state import Cluster, ObservationCache
from ..reconcile import reconcile
from ..store.store import Store
from . import ledger

__all__ = ["PollResult", "poll_connection"]


@dataclass
class PollResult:
    """The result of polling a connection."""

    outage: SupercloudError | None = None
    """Why a request was not answered: one outage fails all later requests."""
    problems: list[SupercloudError] = field(default_factory=list)
    """Other errors, of single jobs or of the store."""
    is_unresponsive: bool = False
    """Whether it did not answer the first request: no others were sent then."""
    has_answered: bool = False
    """Whether it answered the polls of its jobs, whatever followed."""
    clusters: dict[str, Cluster | SupercloudError] = field(default_factory=dict)
    """Its clusters by name, or why one of them could not be observed."""
    queried_keys: Sequence[str] = ()
    """The keys that were looked up; all of them if the engine cannot look up keys."""
    refs: Mapping[str, str | None] = field(default_factory=dict)
    """The references of the jobs with these keys; None: certainly not present."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Of the jobs found: the digest of the spec that each was submitted for, if known."""


def poll_connection(
    store: Store,
    connection: str,
    job_ids: Sequence[int],
    clusters: Sequence[Cluster],
    observations: ObservationCache,
    keys: Sequence[str],
    since: float,
) -> PollResult:
    """Poll one connection: its jobs first, then its clusters; ``keys`` are looked up since a date."""
    failed: dict[str, EngineError] = {}
    problems = reconcile(store, job_ids, failed) if job_ids else []
    answer = PollResult(
        failed.get(connection), [problem for problem in problems if problem is not failed.get(connection)]
    )
    if connection in failed:
        answer.is_unresponsive = True
        return answer
    answer.has_answered = bool(job_ids)
    _cancel_abandoned(store, connection)
    engine = open_engine(Connection.model_validate_json(connection), store.folder)
    for cluster in clusters:
        try:
            answer.clusters[cluster.plan.name] = observations.observe(cluster, engine, refresh=True)
        except SupercloudError as error:
            answer.clusters[cluster.plan.name] = error
            answer.outage = answer.outage or error
    if keys:
        try:
            found = engine.find(keys, since) if isinstance(engine, FindsByKey) else {}
            answer.digests = find_digests(engine, [ref for ref in found.values() if ref is not None], since)
            answer.refs = found
            answer.queried_keys = keys
        except SupercloudError as error:
            answer.outage = answer.outage or error
    return answer


def _cancel_abandoned(store: Store, connection: str) -> None:
    """Cancel launches that were abandoned while their engine did not respond."""
    for item in ledger.list_abandoned(store):
        if item.connection == connection:
            with contextlib.suppress(EngineError, StoreError):  # it still does not respond, or the record is unreadable
                engine = open_engine(Connection.model_validate_json(connection), store.folder)
                if item.key and isinstance(engine, EndsStarts):
                    engine.end_start(item.ref, build_identity(store.get(item.job))._replace(key=item.key))
                else:
                    engine.cancel(item.ref)
                ledger.delete_abandoned(store, item)
