"""The broker's cycle: poll, decide, take each step; if it is killed, the next broker continues."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ...spec import JobSpec
from ..fleet.state import Fleet, ListsNodes
from ..placement.place import Placement
from ..store.records import JobRecord
from ..store.states import State
from ..store.store import Store
from . import ledger
from .adoption import adopt_jobs, is_confirmed_absent
from .capacity import allocate
from .context import BrokerContext, BrokerReporter, BrokerSettings, pin_connections
from .decide import Hold, Start, decide, rebalance
from .fair_share import compute_fair_share_order, compute_shares, count_units_in_use
from .limits import AllocationsByTenant, add_allocation, compute_allocations
from .live_jobs import LiveJobs
from .loop import PlainReporter
from .lost_clusters import abandon_jobs, select_responding
from .parallel_requests import ParallelRequests
from .polling import Poller, PollResults
from .polls import PollResult
from .readiness import is_ready
from .recalls import recall_jobs, request_move
from .submitting import Submitter
from .usage import Usage

__all__ = ["Broker"]


class Broker:
    """Manages the held jobs of one fleet."""

    def __init__(
        self,
        store: Store,
        fleet: Fleet,
        settings: BrokerSettings | None = None,
        *,
        clock: Callable[[], float] = time.time,
        reporter: BrokerReporter | None = None,
    ):
        settings = settings or BrokerSettings()
        self.context = BrokerContext(
            store,
            pin_connections(fleet),
            settings,
            clock,
            time.monotonic if clock is time.time else clock,
            reporter or PlainReporter(lambda text: None),
            ParallelRequests(settings.timeout),
        )
        self.specs: dict[int, JobSpec] = {}
        """Specs of the fleet's jobs that have not ended, as of the last cycle."""
        self._live_jobs = LiveJobs(self.context)
        self.poller = Poller(self.context)
        self._submitter = Submitter(self.context)
        self._usage = Usage(store, fleet.spec.policy.half_life.to("s"))

    def step(self) -> int:
        """Run one cycle; returns the number of jobs submitted to engines."""
        context, started = self.context, self.context.monotonic()
        results = self.poller.poll(context.store.list_live(damaged=[]))
        view = self.poller.build_view(results.answers, started)
        self._abandon_unresponsive(view)
        if self.poller.rediscovery:
            adopt_jobs(context, self._live_jobs, self.poller.rediscovery)
        live = self._live_jobs.list_readable()
        view = _subtract_allocations(context, view, live)
        mine = [record for record in live if record.fleet == context.fleet.spec.name]
        self.specs = {record.id: self._live_jobs.build_current_spec(record) for record in mine}
        held = self._select_startable(mine, results.answers)
        now = context.clock()
        allocations = compute_allocations(record for record in live if record.state is not State.HELD)
        starts: list[Start] = []
        for action in decide(
            view,
            self._sort_by_fair_share(held, live, now),
            self.specs,
            now,
            self._submitter.list_exclusions(held),
            allocations,
            self.poller.list_unobserved(view, results),
        ):
            if isinstance(action, Hold):
                ledger.record_hold_reason(context.store, action.record, action.reason)
            else:
                starts.append(action)
                placement = action.placement
                view = allocate(view, placement)
                allocations = add_allocation(allocations, action.record.tenant, placement, placement.cluster)
        submitted = self._submitter.submit_all(starts, self.specs)
        self._move_waiting(mine, view, now, allocations, results)
        for defect in results.defects.values():
            raise defect
        return submitted

    def _abandon_unresponsive(self, view: Fleet) -> None:
        """Restart jobs elsewhere if their cluster has not responded for too long."""
        lost_after = self.context.settings.lost_after
        if lost_after is None:
            return
        now = self.context.monotonic()
        since = self.poller.unresponsive_since
        lost = {name for name in since if now - since[name] >= lost_after}
        for name in select_responding(self.context, lost):
            since[name] = now
            lost.remove(name)
        if lost:
            view = _subtract_allocations(self.context, view, self._live_jobs.list_readable())
            abandon_jobs(self.context, self._live_jobs, view, lost)

    def _select_startable(self, mine: Sequence[JobRecord], answers: Mapping[str, PollResult]) -> list[JobRecord]:
        """The held jobs that may start now."""
        return [
            record
            for record in mine
            if record.state is State.HELD
            and is_confirmed_absent(self.context, self.poller.rediscovery, record, answers)
            and is_ready(self.context, record, self.specs[record.id])
        ]

    def _sort_by_fair_share(self, held: Sequence[JobRecord], live: Sequence[JobRecord], now: float) -> list[JobRecord]:
        """Held jobs in fair-share order, by present and recent use."""
        recent = self._usage.compute_usage(live, now)
        in_use = count_units_in_use(record for record in live if record.state is not State.HELD)
        use = {tenant: units + recent.pop(tenant, 0.0) for tenant, units in in_use.items()} | recent
        units = {record.id: _count_units(record, self.specs[record.id]) for record in held}
        return compute_fair_share_order(held, use, compute_shares(self.context.fleet), units)

    def _move_waiting(
        self,
        mine: Sequence[JobRecord],
        view: Fleet,
        now: float,
        allocations: AllocationsByTenant,
        results: PollResults,
    ) -> None:
        """Recall the jobs that wait on one cluster while another has free capacity for them."""
        queued = [record for record in mine if record.state is State.QUEUED and record.ref is not None]
        moves = rebalance(view, queued, self.specs, now, self.context.settings.move_after, allocations)
        recalled = [move.record for move in moves if request_move(self.context, move)]
        recalled += [record for record in queued if record.recalled]  # a broker may have died before the request
        recall_jobs(self.context, [record for record in recalled if record.connection in results.answers])


def _subtract_allocations(context: BrokerContext, view: Fleet, live_jobs: Sequence[JobRecord]) -> Fleet:
    """Subtract submitted jobs that are not yet visible: waiting ones, and all jobs if an engine does not list nodes."""
    without_nodes = {
        cluster.plan.name for cluster in view.clusters if not isinstance(context.open_engine(cluster), ListsNodes)
    }
    now = context.clock()
    for record in live_jobs:
        if record.placement and record.state is not State.HELD:
            placement = Placement.from_json(record.placement)
            if placement.begin and (record.submitted or now) + placement.begin <= now:
                placement = replace(placement, begin=0.0)  # its start time has passed
            if record.cluster in without_nodes or record.state in (State.SUBMITTING, State.QUEUED):
                view = allocate(view, placement)
    return view


def _count_units(record: JobRecord, job: JobSpec) -> int:
    if record.placement:
        return Placement.from_json(record.placement).units
    return max(1, job.accelerator_count, job.nodes or 1)
