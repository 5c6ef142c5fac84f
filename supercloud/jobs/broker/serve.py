"""The broker's loop: look at everything once, decide, take each step; killed anywhere, the next one goes on."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import EngineError, InputError, SupercloudError, UnknownName, WorkError
from ...primitives.quantity import Duration
from ...spec import JobSpec
from ...spec.fleet import Connection
from ..api import open_engine, require_completable
from ..engine import Engine, Recalls, Unsure
from ..fleet import Cluster, Fleet, Sees, Watch
from ..money import promise
from ..placement import Placement
from ..power import watts
from ..private import require_own
from ..reconcile import hand_over, in_hand, reconcile
from ..records import JobRecord
from ..spending import spent
from ..states import State
from ..store import GIVEN_BACK, Store
from ..submission import Status
from . import ledger
from .decide import Hold, Move, Start, decide, moves
from .limits import held_by, with_more
from .room import only, taken
from .turns import in_turn, shares_of, used
from .usage import Usage

__all__ = ["Broker", "lock"]

_AVOID = 60.0  # seconds for which a cluster that refused a job is not asked again


@contextlib.contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Be the one broker of a store; a second one is told so at once.

    Raises :class:`WorkError` where another process is it, and where the file system gives no lock.
    """
    require_own(folder)
    path = folder / "broker.lock"
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise WorkError(f"{path} cannot be made: {error.strerror}; without it two brokers would not know of each "
                        "other: free some space, or set SUPERCLOUD_STATE to another folder") from None  # fmt: skip
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            other = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
            raise WorkError(f"process {other} already serves {folder}; one is enough, end it first") from None
        except OSError as error:
            raise WorkError(f"{path} cannot be locked: {error.strerror}; two brokers would not know of each other: set "
                            "SUPERCLOUD_STATE to a folder on a file system with file locks") from None  # fmt: skip
        with contextlib.suppress(OSError):  # the disk is full: the lock holds, only who has it is not written down
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)


