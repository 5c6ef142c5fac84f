"""The broker's loop: poll, decide, take each step; if it is killed, the next broker continues."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ...errors import EngineError, InputError, StoreError, SupercloudError, UnknownNameError
from ...primitives.quantity import Duration
from ...spec import JobSpec
from ...spec.fleet import Connection
from ..api import open_engine, require_completable
from ..engines.base import Engine, RecallsJobs, SubmissionUnknownError
from ..engines.bounded_io import POLL_TIMEOUT
from ..engines.identity import explain_mismatch
from ..fleet.state import Cluster, Fleet, ListsNodes, ObservationCache, barred_by
from ..placement.energy import compute_power_draw
from ..placement.place import Placement, place
from ..placement.spending import compute_reserved_cost
from ..reconcile import submission_in_progress, submit_recorded
from ..runtime.epochs import build_engine_key
from ..store.records import JobRecord, build_unreadable_error
from ..store.spending import compute_spending
from ..store.states import State
from ..store.status import Status
from ..store.store import RECALLED_BEFORE_START, Store
from . import ledger
from .capacity import allocate, select_clusters
from .decide import RECENTLY_RECALLED, Hold, Move, Start, decide, rebalance
from .fair_share import compute_fair_share_order, compute_shares, count_units_in_use
from .limits import add_allocation, compute_allocations
from .loop import Reporter
from .parallel_requests import ParallelRequests
from .polls import PollResult, poll_connection
from .rediscovery import Rediscovery
from .usage import Usage

__all__ = ["Broker"]

_EXCLUSION_PERIOD = 60.0  # seconds for which a cluster that refused a job is not tried again


class Broker:
    """Manages the held jobs of one fleet."""

    def __init__(
        self,
        store: Store,
        fleet: Fleet,
        *,
        move_after: float = 60.0,
        lost_after: float | None = None,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] | None = None,
        say: Callable[[str], None] = lambda text: None,
        timeout: float = POLL_TIMEOUT,
        reporter: Reporter | None = None,
    ):
        # dates are stored; durations are measured with a clock that a change of the date does not affect
        self.store, self.clock, self.reporter = store, clock, reporter
        self.report = reporter.report if reporter else say
        self.monotonic = ticks or (time.monotonic if clock is time.time else clock)
        self.fleet = select_clusters(fleet, {cluster.plan.name for cluster in fleet.clusters if cluster.member.connect})
        self.move_after, self.lost_after = move_after, lost_after
        self.observations = ObservationCache(max_age=0.0, clock=clock)
        self.parsed_specs: dict[int, JobSpec] = {}
        self._readable_placements: dict[int, str] = {}
        """By job, as text: specs that are known to be readable."""
        self.specs: dict[int, JobSpec] = {}
        self.exclusions: dict[int, dict[str, tuple[float, str]]] = {}
        self._exclusions_lock = threading.Lock()  # guards ``exclusions``, which concurrent submissions write
        self.unresponsive_since: dict[str, float] = {}
        self.busy_connections: set[str] = set()
        """Connections with submissions in progress: no other request was sent, so they are not known to be
        unresponsive."""
        self.requests = ParallelRequests(timeout)
        self.rediscovery: Rediscovery | None = None
        self.usage = Usage(store, fleet.spec.policy.half_life.to("s"))

    def step(self) -> int:
        """Run one cycle; returns the number of jobs submitted to engines."""
        began = self.monotonic()
        answers, failed = self._poll_connections(self.store.list_live(damaged=[]))
        view = self._build_view(answers, began)
        if self.lost_after is not None:
            self._abandon_unresponsive()
        if self.rediscovery:
            self._adopt_all(self.rediscovery)
        live = self._list_live_jobs()
        view = self._subtract_allocations(view, live)
        mine = [record for record in live if record.fleet == self.fleet.spec.name]
        self.specs = {record.id: self._build_current_spec(record) for record in mine}
        held = [
            record
            for record in mine
            if record.state is State.HELD and self._is_confirmed_absent(record, answers) and self._is_ready(record)
        ]
        now = self.clock()
        submitted = [record for record in live if record.state is not State.HELD]
        lately = self.usage.compute_usage(live, now)
        use = {
            tenant: units + lately.pop(tenant, 0.0) for tenant, units in count_units_in_use(submitted).items()
        } | lately
        order = compute_fair_share_order(
            held, use, compute_shares(self.fleet), {record.id: self._count_units(record) for record in held}
        )
        have = compute_allocations(submitted)
        starts: dict[str, list[Start]] = {}
        visible = {cluster.plan.name for cluster in view.clusters}
        silent = [
            self._barred(cluster, answers, failed)
            for cluster in self.fleet.clusters
            if cluster.plan.name not in visible
        ]
        for action in decide(view, order, self.specs, now, self._list_exclusions(held, self.monotonic()), have, silent):
            if isinstance(action, Hold):
                ledger.record_hold_reason(self.store, action.record, action.reason)
            else:
                cluster = self._get_cluster(action.placement.cluster)
                starts.setdefault(_serialize_connection(cluster), []).append(action)
                view = allocate(view, action.placement)
                have = add_allocation(have, action.record.tenant, action.placement, action.placement.cluster)
        begun = self._start_all(starts)
        queued = [record for record in mine if record.state is State.QUEUED and record.ref is not None]
        recalled = [
            move.record
            for move in rebalance(view, queued, self.specs, now, self.move_after, have)
            if self._request_move(move)
        ]
        recalled += [record for record in queued if record.recalled]  # a broker may have died before the request
        self._recall_all([record for record in recalled if record.connection in answers])
        for defect in failed.values():
            raise defect
        return begun

    def _list_live_jobs(self) -> list[JobRecord]:
        """All readable jobs that have not ended; unreadable ones are reported and not changed."""
        damaged: list[StoreError] = []
        live = self.store.list_live(damaged)
        specs, placements = self.parsed_specs, self._readable_placements
        self.parsed_specs, self._readable_placements, readable = {}, {}, []
        for record in live:
            try:
                if record.fleet == self.fleet.spec.name:
                    self.parsed_specs[record.id] = specs.get(record.id) or _parse_spec(record)
                if record.placement and placements.get(record.id) != record.placement:
                    Placement.from_json(record.placement)
                self._readable_placements[record.id] = record.placement
                readable.append(record)
            except (ValueError, TypeError, LookupError, AttributeError) as error:
                damaged.append(build_unreadable_error(record, error))
        for problem in damaged:
            self.report(f"warning: {problem}")
        return readable

    def _warn(self, message: str, subject: str, is_inconclusive: bool = False) -> None:
        """Warn of a lasting problem: see :meth:`Reporter.warn`."""
        if self.reporter:
            self.reporter.warn(f"warning: {message}", subject, is_inconclusive)
        else:
            self.report(f"warning: {message}")

    # -- polling ------------------------------------------------------------------------------------------------------

    def _poll_connections(self, live_jobs: Sequence[JobRecord]) -> tuple[dict[str, PollResult], dict[str, Exception]]:
        """The answers of all connections that respond in time; and, by connection, defects of engines."""
        restored = self.store.find_restore()
        if restored and not (self.rediscovery and self.rediscovery.restored == restored):
            self.rediscovery = Rediscovery(restored)
        clusters: dict[str, list[Cluster]] = {}
        for cluster in self.fleet.clusters:
            clusters.setdefault(_serialize_connection(cluster), []).append(cluster)
        submitted: dict[str, list[JobRecord]] = {connection: [] for connection in clusters}
        for record in live_jobs:
            if record.state is not State.HELD:
                submitted.setdefault(record.connection, []).append(record)
        for item in ledger.list_abandoned(self.store):
            submitted.setdefault(item.connection, [])
        held = [record for record in live_jobs if self._is_held_here(record)]
        questions = {}
        for connection, records in submitted.items():
            mine = clusters.get(connection, [])
            keys = self.rediscovery.select_keys(connection, held) if self.rediscovery and mine else []
            questions[connection] = partial(
                poll_connection,
                self.store,
                connection,
                [record.id for record in records],
                mine,
                self.observations,
                keys,
                restored.since if restored else 0.0,
            )
        done, late = self.requests.run("look", questions)
        self.busy_connections = set()
        for connection, kind in late.items():
            names = {cluster.plan.name for cluster in clusters.get(connection, ())}
            names |= {record.cluster for record in submitted[connection]}
            if kind != "look":
                self.busy_connections.add(connection)
            what = "to a poll" if kind == "look" else "to submissions or recalls"
            self._warn(
                f"{', '.join(sorted(names))}: no answer within {self.requests.timeout:g} s {what}; others continue",
                connection,
                is_inconclusive=True,
            )
        answers: dict[str, PollResult] = {}
        failed: dict[str, Exception] = {}
        for connection, question in done.items():
            try:
                answers[connection] = question.result()
            except (
                Exception
            ) as error:  # a defect of an engine: other engines are still served, and the service reports it
                failed[connection] = error
        for connection, answer in answers.items():
            if answer.outage:
                names = {cluster.plan.name for cluster in clusters.get(connection, ())}
                names |= {record.cluster for record in submitted[connection]}
                self._warn(
                    f"{', '.join(sorted(names))}: {answer.outage}",
                    connection,
                    isinstance(answer.outage, SubmissionUnknownError),
                )
            for problem in answer.problems:
                self.report(f"warning: {problem}")
            if self.rediscovery:
                self.rediscovery.record_answer(connection, answer.queried_keys, answer.refs, answer.digests)
        return answers, failed

    def _is_held_here(self, record: JobRecord) -> bool:
        return record.state is State.HELD and record.fleet == self.fleet.spec.name

    def _build_view(self, answers: Mapping[str, PollResult], started: float) -> Fleet:
        """The fleet as reported by its engines; clusters that do not respond are omitted."""
        seen = []
        for cluster in self.fleet.clusters:
            name, answer = cluster.plan.name, answers.get(_serialize_connection(cluster))
            found = answer.clusters.get(name) if answer else None
            if isinstance(found, Cluster):
                seen.append(found)
                self.unresponsive_since.pop(name, None)
                continue
            if _serialize_connection(cluster) not in self.busy_connections:
                self.unresponsive_since.setdefault(name, started)
            if found is not None and answer and found is not answer.outage and str(found) != str(answer.outage):
                self._warn(f"{name}: {found}", name)
        return replace(
            self.fleet, clusters=tuple(seen), spent=compute_spending(self.store, self.fleet.spec.budgets, self.clock())
        )

    def _barred(self, cluster: Cluster, answers: Mapping[str, PollResult], failed: Mapping[str, Exception]) -> Cluster:
        """A cluster that was not observed, with the reason; unchanged if it has not responded yet."""
        connection, answer = _serialize_connection(cluster), answers.get(_serialize_connection(cluster))
        found = answer.clusters.get(cluster.plan.name) if answer else None
        error = found if isinstance(found, Exception) else answer.outage if answer else failed.get(connection)
        return barred_by(cluster, error) if error else cluster

    # -- after a restore ---------------------------------------------------------------------------------------------

    def _adopt_all(self, rediscovery: Rediscovery) -> None:
        """Adopt jobs that were submitted after the backup was made from which the store was restored."""
        for record in self._list_live_jobs():
            if self._is_held_here(record) and (start := rediscovery.find_latest_launch(record)):
                launch, connection, ref = start
                cluster = next(one for one in self.fleet.clusters if _serialize_connection(one) == connection)
                digest, known = rediscovery.find_digest(connection, ref), rediscovery.is_in_backup(record)
                other = explain_mismatch(
                    cluster.plan.name,
                    ref,
                    build_engine_key(record.key, launch),
                    digest,
                    f"job {record.id} ({record.name})",
                    record.spec,
                )
                if other and (digest or not known):
                    ledger.record_hold_reason(self.store, record, other)
                    self.report(f"warning: {other}")
                    continue
                try:
                    self._adopt(record, launch, cluster, ref)
                except (EngineError, InputError) as error:
                    ledger.record_hold_reason(self.store, record, f"{cluster.plan.name} has it as {ref}: {error}")

    def _adopt(self, record: JobRecord, launch: int, cluster: Cluster, ref: str) -> None:
        job, name, connection = self.parsed_specs[record.id], cluster.plan.name, cluster.member.connect
        assert connection is not None
        # its nodes are not recorded: it counts as it would be placed now on an idle cluster
        placement = place(job, select_clusters(self.fleet, [name]), now=self.clock(), with_suggestions=False)
        if not isinstance(placement, Placement):
            raise InputError(
                f"{placement[0]}; cancel it there, or change the cluster so that it fits"
                if placement
                else "no pool fits; cancel it there"
            )
        placement = replace(placement, begin=0.0)
        submission = self._open_engine(cluster).prepare(job, placement, build_engine_key(record.key, launch))
        with self.store.transaction():
            known = ledger.advance_launch(self.store, record, launch)
            if not ledger.assign(
                self.store,
                known,
                placement,
                submission,
                _serialize_connection(cluster),
                connection.engine,
                compute_power_draw(cluster.plan, placement),
                compute_reserved_cost(job, placement),
            ):
                return
            self.store.record_submitted(record.id, ref)
        self.report(f"job {record.id} ({record.name}) was submitted to {name} before the store was restored: {ref}")

    def _is_confirmed_absent(self, record: JobRecord, answers: Mapping[str, PollResult]) -> bool:
        """Whether engines have confirmed that they do not have a held job, if the store was restored."""
        if self.rediscovery is None:
            return True
        if self.rediscovery.find_latest_launch(record):
            return False
        by_connection = {_serialize_connection(cluster): cluster for cluster in self.fleet.clusters}
        answered = [one for one in by_connection if one in answers and answers[one].queried_keys]
        unsure = self.rediscovery.list_unconfirmed(record, list(by_connection), answered)
        names = [by_connection[one].plan.name for one in unsure]
        if names:
            ledger.record_hold_reason(
                self.store,
                record,
                f"the store was restored: {', '.join(names)} has not confirmed yet whether "
                "it has this job; if it never responds, cancel the job and submit it again",
            )
        return not names

    def _subtract_allocations(self, view: Fleet, live_jobs: list[JobRecord]) -> Fleet:
        """Subtract submitted jobs that are not yet visible: waiting ones, and all jobs if an engine does not list
        nodes.
        """
        blind = {
            cluster.plan.name for cluster in view.clusters if not isinstance(self._open_engine(cluster), ListsNodes)
        }
        now = self.clock()
        for record in live_jobs:
            if record.placement and record.state is not State.HELD:
                at = Placement.from_json(record.placement)
                if at.begin and (record.submitted or now) + at.begin <= now:
                    at = replace(at, begin=0.0)  # its start time has passed
                if record.cluster in blind or record.state in (State.SUBMITTING, State.QUEUED):
                    view = allocate(view, at)
        return view

    def _get_cluster(self, name: str) -> Cluster:
        return next(cluster for cluster in self.fleet.clusters if cluster.plan.name == name)

    def _open_engine(self, cluster: Cluster) -> Engine:
        assert cluster.member.connect is not None
        return open_engine(cluster.member.connect, self.store.folder)

    def _build_current_spec(self, record: JobRecord) -> JobSpec:
        """A job's spec for submission now: its deadline counts from when it was recorded."""
        known = self.parsed_specs[record.id]
        if known.deadline is None:
            return known
        left = max(0.0, known.deadline.to("s") - (self.clock() - record.recorded))
        return known.model_copy(update={"deadline": Duration(round(left), "s")})

    def _count_units(self, record: JobRecord) -> int:
        if record.placement:
            return Placement.from_json(record.placement).units
        return max(1, self.specs[record.id].accelerator_count, self.specs[record.id].nodes or 1)

    def _is_ready(self, record: JobRecord) -> bool:
        """Whether the dependencies of a job have completed; one that cannot complete ends the job, and so does its
        deadline.
        """
        left = self.specs[record.id].deadline
        if left is not None and not left.base:
            self.store.record_statuses(
                {record.id: Status(State.FAILED, record.attempt, "its deadline passed before it started")}
            )
            return False
        try:
            awaited = [require_completable(self.store.get(number)) for number in self._load_dependency_ids(record)]
        except InputError as error:
            self.store.record_statuses({record.id: Status(State.FAILED, record.attempt, str(error))})
            return False
        except StoreError as error:
            self.report(f"warning: job {record.id} ({record.name}) waits for a job that cannot be read: {error}")
            return False
        for before in awaited:
            if not before.state.is_final:
                ledger.record_hold_reason(self.store, record, f"it waits for job {before.id} ({before.name})")
                return False
        return True

    def _load_dependency_ids(self, record: JobRecord) -> Sequence[int]:
        """The IDs of the jobs that a job depends on."""
        if '"after"' not in record.spec:
            return ()
        if not (numbers := self.store.list_dependencies(record.id)):  # recorded by a version that stored only names
            for name in JobSpec.model_validate_json(record.spec).after:
                if (found := self.store.find_by_name(name, before_id=record.id)) is None:
                    raise UnknownNameError("earlier job", name, ())
                numbers.append(found.id)
            self.store.record_dependencies(record.id, numbers)
        return numbers

    # -- actions ------------------------------------------------------------------------------------------------------

    def _start_all(self, starts: Mapping[str, Sequence[Start]]) -> int:
        """Submit jobs, in parallel for different connections; returns the number accepted in time."""
        specs = self.specs
        done, late = self.requests.run(
            "submit",
            {
                connection: partial(
                    self._run_until_timeout,
                    [partial(self._start, action, specs[action.record.id], self.monotonic()) for action in actions],
                )
                for connection, actions in starts.items()
            },
        )
        for connection in late:
            name = starts[connection][0].placement.cluster
            self._warn(
                f"{name}: no answer to a submission within {self.requests.timeout:g} s; other clusters continue",
                connection,
                is_inconclusive=True,
            )
        return sum(question.result() for question in done.values())

    def _run_until_timeout(self, steps: Sequence[Callable[[], object]]) -> int:
        """Take steps at one connection until half of the timeout has passed; the rest follows in the next cycle."""
        end = time.monotonic() + self.requests.timeout / 2
        count = 0
        for step in steps:
            count += bool(step())
            if time.monotonic() > end:
                break
        return count

    def _start(self, action: Start, job: JobSpec, now: float) -> bool:
        record, placement = action.record, action.placement
        cluster = self._get_cluster(placement.cluster)
        connection = cluster.member.connect
        assert connection is not None
        engine = self._open_engine(cluster)
        try:
            submission = engine.prepare(job, placement, record.engine_key)
            power = compute_power_draw(cluster.plan, placement)
            text = _serialize_connection(cluster)
            with submission_in_progress(self.store, record.key):
                if not ledger.assign(
                    self.store,
                    record,
                    placement,
                    submission,
                    text,
                    connection.engine,
                    power,
                    compute_reserved_cost(job, placement),
                ):
                    return False
                submit_recorded(self.store, engine, record.id, submission)
        except SubmissionUnknownError as error:
            self._warn(
                f"{placement.cluster}: job {record.id} may have been accepted and is looked up: {error}",
                _serialize_connection(cluster),
                is_inconclusive=True,
            )
            return False
        except (EngineError, InputError) as error:
            self._exclude_cluster(record, placement.cluster, str(error), now)
            return False
        except SupercloudError:  # of the store
            raise
        except Exception as error:  # a defect of an engine: the jobs after this one continue
            self._exclude_cluster(
                record, placement.cluster, f"its engine failed with {type(error).__name__}: {error}", now
            )
            return False
        self.report(f"job {record.id} ({record.name}) submitted to {placement.cluster}: {placement}")
        return True

    def _exclude_cluster(self, record: JobRecord, cluster: str, reason: str, now: float) -> None:
        """Use other clusters for some time."""
        with self._exclusions_lock:
            self.exclusions.setdefault(record.id, {})[cluster] = (
                now + _EXCLUSION_PERIOD,
                f"it refused the job recently: {reason}",
            )
        ledger.record_hold_reason(self.store, self.store.get(record.id), f"{cluster}: {reason}")
        self._warn(f"job {record.id} is refused by {cluster}: {reason}", f"job {record.id} on {cluster}")

    def _list_exclusions(self, held_jobs: list[JobRecord], now: float) -> dict[int, dict[str, str]]:
        """The clusters that each job avoids now, with the reason."""
        with self._exclusions_lock:
            self.exclusions = {
                number: kept
                for number, names in self.exclusions.items()
                if (kept := {name: until for name, until in names.items() if until[0] > now})
            }
            avoided = {
                number: {name: why for name, (_, why) in names.items()} for number, names in self.exclusions.items()
            }
        if self.reporter is not None:
            for number, names in avoided.items():
                for name in names:
                    self.reporter.renew(f"job {number} on {name}")  # it is not tried again yet
        for record in held_jobs:
            if record.reason == RECALLED_BEFORE_START:  # the nodes it waited for look free as soon as it has left
                avoided.setdefault(record.id, {})[record.cluster] = RECENTLY_RECALLED
        return avoided

    def _request_move(self, move: Move) -> bool:
        """Record that a job is about to be recalled; False if its engine does not support it."""
        record = move.record
        if not isinstance(
            open_engine(Connection.model_validate_json(record.connection), self.store.folder), RecallsJobs
        ):
            return False
        to = f"{move.placement.cluster} has free capacity ({move.placement})"
        if not ledger.request_recall(self.store, record, f"recall from {record.cluster} requested: {to}"):
            return False
        self.report(f"job {record.id} ({record.name}) still waits on {record.cluster}: {to}")
        return True

    def _recall_all(self, records: Sequence[JobRecord]) -> None:
        by_connection: dict[str, list[Callable[[], object]]] = {}
        for record in records:
            by_connection.setdefault(record.connection, []).append(partial(self._recall, record))
        done, _ = self.requests.run(
            "recall",
            {connection: partial(self._run_until_timeout, steps) for connection, steps in by_connection.items()},
        )
        for question in done.values():
            question.result()

    def _recall(self, record: JobRecord) -> None:
        engine = open_engine(Connection.model_validate_json(record.connection), self.store.folder)
        if isinstance(engine, RecallsJobs) and record.ref is not None:
            with contextlib.suppress(EngineError):  # the next cycle tries again
                engine.recall(record.ref)

    def _abandon_unresponsive(self) -> None:
        """Restart jobs of clusters that have not responded for long elsewhere; their old copies are fenced."""
        now = self.monotonic()
        lost = {name for name, since in self.unresponsive_since.items() if now - since >= (self.lost_after or 0.0)}
        for record in self._list_live_jobs() if lost else ():
            if record.cluster in lost and record.fleet and record.ref is not None:
                ledger.abandon_launch(
                    self.store, record, f"{record.cluster} has not responded for {self.lost_after:g} s"
                )


def _serialize_connection(cluster: Cluster) -> str:
    """Its connection in the form that the store has."""
    return cluster.member.connect.model_dump_json(exclude_defaults=True) if cluster.member.connect else ""


def _parse_spec(record: JobRecord) -> JobSpec:
    """The recorded spec, without the fields that the broker handles itself. Raises :class:`ValueError` if this version
    cannot read it.
    """
    return JobSpec.model_validate_json(record.spec).model_copy(update={"after": ()})
