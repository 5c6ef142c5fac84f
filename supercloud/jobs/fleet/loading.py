"""The state of a fleet from its file: each cluster is planned, and queried if it has a connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from ...catalog.reliability import FailureRate
from ...errors import InputError, suggest_nearest
from ...plan.model.plan import Plan
from ...plan.resolve import load_catalog, resolve
from ...spec.document import Document
from ...spec.fleet import Connection, FleetMember, FleetSpec
from ...spec.loader import load, load_fleet, require_member_files
from .connections import require_distinct_schedulers
from .stack_outputs import read_connection_from_stack
from .state import Cluster, Fleet, ObservationCache, exclude_cluster

__all__ = ["load_fleet_state"]


def load_fleet_state(path: Path, open_engine: Callable[[Connection], object] | None = None) -> Fleet:
    """Load a fleet from its file, or from that of a single cluster; with ``open_engine`` each connected cluster is
    queried.

    A cluster that does not respond is excluded: it accepts no job and has a reason. Raises :class:`InputError` for a
    file that is not valid, and :class:`EngineError` for a stack without a usable connection.
    """
    loaded = load_fleet(path)
    require_member_files(loaded, path)
    spec, document = loaded.model, loaded.document
    watch = ObservationCache()
    clusters: list[Cluster] = []
    for declared in spec.clusters:
        plan = _resolve_plan(path.parent, declared)
        member = _resolve_member(declared)
        _require_new_name(plan, member, clusters, path, document)
        catalog = load_catalog(plan.spec, (path.parent / member.spec).parent)
        catalog.get(FailureRate, spec.policy.failures)  # report an error now, not when a job is placed
        clusters.append(_observe(Cluster.from_plan(plan, member, catalog), watch, open_engine))
    require_distinct_schedulers([cluster.member for cluster in clusters], document)  # outputs of stacks are known now
    plans = [cluster.plan for cluster in clusters]
    _require_known_tenants(spec, plans, path)
    _require_known_storage(spec, plans, path)
    return Fleet(spec, tuple(clusters))


def _resolve_plan(folder: Path, declared: FleetMember) -> Plan:
    plan = resolve(load(folder / declared.spec))
    if plan.errors:
        raise InputError(f"{declared.spec}: jobs cannot be placed on a plan with errors", plan.errors)
    return plan


def _resolve_member(declared: FleetMember) -> FleetMember:
    """The member, with the connection that its stack outputs."""
    if not (declared.connect and declared.connect.stack):
        return declared
    return declared.model_copy(update={"connect": read_connection_from_stack(declared.connect)})


def _require_new_name(
    plan: Plan, member: FleetMember, clusters: Sequence[Cluster], path: Path, document: Document
) -> None:
    for index, known in enumerate(clusters):
        if plan.name == known.plan.name:
            line = document.find_line(("clusters", len(clusters)))
            before = document.find_line(("clusters", index))
            raise InputError(
                f"{path}:{line}: clusters[{len(clusters)}]: duplicate cluster name {plan.name!r} in "
                f"{member.spec} and {known.member.spec} (line {before}); jobs could not distinguish them: change "
                "the 'name:' of one"
            )


def _observe(cluster: Cluster, watch: ObservationCache, open_engine: Callable[[Connection], object] | None) -> Cluster:
    """The cluster as its engine reports it, if it has a connection."""
    if open_engine is None or cluster.member.connect is None:
        return cluster
    try:
        return watch.observe(cluster, open_engine(cluster.member.connect))
    except InputError:  # an error in the connection of the file
        raise
    except Exception as error:  # of an engine, or a defect of one: the other engines are still queried
        return exclude_cluster(cluster, error)


def _require_known_tenants(spec: FleetSpec, plans: Iterable[Plan], path: Path) -> None:
    known = {tenant.name for plan in plans for tenant in plan.tenants}
    named = [("tenants", tenant.name) for tenant in spec.tenants]
    named += [("budgets", budget.tenant) for budget in spec.budgets]
    for field, name in named:
        if name not in known:
            hint = suggest_nearest(name, known)
            raise InputError(f"{path}: {field}: unknown tenant {name!r} in all clusters{f'; {hint}' if hint else ''}")


def _require_known_storage(spec: FleetSpec, plans: Iterable[Plan], path: Path) -> None:
    known = {f"{plan.name}/{storage.name}" for plan in plans for storage in plan.storage}
    for item in spec.data:
        for place in item.at:
            if place not in known:
                raise InputError(f"{path}: data {item.name!r} is at {place!r}, which is not a storage of the fleet")
