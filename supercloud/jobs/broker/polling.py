"""Polling all connections of a fleet: what their engines have, and the fleet as they report it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial

from ..engines.base import SubmissionUnknownError
from ..fleet.state import Cluster, Fleet, ObservationCache, exclude_cluster
from ..store.records import JobRecord
from ..store.spending import compute_spending
from ..store.states import State
from . import ledger
from .context import BrokerContext, serialize_connection
from .polls import PollResult, poll_connection
from .rediscovery import Rediscovery

__all__ = ["Poller", "PollResults"]

_KIND = "poll"  # of requests


@dataclass
class PollResults:
    """The results of one poll, by connection."""

    answers: dict[str, PollResult] = field(default_factory=dict)
    """Of the connections that responded in time."""
    defects: dict[str, Exception] = field(default_factory=dict)
    """Errors in the code of engines."""


class Poller:
    """Polls the connections of a fleet, and remembers which do not respond."""

    def __init__(self, context: BrokerContext):
        self._context = context
        self._observations = ObservationCache(max_age=0.0, clock=context.clock)
        self._busy_connections: set[str] = set()
        """Connections with submissions in progress: no other request was sent, so they are not known to be
        unresponsive."""
        self.unresponsive_since: dict[str, float] = {}
        """By cluster, by the monotonic clock."""
        self.rediscovery: Rediscovery | None = None
        """Set if the store was restored from a backup."""

    def poll(self, live_jobs: Sequence[JobRecord]) -> PollResults:
        """Poll all connections of the fleet, of jobs and of abandoned launches, in parallel."""
        clusters: dict[str, list[Cluster]] = {}
        for cluster in self._context.fleet.clusters:
            clusters.setdefault(serialize_connection(cluster), []).append(cluster)
        submitted: dict[str, list[JobRecord]] = {connection: [] for connection in clusters}
        for record in live_jobs:
            if record.state is not State.HELD:
                submitted.setdefault(record.connection, []).append(record)
        for item in ledger.list_abandoned(self._context.store):
            submitted.setdefault(item.connection, [])
        requests = self._build_requests(clusters, submitted, live_jobs)
        done, late = self._context.requests.run(_KIND, requests)
        names = {
            connection: ", ".join(
                sorted(
                    {cluster.plan.name for cluster in clusters.get(connection, ())}
                    | {record.cluster for record in records}
                )
            )
            for connection, records in submitted.items()
        }
        self._busy_connections = {connection for connection, kind in late.items() if kind != _KIND}
        for connection, kind in late.items():
            request = "to a poll" if kind == _KIND else "to submissions or recalls"
            self._context.warn(
                f"{names[connection]}: no answer within {self._context.requests.timeout:g} s {request}; "
                "others continue",
                connection,
                is_inconclusive=True,
            )
        results = _collect(done)
        for connection, answer in results.answers.items():
            self._process_answer(connection, answer, names[connection])
        return results

    def _build_requests(
        self,
        clusters: Mapping[str, list[Cluster]],
        submitted: Mapping[str, list[JobRecord]],
        live_jobs: Sequence[JobRecord],
    ) -> dict[str, Callable[[], PollResult]]:
        """By connection. If the store was restored, connections of the fleet are also queried for held jobs."""
        store = self._context.store
        restored = store.find_restore()
        if restored and not (self.rediscovery and self.rediscovery.restored == restored):
            self.rediscovery = Rediscovery(restored)
        fleet = self._context.fleet.spec.name
        held = [record for record in live_jobs if record.state is State.HELD and record.fleet == fleet]
        requests: dict[str, Callable[[], PollResult]] = {}
        for connection, records in submitted.items():
            mine = clusters.get(connection, [])
            keys = self.rediscovery.select_keys(connection, held) if self.rediscovery and mine else []
            requests[connection] = partial(
                poll_connection,
                store,
                connection,
                [record.id for record in records],
                mine,
                self._observations,
                keys,
                restored.since if restored else 0.0,
            )
        return requests

    def _process_answer(self, connection: str, answer: PollResult, names: str) -> None:
        if answer.outage:
            self._context.warn(
                f"{names}: {answer.outage}", connection, isinstance(answer.outage, SubmissionUnknownError)
            )
        for problem in answer.problems:
            self._context.reporter.report(f"warning: {problem}")
        if self.rediscovery:
            self.rediscovery.record_answer(connection, answer.queried_keys, answer.refs, answer.digests)

    def build_view(self, answers: Mapping[str, PollResult], started: float) -> Fleet:
        """The fleet as reported by its engines; clusters that do not respond are omitted.

        ``started`` is when the poll started, by the monotonic clock.
        """
        context = self._context
        observed = []
        for cluster in context.fleet.clusters:
            name, answer = cluster.plan.name, answers.get(serialize_connection(cluster))
            found = answer.clusters.get(name) if answer else None
            if isinstance(found, Cluster):
                observed.append(found)
                self.unresponsive_since.pop(name, None)
                continue
            if answer and answer.has_answered:  # only its nodes could not be read
                self.unresponsive_since.pop(name, None)
            elif serialize_connection(cluster) not in self._busy_connections:
                self.unresponsive_since.setdefault(name, started)
            if found is not None and answer and found is not answer.outage and str(found) != str(answer.outage):
                context.warn(f"{name}: {found}", name)
        spent = compute_spending(context.store, context.fleet.spec.budgets, context.clock())
        return replace(context.fleet, clusters=tuple(observed), spent=spent)

    def list_unobserved(self, view: Fleet, results: PollResults) -> list[Cluster]:
        """The clusters that a view omits, each with the reason; unchanged if one has not responded yet."""
        visible = {cluster.plan.name for cluster in view.clusters}
        return [
            _add_reason(cluster, results)
            for cluster in self._context.fleet.clusters
            if cluster.plan.name not in visible
        ]


def _collect(done: Mapping[str, Future[PollResult]]) -> PollResults:
    results = PollResults()
    for connection, answer in done.items():
        try:
            results.answers[connection] = answer.result()
        except Exception as error:  # other engines are still served, and the service reports it
            results.defects[connection] = error
    return results


def _add_reason(cluster: Cluster, results: PollResults) -> Cluster:
    connection = serialize_connection(cluster)
    answer = results.answers.get(connection)
    found = answer.clusters.get(cluster.plan.name) if answer else None
    error = found if isinstance(found, Exception) else answer.outage if answer else results.defects.get(connection)
    return exclude_cluster(cluster, error) if error else cluster
