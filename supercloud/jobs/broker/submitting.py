"""Submitting placed jobs to the engines of their clusters."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import partial

from ...errors import EngineError, InputError, SupercloudError
from ...spec import JobSpec
from ..assignment import build_assignment
from ..engines.base import SubmissionUnknownError
from ..reconcile import submission_in_progress, submit_recorded
from ..store.records import JobRecord
from ..store.status_changes import RECALLED_BEFORE_START
from . import ledger
from .context import BrokerContext, require_connection, serialize_connection
from .decide import RECENTLY_RECALLED, Start

__all__ = ["Submitter"]

_EXCLUSION_PERIOD = 60.0  # seconds for which a cluster that refused a job is not tried again


class Submitter:
    """Submits jobs, and remembers which clusters refused them."""

    def __init__(self, context: BrokerContext):
        self._context = context
        self._exclusions: dict[int, dict[str, tuple[float, str]]] = {}
        """By job and cluster: until when, by the monotonic clock, and the reason."""
        self._exclusions_lock = threading.Lock()  # concurrent submissions add exclusions

    def submit_all(self, starts: Sequence[Start], specs: Mapping[int, JobSpec]) -> int:
        """Submit jobs, in parallel for different connections; returns the number accepted in time."""
        context = self._context
        by_connection: dict[str, list[Start]] = {}
        for start in starts:
            cluster = context.get_cluster(start.placement.cluster)
            by_connection.setdefault(serialize_connection(cluster), []).append(start)
        done, late = context.requests.run_steps(
            "submit",
            {
                connection: [
                    partial(self._submit, start, specs[start.record.id], context.monotonic()) for start in mine
                ]
                for connection, mine in by_connection.items()
            },
        )
        for connection in late:
            name = by_connection[connection][0].placement.cluster
            context.warn(
                f"{name}: no answer to a submission within {context.requests.timeout:g} s; other clusters continue",
                connection,
                is_inconclusive=True,
            )
        return sum(answer.result() for answer in done.values())

    def _submit(self, start: Start, job: JobSpec, now: float) -> bool:
        context, record, placement = self._context, start.record, start.placement
        cluster = context.get_cluster(placement.cluster)
        engine = context.open_engine(cluster)
        try:
            submission = engine.prepare(job, placement, record.engine_key)
            assignment = build_assignment(job, cluster.plan, require_connection(cluster), placement, submission)
            with submission_in_progress(context.store, record.key):
                if not ledger.assign(context.store, record, assignment, f"{placement.cluster}: {placement}"):
                    return False
                submit_recorded(context.store, engine, record.id, submission)
        except SubmissionUnknownError as error:
            context.warn(
                f"{placement.cluster}: job {record.id} may have been accepted and is looked up: {error}",
                serialize_connection(cluster),
                is_inconclusive=True,
            )
            return False
        except (EngineError, InputError) as error:
            self._exclude_cluster(record, placement.cluster, str(error), now)
            return False
        except SupercloudError:  # of the store
            raise
        except Exception as error:  # a defect of an engine: the jobs after this one continue
            reason = f"its engine failed with {type(error).__name__}: {error}"
            self._exclude_cluster(record, placement.cluster, reason, now)
            return False
        context.reporter.report(f"job {record.id} ({record.name}) submitted to {placement.cluster}: {placement}")
        return True

    def _exclude_cluster(self, record: JobRecord, cluster: str, reason: str, now: float) -> None:
        """Use other clusters for some time."""
        with self._exclusions_lock:
            self._exclusions.setdefault(record.id, {})[cluster] = (
                now + _EXCLUSION_PERIOD,
                f"it did not accept the job recently: {reason}",
            )
        store = self._context.store
        ledger.record_hold_reason(store, store.get(record.id), f"{cluster}: {reason}")
        self._context.warn(
            f"job {record.id} cannot be submitted to {cluster}: {reason}", f"job {record.id} on {cluster}"
        )

    def list_exclusions(self, held_jobs: Sequence[JobRecord]) -> dict[int, dict[str, str]]:
        """The clusters that each job avoids now, with the reason."""
        now = self._context.monotonic()
        with self._exclusions_lock:
            self._exclusions = {
                number: kept
                for number, names in self._exclusions.items()
                if (kept := {name: until for name, until in names.items() if until[0] > now})
            }
            excluded = {
                number: {name: reason for name, (_, reason) in names.items()}
                for number, names in self._exclusions.items()
            }
        for number, names in excluded.items():
            for name in names:
                self._context.reporter.renew(f"job {number} on {name}")  # it is not tried again yet
        for record in held_jobs:
            if record.reason == RECALLED_BEFORE_START:  # the nodes it waited for look free as soon as it has left
                excluded.setdefault(record.id, {})[record.cluster] = RECENTLY_RECALLED
        return excluded
