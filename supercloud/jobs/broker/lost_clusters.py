"""Jobs on clusters that do not respond: they are given up only if they can be restarted on another cluster now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..fleet.state import Fleet, ListsNodes
from ..placement.place import Placement
from ..placement.spending import add_spending, compute_reserved_cost
from ..store.records import JobRecord
from ..store.states import State
from ..store.status import Status
from ..store.status_changes import can_continue
from . import ledger
from .capacity import allocate
from .context import BrokerContext
from .decide import find_free_placement
from .limits import add_allocation, compute_allocations
from .live_jobs import LiveJobs

__all__ = ["abandon_jobs", "select_responding"]


def select_responding(context: BrokerContext, names: set[str]) -> list[str]:
    """Those of these clusters whose scheduler lists its nodes in time.

    A poll also looks up ended jobs in the accounts, whose database may take minutes: this does not mean that the nodes
    are lost.
    """
    requests: dict[str, Callable[[], object]] = {}
    for name in names:
        engine = context.open_engine(context.get_cluster(name))
        if isinstance(engine, ListsNodes):
            requests[f"nodes of {name}"] = engine.list_nodes
    done, _ = context.requests.run("list", requests)
    found = [name for name in sorted(names) if (answer := done.get(f"nodes of {name}")) and not answer.exception()]
    for name in found:
        context.warn(
            f"{name}: polls are not answered in time, but its scheduler lists its nodes: its jobs continue there; "
            "check the database of its accounts",
            f"accounts of {name}",
        )
    return found


def abandon_jobs(context: BrokerContext, live_jobs: LiveJobs, view: Fleet, clusters: set[str]) -> None:
    """Restart the fleet's jobs of clusters that have not responded for ``lost_after`` seconds on other clusters; their
    old copies are fenced.

    ``view`` has the free nodes of the clusters that respond. A job that has no retries left, or that fits on none of
    them now, is left alone, with a warning: it may run undisturbed, and giving it up would only end it.
    """
    readable = live_jobs.list_readable()
    allocations = compute_allocations(record for record in readable if record.state is not State.HELD)
    for record in _select_jobs(context, readable, clusters):
        problem = f"{record.cluster} has not responded for {context.settings.lost_after:g} s"
        here = Placement.from_json(record.placement)
        own = add_allocation(allocations, record.tenant, here, here.cluster, -1)
        around = add_spending(view, record.tenant, -(record.promised or 0.0))
        elsewhere = None
        obstacle = "it has no retries left"
        if can_continue(record, Status(State.NODE_FAIL, record.attempt)):
            job = live_jobs.build_current_spec(record)
            elsewhere = find_free_placement(job, record.tenant, around, context.clock(), own)
            obstacle = "no other cluster fits it now"
        if elsewhere is None:
            context.warn(
                f"job {record.id} ({record.name}) stays on {record.cluster}, although {problem}: {obstacle}",
                f"lost job {record.id}",
            )
            continue
        ledger.abandon_launch(context.store, record, problem)
        context.reporter.report(f"job {record.id} ({record.name}) is given up on {record.cluster}: {problem}")
        cost = compute_reserved_cost(job, elsewhere) or 0.0
        view = add_spending(allocate(around, elsewhere), record.tenant, cost)
        allocations = add_allocation(own, record.tenant, elsewhere, elsewhere.cluster)


def _select_jobs(context: BrokerContext, live_jobs: Sequence[JobRecord], clusters: set[str]) -> list[JobRecord]:
    """The fleet's submitted jobs on these clusters."""
    fleet = context.fleet.spec.name
    return [
        record
        for record in live_jobs
        if record.cluster in clusters and record.fleet == fleet and record.ref is not None and record.placement
    ]
