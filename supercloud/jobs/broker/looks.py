"""One look at a connection: what became of its jobs, what is free, and whether it has jobs that the store forgot."""

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
    """What one look at a connection gave."""

    outage: SupercloudError | None = None
    """Why one of the questions was not answered: one outage fails all that come after it."""
    problems: list[SupercloudError] = field(default_factory=list)
    """What else is wrong, with single jobs or with the store."""
    is_unresponsive: bool = False
    """Whether it did not answer the first question: no other was asked then."""
    clusters: dict[str, Cluster | SupercloudError] = field(default_factory=dict)
    """Its clusters by name, or why one of them could not be seen."""
    queried_keys: Sequence[str] = ()
    """The keys that were looked for; all of them where nothing can be looked for."""
    refs: Mapping[str, str | None] = field(default_factory=dict)
    """What it calls the jobs of the keys that were looked for; None: certainly not there."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Of what was found: the digest of the spec that each was submitted for, as far as it is known."""


def poll_connection(
    store: Store,
    connection: str,
    job_ids: Sequence[int],
    clusters: Sequence[Cluster],
    observations: ObservationCache,
    keys: Sequence[str],
    since: float,
) -> PollResult:
    """Ask everything of one connection: its jobs first, then its clusters; ``keys`` are looked for since a date."""
    failed: dict[str, EngineError] = {}
    problems = reconcile(store, job_ids, failed) if job_ids else []
    answer = PollResult(
        failed.get(connection), [problem for problem in problems if problem is not failed.get(connection)]
    )
    if connection in failed:
        answer.is_unresponsive = True
        return answer
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
    """End starts that were given up while their engine was silent."""
    for item in ledger.list_abandoned(store):
        if item.connection == connection:
            with contextlib.suppress(EngineError, StoreError):  # it is still silent, or its record cannot be read
                engine = open_engine(Connection.model_validate_json(connection), store.folder)
                if item.key and isinstance(engine, EndsStarts):
                    engine.end_start(item.ref, build_identity(store.get(item.job))._replace(key=item.key))
                else:
                    engine.cancel(item.ref)
                ledger.delete_abandoned(store, item)
