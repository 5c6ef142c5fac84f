"""One look at a connection: what became of its jobs, what is free, and whether it has jobs that the store forgot."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...errors import EngineError, SupercloudError
from ...spec.fleet import Connection
from ..engines.base import Finds, open_engine
from ..engines.identity import digests_of
from ..fleet.state import Cluster, Watch
from ..reconcile import reconcile
from ..store.store import Store
from . import ledger

__all__ = ["Answer", "look_at"]


@dataclass
class Answer:
    """What one look at a connection gave."""

    outage: SupercloudError | None = None
    """Why one of the questions was not answered: one outage fails all that come after it."""
    problems: list[SupercloudError] = field(default_factory=list)
    """What else is wrong, with single jobs or with the store."""
    silent: bool = False
    """Whether it did not answer the first question: no other was asked then."""
    seen: dict[str, Cluster | SupercloudError] = field(default_factory=dict)
    """Its clusters by name, or why one of them could not be seen."""
    asked: Sequence[str] = ()
    """The keys that were looked for; all of them where nothing can be looked for."""
    found: Mapping[str, str | None] = field(default_factory=dict)
    """What it calls the jobs of the keys that were looked for; None: certainly not there."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """Of what was found: the digest of the spec that each was submitted for, as far as it is known."""


def look_at(
    store: Store, connection: str, numbers: Sequence[int], clusters: Sequence[Cluster], watch: Watch,
    keys: Sequence[str], since: float,
) -> Answer:  # fmt: skip
    """Ask everything of one connection: its jobs first, then its clusters; ``keys`` are looked for since a date."""
    failed: dict[str, EngineError] = {}
    problems = reconcile(store, numbers, failed) if numbers else []
    answer = Answer(failed.get(connection), [problem for problem in problems if problem is not failed.get(connection)])
    if connection in failed:
        answer.silent = True
        return answer
    _end_abandoned(store, connection)
    engine = open_engine(Connection.model_validate_json(connection), store.folder)
    for cluster in clusters:
        try:
            answer.seen[cluster.plan.name] = watch.look(cluster, engine, anew=True)
        except SupercloudError as error:
            answer.seen[cluster.plan.name] = error
            answer.outage = answer.outage or error
    if keys:
        try:
            found = engine.find(keys, since) if isinstance(engine, Finds) else {}
            answer.digests = digests_of(engine, [ref for ref in found.values() if ref is not None], since)
            answer.found = found
            answer.asked = keys
        except SupercloudError as error:
            answer.outage = answer.outage or error
    return answer


def _end_abandoned(store: Store, connection: str) -> None:
    """End starts that were given up while their engine was silent."""
    for item in ledger.abandoned(store):
        if item.connection == connection:
            with contextlib.suppress(EngineError):  # it is still silent
                open_engine(Connection.model_validate_json(connection), store.folder).cancel(item.ref)
                ledger.forget(store, item)
