"""The broker's loop: look at everything once, decide, take each step; killed anywhere, the next one goes on."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ...errors import EngineError, InputError, StoreError, SupercloudError, UnknownName
from ...primitives.quantity import Duration
from ...spec import JobSpec
from ...spec.fleet import Connection
from ..api import open_engine, require_completable
from ..engines.base import Engine, Recalls, Unsure
from ..engines.bounded_io import LOOK
from ..engines.identity import explain_other
from ..engines.submission import Status
from ..fleet.state import Cluster, Fleet, Sees, Watch, barred_by
from ..placement.energy import watts
from ..placement.place import Placement, place
from ..placement.steps.cost import promise
from ..reconcile import hand_over, in_hand
from ..runtime.epochs import engine_key
from ..store.records import JobRecord, unreadable
from ..store.spending import spent
from ..store.states import State
from ..store.store import GIVEN_BACK, Store
from . import ledger
from .decide import GAVE_BACK, Hold, Move, Start, decide, moves
from .limits import held_by, with_more
from .looks import Answer, look_at
from .loop import Reporter
from .rediscovery import Rediscovery
from .room import only, taken
from .side_by_side import SideBySide
from .turns import in_turn, shares_of, used
from .usage import Usage

__all__ = ["Broker"]

_AVOID = 60.0  # seconds for which a cluster that refused a job is not asked again


class Broker:
    """Looks after the held jobs of one fleet."""

    def __init__(
        self, store: Store, fleet: Fleet, *, move_after: float = 60.0, lost_after: float | None = None,
        clock: Callable[[], float] = time.time, ticks: Callable[[], float] | None = None,
        say: Callable[[str], None] = lambda text: None, patience: float = LOOK, reporter: Reporter | None = None,
    ):  # fmt: skip
        # dates go into the store; how long something lasts here is measured with a clock that no new date moves
        self.store, self.clock, self.reporter = store, clock, reporter
        self.say = reporter.say if reporter else say
        self.ticks = ticks or (time.monotonic if clock is time.time else clock)
        self.fleet = only(fleet, {cluster.plan.name for cluster in fleet.clusters if cluster.member.connect})
        self.move_after, self.lost_after = move_after, lost_after
        self.watch = Watch(keep=0.0, clock=clock)
        self.read: dict[int, JobSpec] = {}
        self._placements: dict[int, str] = {}
        """By job, as text: those that are known to be readable."""
        self.specs: dict[int, JobSpec] = {}
        self.avoid: dict[int, dict[str, tuple[float, str]]] = {}
        self._avoiding = threading.Lock()  # around what jobs that are handed over side by side write to ``avoid``
        self.silent: dict[str, float] = {}
        self.busy: set[str] = set()
        """Connections that still take jobs: nothing else was asked, so nobody knows that they are silent."""
        self.side_by_side = SideBySide(patience)
        self.rediscovery: Rediscovery | None = None
        self.usage = Usage(store, fleet.spec.policy.half_life.to("s"))

    def step(self) -> int:
        """One look and what follows from it; returns how many jobs were given to an engine."""
        began = self.ticks()
        answers, failed = self._ask(self.store.live(damaged=[]))
        view = self._look(answers, began)
        if self.lost_after is not None:
            self._give_up_silent()
        if self.rediscovery:
            self._adopt_all(self.rediscovery)
        live = self._live()
        view = self._in_use(view, live)
        mine = [record for record in live if record.fleet == self.fleet.spec.name]
        self.specs = {record.id: self._spec(record) for record in mine}
        held = [record for record in mine if record.state is State.HELD and self._is_known_absent(record, answers)
                and self._may_begin(record)]  # fmt: skip
        now = self.clock()
        given = [record for record in live if record.state is not State.HELD]
        lately = self.usage.of(live, now)
        use = {tenant: units + lately.pop(tenant, 0.0) for tenant, units in used(given).items()} | lately
        order = in_turn(held, use, shares_of(self.fleet), {record.id: self._size(record) for record in held})
        have = held_by(given)
        starts: dict[str, list[Start]] = {}
        visible = {cluster.plan.name for cluster in view.clusters}
        silent = [self._barred(cluster, answers, failed) for cluster in self.fleet.clusters
                  if cluster.plan.name not in visible]  # fmt: skip
        for action in decide(view, order, self.specs, now, self._avoided(held, self.ticks()), have, silent):
            if isinstance(action, Hold):
                ledger.explain(self.store, action.record, action.reason)
            else:
                cluster = self._cluster(action.placement.cluster)
                starts.setdefault(_connection_of(cluster), []).append(action)
                view = taken(view, action.placement)
                have = with_more(have, action.record.tenant, action.placement, action.placement.cluster)
        begun = self._start_all(starts)
        queued = [record for record in mine if record.state is State.QUEUED and record.ref is not None]
        recalled = [move.record for move in moves(view, queued, self.specs, now, self.move_after, have)
                    if self._move(move)]  # fmt: skip
        recalled += [record for record in queued if record.recalled]  # a broker may have died before it asked
        self._recall_all([record for record in recalled if record.connection in answers])
        for defect in failed.values():
            raise defect
        return begun

    def _live(self) -> list[JobRecord]:
        """All jobs that have not ended and can be read; those that cannot are said, and stay as they are."""
        damaged: list[StoreError] = []
        live = self.store.live(damaged)
        specs, placements = self.read, self._placements
        self.read, self._placements, readable = {}, {}, []
        for record in live:
            try:
                if record.fleet == self.fleet.spec.name:
                    self.read[record.id] = specs.get(record.id) or _read(record)
                if record.placement and placements.get(record.id) != record.placement:
                    Placement.of_json(record.placement)
                self._placements[record.id] = record.placement
                readable.append(record)
            except (ValueError, TypeError, LookupError, AttributeError) as error:
                damaged.append(unreadable(record, error))
        for problem in damaged:
            self.say(f"warning: {problem}")
        return readable

    def _warn(self, text: str, about: str, vague: bool = False) -> None:
        """Say something that lasts, as long as it does: see :meth:`Reporter.warn`."""
        if self.reporter:
            self.reporter.warn(f"warning: {text}", about, vague)
        else:
            self.say(f"warning: {text}")

    # -- seeing ------------------------------------------------------------------------------------------------------

    def _ask(self, live: Sequence[JobRecord]) -> tuple[dict[str, Answer], dict[str, Exception]]:
        """The answers of all connections that answer in time; by connection what is wrong with engines themselves."""
        restored = self.store.restored()
        if restored and not (self.rediscovery and self.rediscovery.restored == restored):
            self.rediscovery = Rediscovery(restored)
        clusters: dict[str, list[Cluster]] = {}
        for cluster in self.fleet.clusters:
            clusters.setdefault(_connection_of(cluster), []).append(cluster)
        given: dict[str, list[JobRecord]] = {connection: [] for connection in clusters}
        for record in live:
            if record.state is not State.HELD:
                given.setdefault(record.connection, []).append(record)
        for item in ledger.abandoned(self.store):
            given.setdefault(item.connection, [])
        held = [record for record in live if self._is_mine(record)]
        questions = {}
        for connection, records in given.items():
            mine = clusters.get(connection, [])
            keys = self.rediscovery.questions(connection, held) if self.rediscovery and mine else []
            questions[connection] = partial(look_at, self.store, connection, [record.id for record in records], mine,
                                            self.watch, keys, restored.since if restored else 0.0)  # fmt: skip
        done, late = self.side_by_side.ask("look", questions)
        self.busy = set()
        for connection, kind in late.items():
            names = {cluster.plan.name for cluster in clusters.get(connection, ())}
            names |= {record.cluster for record in given[connection]}
            if kind != "look":
                self.busy.add(connection)
            what = "to a look" if kind == "look" else "while it was given or asked for jobs"
            self._warn(f"{', '.join(sorted(names))}: no answer within {self.side_by_side.patience:g} s {what}; "
                       "others go on", connection, vague=True)  # fmt: skip
        answers: dict[str, Answer] = {}
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
                    f"{', '.join(sorted(names))}: {answer.outage}", connection, isinstance(answer.outage, Unsure)
                )
            for problem in answer.problems:
                self.say(f"warning: {problem}")
            if self.rediscovery:
                self.rediscovery.learn(connection, answer.asked, answer.found, answer.digests)
        return answers, failed

    def _is_mine(self, record: JobRecord) -> bool:
        return record.state is State.HELD and record.fleet == self.fleet.spec.name

    def _look(self, answers: Mapping[str, Answer], began: float) -> Fleet:
        """The fleet as its engines see it now; clusters that do not answer are left out."""
        seen = []
        for cluster in self.fleet.clusters:
            name, answer = cluster.plan.name, answers.get(_connection_of(cluster))
            found = answer.seen.get(name) if answer else None
            if isinstance(found, Cluster):
                seen.append(found)
                self.silent.pop(name, None)
                continue
            if _connection_of(cluster) not in self.busy:
                self.silent.setdefault(name, began)
            if found is not None and answer and found is not answer.outage and str(found) != str(answer.outage):
                self._warn(f"{name}: {found}", name)
        return replace(self.fleet, clusters=tuple(seen), spent=spent(self.store, self.fleet.spec.budgets, self.clock()))

    def _barred(self, cluster: Cluster, answers: Mapping[str, Answer], failed: Mapping[str, Exception]) -> Cluster:
        """A cluster that was not seen, with why; one that has not answered yet as it is."""
        connection, answer = _connection_of(cluster), answers.get(_connection_of(cluster))
        found = answer.seen.get(cluster.plan.name) if answer else None
        error = found if isinstance(found, Exception) else answer.outage if answer else failed.get(connection)
        return barred_by(cluster, error) if error else cluster

    # -- after a restore ---------------------------------------------------------------------------------------------

    def _adopt_all(self, rediscovery: Rediscovery) -> None:
        """Take over what engines were given after the copy was made that is in the place of the store now."""
        for record in self._live():
            if self._is_mine(record) and (start := rediscovery.latest(record)):
                launch, connection, ref = start
                cluster = next(one for one in self.fleet.clusters if _connection_of(one) == connection)
                digest, known = rediscovery.digest(connection, ref), rediscovery.has_copy_known(record)
                other = explain_other(cluster.plan.name, ref, engine_key(record.key, launch), digest,
                                      f"job {record.id} ({record.name})", record.spec)  # fmt: skip
                if other and (digest or not known):
                    ledger.explain(self.store, record, other)
                    self.say(f"warning: {other}")
                    continue
                try:
                    self._adopt(record, launch, cluster, ref)
                except (EngineError, InputError) as error:
                    ledger.explain(self.store, record, f"{cluster.plan.name} has it as {ref}: {error}")

    def _adopt(self, record: JobRecord, launch: int, cluster: Cluster, ref: str) -> None:
        job, name, connection = self.read[record.id], cluster.plan.name, cluster.member.connect
        assert connection is not None
        # where it lies nobody wrote down: it is counted as it would be placed now if all were free
        placement = place(job, only(self.fleet, [name]), now=self.clock(), advise=False)
        if not isinstance(placement, Placement):
            raise InputError(f"{placement[0]}; cancel it there, or let the cluster have it" if placement else
                             "no pool can have it; cancel it there")  # fmt: skip
        placement = replace(placement, begin=0.0)
        submission = self._engine(cluster).prepare(job, placement, engine_key(record.key, launch))
        with self.store.writing():
            known = ledger.advance(self.store, record, launch)
            if not ledger.assign(self.store, known, placement, submission, _connection_of(cluster), connection.engine,
                                 watts(cluster.plan, placement), promise(job, placement)):  # fmt: skip
                return
            self.store.submitted(record.id, ref)
        self.say(f"job {record.id} ({record.name}) was given to {name} before the store was restored: {ref}")

    def _is_known_absent(self, record: JobRecord, answers: Mapping[str, Answer]) -> bool:
        """Whether engines have said that they have not got a held job, where the store cannot know."""
        if self.rediscovery is None:
            return True
        if self.rediscovery.latest(record):
            return False
        by_connection = {_connection_of(cluster): cluster for cluster in self.fleet.clusters}
        answered = [one for one in by_connection if one in answers and answers[one].asked]
        unsure = self.rediscovery.unsure(record, list(by_connection), answered)
        names = [by_connection[one].plan.name for one in unsure]
        if names:
            ledger.explain(self.store, record, f"the store was restored: {', '.join(names)} has not said yet whether "
                           "it has this job; where it never will, cancel it and submit it anew")  # fmt: skip
        return not names

    def _in_use(self, view: Fleet, live: list[JobRecord]) -> Fleet:
        """What was given away but is not yet to be seen: jobs that wait, and all where an engine lists no nodes."""
        blind = {cluster.plan.name for cluster in view.clusters if not isinstance(self._engine(cluster), Sees)}
        now = self.clock()
        for record in live:
            if record.placement and record.state is not State.HELD:
                at = Placement.of_json(record.placement)
                if at.begin and (record.submitted or now) + at.begin <= now:
                    at = replace(at, begin=0.0)  # it is due
                if record.cluster in blind or record.state in (State.SUBMITTING, State.QUEUED):
                    view = taken(view, at)
        return view

    def _cluster(self, name: str) -> Cluster:
        return next(cluster for cluster in self.fleet.clusters if cluster.plan.name == name)

    def _engine(self, cluster: Cluster) -> Engine:
        assert cluster.member.connect is not None
        return open_engine(cluster.member.connect, self.store.folder)

    def _spec(self, record: JobRecord) -> JobSpec:
        """A job as it stands now: its deadline counts from when it was recorded."""
        known = self.read[record.id]
        if known.deadline is None:
            return known
        left = max(0.0, known.deadline.to("s") - (self.clock() - record.recorded))
        return known.model_copy(update={"deadline": Duration(round(left), "s")})

    def _size(self, record: JobRecord) -> int:
        if record.placement:
            return Placement.of_json(record.placement).units
        return max(1, self.specs[record.id].accelerator_count, self.specs[record.id].nodes or 1)

    def _may_begin(self, record: JobRecord) -> bool:
        """Whether what a job waits for has completed; one that never will ends it, and so does its deadline."""
        left = self.specs[record.id].deadline
        if left is not None and not left.base:
            self.store.observe({record.id: Status(State.FAILED, record.attempt, "its deadline passed before it began")})
            return False
        try:
            awaited = [require_completable(self.store.get(number)) for number in self._awaited(record)]
        except InputError as error:
            self.store.observe({record.id: Status(State.FAILED, record.attempt, str(error))})
            return False
        except StoreError as error:
            self.say(f"warning: job {record.id} ({record.name}) waits for a job that cannot be read: {error}")
            return False
        for before in awaited:
            if not before.state.is_final:
                ledger.explain(self.store, record, f"it waits for job {before.id} ({before.name})")
                return False
        return True

    def _awaited(self, record: JobRecord) -> Sequence[int]:
        """The numbers of the jobs that a job waits for."""
        if '"after"' not in record.spec:
            return ()
        if not (numbers := self.store.awaited(record.id)):  # recorded by a version that kept the names only
            for name in JobSpec.model_validate_json(record.spec).after:
                if (found := self.store.named(name, before=record.id)) is None:
                    raise UnknownName("earlier job", name, ())
                numbers.append(found.id)
            self.store.set_awaited(record.id, numbers)
        return numbers

    # -- acting ------------------------------------------------------------------------------------------------------

    def _start_all(self, starts: Mapping[str, Sequence[Start]]) -> int:
        """Hand jobs over, those of different connections side by side; returns how many were taken in time."""
        specs = self.specs
        done, late = self.side_by_side.ask("hand over", {
            connection: partial(self._in_time, [partial(self._start, action, specs[action.record.id], self.ticks())
                                                for action in actions])
            for connection, actions in starts.items()})  # fmt: skip
        for connection in late:
            name = starts[connection][0].placement.cluster
            self._warn(f"{name}: a job is not taken within {self.side_by_side.patience:g} s; others go on", connection,
                       vague=True)  # fmt: skip
        return sum(question.result() for question in done.values())

    def _in_time(self, steps: Sequence[Callable[[], object]]) -> int:
        """Take steps at one connection until half of the patience is over; what is left comes at the next look."""
        end = time.monotonic() + self.side_by_side.patience / 2
        count = 0
        for step in steps:
            count += bool(step())
            if time.monotonic() > end:
                break
        return count

    def _start(self, action: Start, job: JobSpec, now: float) -> bool:
        record, placement = action.record, action.placement
        cluster = self._cluster(placement.cluster)
        connection = cluster.member.connect
        assert connection is not None
        engine = self._engine(cluster)
        try:
            submission = engine.prepare(job, placement, record.engine_key)
            power = watts(cluster.plan, placement)
            text = _connection_of(cluster)
            with in_hand(self.store, record.key):
                if not ledger.assign(self.store, record, placement, submission, text, connection.engine, power,
                                     promise(job, placement)):  # fmt: skip
                    return False
                hand_over(self.store, engine, record.id, submission)
        except Unsure as error:
            self._warn(f"{placement.cluster}: job {record.id} may have been taken, and is looked for: {error}",
                       _connection_of(cluster), vague=True)  # fmt: skip
            return False
        except (EngineError, InputError) as error:
            self._avoid(record, placement.cluster, str(error), now)
            return False
        except SupercloudError:  # of the store
            raise
        except Exception as error:  # a defect of an engine: the jobs behind this one go on
            self._avoid(record, placement.cluster, f"its engine failed with {type(error).__name__}: {error}", now)
            return False
        self.say(f"job {record.id} ({record.name}) goes to {placement.cluster}: {placement}")
        return True

    def _avoid(self, record: JobRecord, cluster: str, why: str, now: float) -> None:
        """Try other clusters for some time."""
        with self._avoiding:
            self.avoid.setdefault(record.id, {})[cluster] = (
                now + _AVOID,
                f"it refused the job a short while ago: {why}",
            )
        ledger.explain(self.store, self.store.get(record.id), f"{cluster}: {why}")
        self._warn(f"job {record.id} is refused by {cluster}: {why}", f"job {record.id} on {cluster}")

    def _avoided(self, held: list[JobRecord], now: float) -> dict[int, dict[str, str]]:
        """The clusters that each job does not go to now, and why."""
        with self._avoiding:
            self.avoid = {number: kept for number, names in self.avoid.items()
                          if (kept := {name: until for name, until in names.items() if until[0] > now})}  # fmt: skip
            avoided = {number: {name: why for name, (_, why) in names.items()} for number, names in self.avoid.items()}
        if self.reporter is not None:
            for number, names in avoided.items():
                for name in names:
                    self.reporter.keep(f"job {number} on {name}")  # it is not asked again yet
        for record in held:
            if record.reason == GIVEN_BACK:  # where it waited in vain looks free as soon as it has left
                avoided.setdefault(record.id, {})[record.cluster] = GAVE_BACK
        return avoided

    def _move(self, move: Move) -> bool:
        """Write down that a job is about to be asked back; False where its engine gives none back."""
        record = move.record
        if not isinstance(open_engine(Connection.model_validate_json(record.connection), self.store.folder), Recalls):
            return False
        to = f"{move.placement.cluster}: {move.placement}"
        if not ledger.ask_back(self.store, record, f"{record.cluster} is asked for it back: there is room on {to}"):
            return False
        self.say(f"job {record.id} ({record.name}) still waits on {record.cluster}: there is room on {to}")
        return True

    def _recall_all(self, records: Sequence[JobRecord]) -> None:
        by_connection: dict[str, list[Callable[[], object]]] = {}
        for record in records:
            by_connection.setdefault(record.connection, []).append(partial(self._recall, record))
        done, _ = self.side_by_side.ask("recall", {connection: partial(self._in_time, steps)
                                                   for connection, steps in by_connection.items()})  # fmt: skip
        for question in done.values():
            question.result()

    def _recall(self, record: JobRecord) -> None:
        engine = open_engine(Connection.model_validate_json(record.connection), self.store.folder)
        if isinstance(engine, Recalls) and record.ref is not None:
            with contextlib.suppress(EngineError):  # the next look asks again
                engine.recall(record.ref)

    def _give_up_silent(self) -> None:
        """Jobs on clusters that have been silent for long go on elsewhere; their old copies are fenced off."""
        now = self.ticks()
        lost = {name for name, since in self.silent.items() if now - since >= (self.lost_after or 0.0)}
        for record in self._live() if lost else ():
            if record.cluster in lost and record.fleet and record.ref is not None:
                ledger.abandon(self.store, record, f"{record.cluster} has not answered for {self.lost_after:g} s")


def _connection_of(cluster: Cluster) -> str:
    """As the store has it."""
    return cluster.member.connect.model_dump_json(exclude_defaults=True) if cluster.member.connect else ""


def _read(record: JobRecord) -> JobSpec:
    """What was asked for, without what the broker itself sees to. Raises :class:`ValueError` where this version cannot
    read it.
    """
    return JobSpec.model_validate_json(record.spec).model_copy(update={"after": ()})