class Broker:
    """Looks after the held jobs of one fleet."""

    def __init__(
        self, store: Store, fleet: Fleet, *, move_after: float = 60.0, lost_after: float | None = None,
        clock: Callable[[], float] = time.time, ticks: Callable[[], float] | None = None,
        say: Callable[[str], None] = lambda text: None,
    ):  # fmt: skip
        # dates go into the store; how long something lasts here is measured with a clock that no new date moves
        self.store, self.clock, self.say = store, clock, say
        self.ticks = ticks or (time.monotonic if clock is time.time else clock)
        self.fleet = only(fleet, {cluster.plan.name for cluster in fleet.clusters if cluster.member.connect})
        self.move_after, self.lost_after = move_after, lost_after
        self.watch = Watch(keep=0.0, clock=clock)
        self.read: dict[int, JobSpec] = {}
        self.specs: dict[int, JobSpec] = {}
        self.avoid: dict[int, dict[str, float]] = {}
        self.silent: dict[str, float] = {}
        self.usage = Usage(store, fleet.spec.policy.half_life.to("s"))

    def step(self) -> int:
        """One look and what follows from it; returns how many jobs were given to an engine."""
        began = self.ticks()
        failed: dict[str, EngineError] = {}  # who does not answer is asked once: that alone may take long
        for problem in reconcile(self.store, silent=failed):
            self.say(f"warning: {problem}")
        self._end_abandoned(failed)
        view = self._look(failed, began)
        if self.lost_after is not None:
            self._give_up_silent()
        live = self.store.live()
        view = self._in_use(view, live)
        mine = [record for record in live if record.fleet == self.fleet.spec.name]
        self.read = {record.id: self.read.get(record.id) or _read(record) for record in mine}
        self.specs = {record.id: self._spec(record) for record in mine}
        held = [record for record in mine if record.state is State.HELD and self._may_begin(record)]
        now = self.clock()
        given = [record for record in live if record.state is not State.HELD]
        lately = self.usage.of(live, now)
        use = {tenant: units + lately.pop(tenant, 0.0) for tenant, units in used(given).items()} | lately
        order = in_turn(held, use, shares_of(self.fleet), {record.id: self._size(record) for record in held})
        have = held_by(given)
        begun = 0
        for action in decide(view, order, self.specs, now, self._avoided(held, self.ticks()), have):
            if isinstance(action, Hold):
                ledger.explain(self.store, action.record, action.reason)
            else:
                begun += self._start(action, self.ticks())
                view = taken(view, action.placement)
                have = with_more(have, action.record.tenant, action.placement, action.placement.cluster)
        queued = [record for record in mine if record.state is State.QUEUED and record.ref is not None]
        for move in moves(view, queued, self.specs, now, self.move_after, have):
            self._move(move)
        for record in queued:
            if record.recalled:  # a broker may have died before it asked
                self._recall(record)
        return begun

    # -- seeing ------------------------------------------------------------------------------------------------------

    def _look(self, failed: Mapping[str, EngineError], began: float) -> Fleet:
        """The fleet as its engines see it now; clusters that do not answer are left out."""
        seen = []
        for cluster in self.fleet.clusters:
            name, asked = cluster.plan.name, self.ticks()
            if _connection_of(cluster) in failed:
                self.silent.setdefault(name, began)
                continue
            try:
                seen.append(self.watch.look(cluster, self._engine(cluster), anew=True))
                self.silent.pop(name, None)
            except SupercloudError as error:
                self.silent.setdefault(name, asked)
                self.say(f"warning: {name}: {error}")
        return replace(self.fleet, clusters=tuple(seen), spent=spent(self.store, self.fleet.spec.budgets, self.clock()))

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

    def _start(self, action: Start, now: float) -> bool:
        record, placement = action.record, action.placement
        cluster = next(item for item in self.fleet.clusters if item.plan.name == placement.cluster)
        connection = cluster.member.connect
        assert connection is not None
        engine = self._engine(cluster)
        try:
            submission = engine.prepare(self.specs[record.id], placement, record.engine_key)
            power = watts(cluster.plan, placement)
            text = _connection_of(cluster)
            with in_hand(self.store, record.key):
                if not ledger.assign(self.store, record, placement, submission, text, connection.engine, power,
                                     promise(self.specs[record.id], placement)):  # fmt: skip
                    return False
                hand_over(self.store, engine, record.id, submission)
        except Unsure as error:
            self.say(f"warning: job {record.id}: {error}")
            return False
        except EngineError as error:
            self.avoid.setdefault(record.id, {})[placement.cluster] = now + _AVOID
            ledger.explain(self.store, self.store.get(record.id), f"{placement.cluster}: {error}")
            self.say(f"warning: job {record.id} is refused by {placement.cluster}: {error}")
            return False
        self.say(f"job {record.id} ({record.name}) goes to {placement.cluster}: {placement}")
        return True

    def _avoided(self, held: list[JobRecord], now: float) -> dict[int, set[str]]:
        self.avoid = {number: kept for number, names in self.avoid.items()
                      if (kept := {name: until for name, until in names.items() if until > now})}  # fmt: skip
        avoided = {number: set(names) for number, names in self.avoid.items()}
        for record in held:
            if record.reason == GIVEN_BACK:  # where it waited in vain looks free as soon as it has left
                avoided.setdefault(record.id, set()).add(record.cluster)
        return avoided

    def _move(self, move: Move) -> None:
        record = move.record
        if not isinstance(open_engine(Connection.model_validate_json(record.connection), self.store.folder), Recalls):
            return
        to = f"{move.placement.cluster}: {move.placement}"
        if ledger.ask_back(self.store, record, f"{record.cluster} is asked for it back: there is room on {to}"):
            self.say(f"job {record.id} ({record.name}) still waits on {record.cluster}: there is room on {to}")
            self._recall(record)

    def _recall(self, record: JobRecord) -> None:
        engine = open_engine(Connection.model_validate_json(record.connection), self.store.folder)
        if isinstance(engine, Recalls) and record.ref is not None:
            with contextlib.suppress(EngineError):  # the next look asks again
                engine.recall(record.ref)

    def _give_up_silent(self) -> None:
        """Jobs on clusters that have been silent for long go on elsewhere; their old copies are fenced off."""
        now = self.ticks()
        lost = {name for name, since in self.silent.items() if now - since >= (self.lost_after or 0.0)}
        for record in self.store.live() if lost else ():
            if record.cluster in lost and record.fleet and record.ref is not None:
                ledger.abandon(self.store, record, f"{record.cluster} has not answered for {self.lost_after:g} s")

    def _end_abandoned(self, failed: Mapping[str, EngineError]) -> None:
        for item in ledger.abandoned(self.store):
            if item.connection in failed:
                continue
            with contextlib.suppress(EngineError):  # it is still silent
                open_engine(Connection.model_validate_json(item.connection), self.store.folder).cancel(item.ref)
                ledger.forget(self.store, item)


def _connection_of(cluster: Cluster) -> str:
    """As the store has it."""
    return cluster.member.connect.model_dump_json(exclude_defaults=True) if cluster.member.connect else ""


def _read(record: JobRecord) -> JobSpec:
    """What was asked for, without what the broker itself sees to."""
    return JobSpec.model_validate_json(record.spec).model_copy(update={"after": ()})
