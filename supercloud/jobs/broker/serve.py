"""The broker's loop: look at everything once, decide, take each step; killed anywhere, the next one goes on."""

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
from .decide import RECENTLY_RECALLED, Hold, Move, Start, decide, rebalance
from .limits import add_allocation, compute_allocations
from .looks import PollResult, poll_connection
from .loop import Reporter
from .rediscovery import Rediscovery
from .room import allocate, select_clusters
from .side_by_side import ParallelRequests
from .turns import compute_fair_share_order, compute_shares, count_units_in_use
from .usage import Usage

__all__ = ["Broker"]

_EXCLUSION_PERIOD = 60.0  # seconds for which a cluster that refused a job is not asked again


class Broker:
    """Looks after the held jobs of one fleet."""

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
        # dates go into the store; how long something lasts here is measured with a clock that no new date moves
        self.store, self.clock, self.reporter = store, clock, reporter
        self.report = reporter.report if reporter else say
        self.monotonic = ticks or (time.monotonic if clock is time.time else clock)
        self.fleet = select_clusters(fleet, {cluster.plan.name for cluster in fleet.clusters if cluster.member.connect})
        self.move_after, self.lost_after = move_after, lost_after
        self.observations = ObservationCache(max_age=0.0, clock=clock)
        self.parsed_specs: dict[int, JobSpec] = {}
        self._readable_placements: dict[int, str] = {}
        """By job, as text: those that are known to be readable."""
        self.specs: dict[int, JobSpec] = {}
        self.exclusions: dict[int, dict[str, tuple[float, str]]] = {}
        self._exclusions_lock = (
            threading.Lock()
        )  # around what jobs that are handed over side by side write to ``exclusions``
        self.unresponsive_since: dict[str, float] = {}
        self.busy_connections: set[str] = set()
        """Connections that still take jobs: nothing else was asked, so nobody knows that they are silent."""
        self.requests = ParallelRequests(timeout)
        self.rediscovery: Rediscovery | None = None
        self.usage = Usage(store, fleet.spec.policy.half_life.to("s"))

    def step(self) -> int:
        """One look and what follows from it; returns how many jobs were given to an engine."""
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
        given = [record for record in live if record.state is not State.HELD]
        lately = self.usage.compute_usage(live, now)
        use = {tenant: units + lately.pop(tenant, 0.0) for tenant, units in count_units_in_use(given).items()} | lately
        order = compute_fair_share_order(
            held, use, compute_shares(self.fleet), {record.id: self._count_units(record) for record in held}
        )
        have = compute_allocations(given)
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
        recalled += [record for record in queued if record.recalled]  # a broker may have died before it asked
        self._recall_all([record for record in recalled if record.connection in answers])
        for defect in failed.values():
            raise defect
        return begun

    def _list_live_jobs(self) -> list[JobRecord]:
        """All jobs that have not ended and can be read; those that cannot are said, and stay as they are."""
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
        """Say something that lasts, as long as it does: see :meth:`Reporter.warn`."""
        if self.reporter:
            self.reporter.warn(f"warning: {message}", subject, is_inconclusive)
        else:
            self.report(f"warning: {message}")

    # -- seeing ------------------------------------------------------------------------------------------------------

    def _poll_connections(self, live_jobs: Sequence[JobRecord]) -> tuple[dict[str, PollResult], dict[str, Exception]]:
        """The answers of all connections that answer in time; by connection what is wrong with engines themselves."""
        restored = self.store.find_restore()
        if restored and not (self.rediscovery and self.rediscovery.restored == restored):
            self.rediscovery = Rediscovery(restored)
        clusters: dict[str, list[Cluster]] = {}
        for cluster in self.fleet.clusters:
            clusters.setdefault(_serialize_connection(cluster), []).append(cluster)
        given: dict[str, list[JobRecord]] = {connection: [] for connection in clusters}
        for record in live_jobs:
            if record.state is not State.HELD:
                given.setdefault(record.connection, []).append(record)
        for item in ledger.list_abandoned(self.store):
            given.setdefault(item.connection, [])
        held = [record for record in live_jobs if self._is_held_here(record)]
        questions = {}
        for connection, records in given.items():
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
            names |= {record.cluster for record in given[connection]}
            if kind != "look":
                self.busy_connections.add(connection)
            what = "to a look" if kind == "look" else "while it was given or asked for jobs"
            self._warn(
                f"{', '.join(sorted(names))}: no answer within {self.requests.timeout:g} s {what}; others go on",
                connection,
                is_inconclusive=True,
            )
        answers: dict[str, PollResult] = {}
        failed: dict[str, Exception] = {}
        for connection, question in done.items():
            try:
                answers[connection] = question.result()
            except Exception as error:  # a defect of an engine: others go on being served, and the service says it
                failed[connection] = error
        for connection, answer in answers.items():
            if answer.outage:
                names = {cluster.plan.name for cluster in clusters.get(connection, ())}
                names |= {record.cluster for record in given[connection]}
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
        """The fleet as its engines see it now; clusters that do not answer are left out."""
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
        """A cluster that was not seen, with why; one that has not answered yet as it is."""
        connection, answer = _serialize_connection(cluster), answers.get(_serialize_connection(cluster))
        found = answer.clusters.get(cluster.plan.name) if answer else None
        error = found if isinstance(found, Exception) else answer.outage if answer else failed.get(connection)
        return barred_by(cluster, error) if error else cluster

    # -- after a restore ---------------------------------------------------------------------------------------------

    def _adopt_all(self, rediscovery: Rediscovery) -> None:
        """Take over what engines were given after the copy was made that is in the place of the store now."""
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
        # where it lies nobody wrote down: it is counted as it would be placed now if all were free
        placement = place(job, select_clusters(self.fleet, [name]), now=self.clock(), with_suggestions=False)
        if not isinstance(placement, Placement):
            raise InputError(
                f"{placement[0]}; cancel it there, or let the cluster have it"
                if placement
                else "no pool can have it; cancel it there"
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
        self.report(f"job {record.id} ({record.name}) was given to {name} before the store was restored: {ref}")

    def _is_confirmed_absent(self, record: JobRecord, answers: Mapping[str, PollResult]) -> bool:
        """Whether engines have said that they have not got a held job, where the store cannot know."""
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
                f"the store was restored: {', '.join(names)} has not said yet whether "
                "it has this job; where it never will, cancel it and submit it anew",
            )
        return not names

    def _subtract_allocations(self, view: Fleet, live_jobs: list[JobRecord]) -> Fleet:
        """What was given away but is not yet to be seen: jobs that wait, and all where an engine lists no nodes."""
        blind = {
            cluster.plan.name for cluster in view.clusters if not isinstance(self._open_engine(cluster), ListsNodes)
        }
        now = self.clock()
        for record in live_jobs:
            if record.placement and record.state is not State.HELD:
                at = Placement.from_json(record.placement)
                if at.begin and (record.submitted or now) + at.begin <= now:
                    at = replace(at, begin=0.0)  # it is due
                if record.cluster in blind or record.state in (State.SUBMITTING, State.QUEUED):
                    view = allocate(view, at)
        return view

    def _get_cluster(self, name: str) -> Cluster:
        return next(cluster for cluster in self.fleet.clusters if cluster.plan.name == name)

    def _open_engine(self, cluster: Cluster) -> Engine:
        assert cluster.member.connect is not None
        return open_engine(cluster.member.connect, self.store.folder)

    def _build_current_spec(self, record: JobRecord) -> JobSpec:
        """A job as it stands now: its deadline counts from when it was recorded."""
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
        """Whether what a job waits for has completed; one that never will ends it, and so does its deadline."""
        left = self.specs[record.id].deadline
        if left is not None and not left.base:
            self.store.record_statuses(
                {record.id: Status(State.FAILED, record.attempt, "its deadline passed before it began")}
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
        """The numbers of the jobs that a job waits for."""
        if '"after"' not in record.spec:
            return ()
        if not (numbers := self.store.list_dependencies(record.id)):  # recorded by a version that kept the names only
            for name in JobSpec.model_validate_json(record.spec).after:
                if (found := self.store.find_by_name(name, before_id=record.id)) is None:
                    raise UnknownNameError("earlier job", name, ())
                numbers.append(found.id)
            self.store.record_dependencies(record.id, numbers)
        return numbers

    # -- acting ------------------------------------------------------------------------------------------------------

    def _start_all(self, starts: Mapping[str, Sequence[Start]]) -> int:
        """Hand jobs over, those of different connections side by side; returns how many were taken in time."""
        specs = self.specs
        done, late = self.requests.run(
            "hand over",
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
                f"{name}: a job is not taken within {self.requests.timeout:g} s; others go on",
                connection,
                is_inconclusive=True,
            )
        return sum(question.result() for question in done.values())

    def _run_until_timeout(self, steps: Sequence[Callable[[], object]]) -> int:
        """Take steps at one connection until half of the patience is over; what is left comes at the next look."""
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
                f"{placement.cluster}: job {record.id} may have been taken, and is looked for: {error}",
                _serialize_connection(cluster),
                is_inconclusive=True,
            )
            return False
        except (EngineError, InputError) as error:
            self._exclude_cluster(record, placement.cluster, str(error), now)
            return False
        except SupercloudError:  # of the store
            raise
        except Exception as error:  # a defect of an engine: the jobs behind this one go on
            self._exclude_cluster(
                record, placement.cluster, f"its engine failed with {type(error).__name__}: {error}", now
            )
            return False
        self.report(f"job {record.id} ({record.name}) goes to {placement.cluster}: {placement}")
        return True

    def _exclude_cluster(self, record: JobRecord, cluster: str, reason: str, now: float) -> None:
        """Try other clusters for some time."""
        with self._exclusions_lock:
            self.exclusions.setdefault(record.id, {})[cluster] = (
                now + _EXCLUSION_PERIOD,
                f"it refused the job a short while ago: {reason}",
            )
        ledger.record_hold_reason(self.store, self.store.get(record.id), f"{cluster}: {reason}")
        self._warn(f"job {record.id} is refused by {cluster}: {reason}", f"job {record.id} on {cluster}")

    def _list_exclusions(self, held_jobs: list[JobRecord], now: float) -> dict[int, dict[str, str]]:
        """The clusters that each job does not go to now, and why."""
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
                    self.reporter.renew(f"job {number} on {name}")  # it is not asked again yet
        for record in held_jobs:
            if record.reason == RECALLED_BEFORE_START:  # where it waited in vain looks free as soon as it has left
                avoided.setdefault(record.id, {})[record.cluster] = RECENTLY_RECALLED
        return avoided

    def _request_move(self, move: Move) -> bool:
        """Write down that a job is about to be asked back; False where its engine gives none back."""
        record = move.record
        if not isinstance(
            open_engine(Connection.model_validate_json(record.connection), self.store.folder), RecallsJobs
        ):
            return False
        to = f"{move.placement.cluster}: {move.placement}"
        if not ledger.request_recall(
            self.store, record, f"{record.cluster} is asked for it back: there is room on {to}"
        ):
            return False
        self.report(f"job {record.id} ({record.name}) still waits on {record.cluster}: there is room on {to}")
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
            with contextlib.suppress(EngineError):  # the next look asks again
                engine.recall(record.ref)

    def _abandon_unresponsive(self) -> None:
        """Jobs on clusters that have been silent for long go on elsewhere; their old copies are fenced off."""
        now = self.monotonic()
        lost = {name for name, since in self.unresponsive_since.items() if now - since >= (self.lost_after or 0.0)}
        for record in self._list_live_jobs() if lost else ():
            if record.cluster in lost and record.fleet and record.ref is not None:
                ledger.abandon_launch(
                    self.store, record, f"{record.cluster} has not answered for {self.lost_after:g} s"
                )


def _serialize_connection(cluster: Cluster) -> str:
    """As the store has it."""
    return cluster.member.connect.model_dump_json(exclude_defaults=True) if cluster.member.connect else ""


def _parse_spec(record: JobRecord) -> JobSpec:
    """What was asked for, without what the broker itself sees to. Raises :class:`ValueError` where this version cannot
    read it.
    """
    return JobSpec.model_validate_json(record.spec).model_copy(update={"after": ()})
