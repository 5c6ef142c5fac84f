"""Checks of functions that a Slurm release lacks, with the releases that have them: computed from the catalog data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...catalog import Catalog, SlurmRelease
from ...errors import Finding, suggest_nearest
from ..model.plan import Plan
from . import slurm_setup
from .paths import find_pool_path
from .slurm_setup import iter_slurm

__all__ = ["CHECKS", "find_oldest_release"]

# A required property of a release.
ReleasePredicate = Callable[[SlurmRelease], bool]


def find_oldest_release(releases: Iterable[SlurmRelease], predicate: ReleasePredicate) -> str | None:
    """The name of the oldest release that meets a condition."""
    return next((item.name for item in sorted(releases, key=_build_sort_key) if predicate(item)), None)


def _build_sort_key(release: SlurmRelease) -> tuple[int, ...]:
    return tuple(map(int, release.name.split(".")))


def _iter_releases(catalog: Catalog) -> Iterator[SlurmRelease]:
    return catalog.iter_entries(SlurmRelease)


def _match_topology(kind: str) -> ReleasePredicate:
    return lambda release: kind in release.abilities.topologies


def _match_auth(kind: str) -> ReleasePredicate:
    return lambda release: kind in release.abilities.auth


def _match_key(key: str) -> ReleasePredicate:
    return lambda release: key.lower() in {name.lower() for name in release.keys.slurm}


def _suggest_release(catalog: Catalog, predicate: ReleasePredicate, alternative: str) -> str:
    """The hint: the oldest release with the function, or the newest if later ones lack it again, or an alternative."""
    releases = sorted(_iter_releases(catalog), key=_build_sort_key)
    able_ones = [item for item in releases if predicate(item)]
    if not able_ones:
        return alternative
    if able_ones == releases[-len(able_ones) :]:
        return f"set scheduler.version to {able_ones[0].name} or later, or {alternative}"
    return f"set scheduler.version to {able_ones[-1].name}, or {alternative}"


def slurm_option_unknown(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A key set by hand that the release's parser does not support: one such key stops every daemon and command."""
    for slurm, release in iter_slurm(plan):
        for key in slurm.options:
            if _match_key(key)(release):
                continue
            newer = find_oldest_release(_iter_releases(catalog), _match_key(key))
            hint = f"Slurm {newer} supports it" if newer else suggest_nearest(key, release.keys.slurm)
            yield Finding(
                "slurm-option-unknown",
                "error",
                f"scheduler.options.{key}",
                f"Slurm {release.name} does not support {key}",
                hint,
            )


def slurm_option_value(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A value with a quotation mark: slurm.conf cannot escape it, and the text after it is parsed as further keys."""
    for slurm, _ in iter_slurm(plan):
        for key, value in slurm.options.items():
            if '"' in value:
                yield Finding(
                    "slurm-option-value",
                    "error",
                    f"scheduler.options.{key}",
                    f"{value!r} has a quotation mark, which slurm.conf does not support within a value",
                    "omit it: values with spaces are quoted when they are rendered",
                )


def slurm_auth(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """An authentication type that the release does not have."""
    for slurm, release in iter_slurm(plan):
        if slurm.auth and slurm.auth not in release.abilities.auth:
            yield Finding(
                "slurm-auth",
                "error",
                "scheduler.auth",
                f"Slurm {release.name} has no auth/{slurm.auth}",
                _suggest_release(catalog, _match_auth(slurm.auth), "omit scheduler.auth to use munge"),
            )


def slurm_container_tmp(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Jobs on one node that share /tmp, because the release has no tested plugin for a private /tmp."""
    for _, release in iter_slurm(plan):
        if not release.abilities.container_tmp:
            untried = release.abilities.container_tmp_untried
            more = f"; {untried} of {release.name} may prevent it too, which was not tested" if untried else ""
            yield Finding(
                "slurm-container-tmp",
                "note",
                "scheduler.version",
                f"with Slurm {release.name} jobs on one node share /tmp and /dev/shm",
                _suggest_release(catalog, lambda other: bool(other.abilities.container_tmp), "let jobs use TMPDIR")
                + more,
            )


def slurm_topology(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A requested topology that is not available: the release lacks it, or nothing in the cluster has this shape."""
    for slurm, release in iter_slurm(plan):
        asked = [("scheduler.topology", slurm.topology)]
        for index, partition in enumerate(slurm.partitions):
            asked.append((f"scheduler.partitions[{index}].topology", partition.topology))
        for path, kind in asked:
            if kind is None:
                continue
            if kind not in release.abilities.topologies:
                hint = _suggest_release(catalog, _match_topology(kind), "choose another topology")
                yield Finding("slurm-topology", "error", path, f"Slurm {release.name} has no topology/{kind}", hint)
            elif kind != "flat" and kind not in {locality.kind for locality in plan.localities}:
                there = ", ".join(sorted({locality.kind for locality in plan.localities} | {"flat"}))
                yield Finding(
                    "slurm-topology",
                    "error",
                    path,
                    f"no pool or fabric gives the cluster a {kind} topology",
                    f"available: {there}",
                )


def slurm_topology_choice(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A partition that chooses its own topology where the release has one for the whole cluster."""
    for slurm, release in iter_slurm(plan):
        if release.abilities.topology_yaml:
            return
        able = [locality.kind for locality in plan.localities if locality.kind in release.abilities.topologies]
        default = slurm.topology or next(iter(able), "flat")
        for index, partition in enumerate(slurm.partitions):
            if partition.topology and partition.topology != default:
                yield Finding(
                    "slurm-topology-choice",
                    "error",
                    f"scheduler.partitions[{index}].topology",
                    f"Slurm {release.name} has one topology for all partitions, here {default}",
                    _suggest_release(catalog, lambda item: item.abilities.topology_yaml, "omit it"),
                )


def slurm_topology_unsupported(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Locality of the cluster that no topology was set for and that the release does not support."""
    for slurm, release in iter_slurm(plan):
        for locality in plan.localities if plan.site.kind == "onprem" else ():
            if slurm.topology or locality.kind in ("flat", *release.abilities.topologies):
                continue
            yield Finding(
                "slurm-topology-unsupported",
                "warning",
                "scheduler.version",
                f"Slurm {release.name} has no topology/{locality.kind}: jobs are placed without regard to "
                f"{locality.name}",
                _suggest_release(catalog, _match_topology(locality.kind), "accept it"),
            )


def slurm_block_incomplete(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """A scale-up domain that is not full: jobs that request whole segments cannot use it."""
    for slurm, release in iter_slurm(plan):
        for locality in plan.localities:
            if locality.kind != "block" or "block" not in release.abilities.topologies:
                continue
            short = [group for group in locality.levels[0].groups if len(group.hosts) < locality.block_nodes]
            if not short:
                continue
            group, able = short[0], release.abilities.short_blocks
            more = f" and {len(short) - 1} more" if len(short) > 1 else ""
            problem = f"domain {group.name} has {len(group.hosts)} of {locality.block_nodes} nodes{more}"
            if able:
                yield Finding(
                    "slurm-block-incomplete",
                    "note",
                    "pools",
                    f"{problem}; whole segments do not fit in it",
                    f"set nodes to a multiple of {locality.block_nodes}",
                )
            else:
                yield Finding(
                    "slurm-block-incomplete",
                    "error" if slurm.topology == "block" else "warning",
                    "pools",
                    f"{problem}: Slurm {release.name} supports full blocks only, so some nodes are in none",
                    _suggest_release(
                        catalog,
                        lambda item: item.abilities.short_blocks,
                        f"set nodes to a multiple of {locality.block_nodes}",
                    ),
                )


def slurm_imex(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Memory shared between nodes with a release that does not allocate IMEX channels."""
    for _, release in iter_slurm(plan):
        if release.abilities.imex:
            return
        for pool in plan.pools:
            if pool.has_imex:
                asked = any(item.imex for item in plan.spec.pools if item.name == pool.name)
                yield Finding(
                    "slurm-imex",
                    "error" if asked else "warning",
                    f"{find_pool_path(plan, pool)}.imex",
                    f"Slurm {release.name} has no switch/nvidia_imex: jobs of several nodes get no channel of their "
                    "own for shared memory",
                    _suggest_release(
                        catalog, lambda item: item.abilities.imex, "set imex: false and start IMEX manually"
                    ),
                )


def slurm_metrics(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Metrics and private data with a release that supports only one of them at a time."""
    for slurm, release in iter_slurm(plan):
        if release.abilities.metrics != "public":
            continue
        by_hand = {key.lower(): key for key in slurm.options}
        path = f"scheduler.options.{by_hand.get('metricstype')}"
        safe = _suggest_release(catalog, lambda other: other.abilities.metrics == "authenticated", "omit MetricsType")
        if "metricstype" not in by_hand:
            continue  # private data are the default and need no finding
        if "privatedata" in by_hand:
            yield Finding(
                "slurm-metrics",
                "error",
                path,
                f"Slurm {release.name} provides no metrics if PrivateData is set, but scheduler.options sets both",
                safe,
            )
        else:
            yield Finding(
                "slurm-metrics",
                "warning",
                path,
                f"for the metrics of Slurm {release.name} PrivateData is omitted from slurm.conf: every user sees the "
                "jobs of all tenants, and everyone who can reach the controllers can read the metrics",
                safe,
            )


def slurm_mig(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Slices that the release cannot detect."""
    for _, release in iter_slurm(plan):
        for pool in plan.pools:
            if not (pool.slicing and pool.slicing.mig and pool.accelerator):
                continue
            if pool.accelerator.autodetect != "nvml" or "nvml" not in release.abilities.autodetect:
                yield Finding(
                    "slurm-mig",
                    "error",
                    f"{find_pool_path(plan, pool)}.slicing.mig",
                    f"{pool.accelerator.name} has no slices that Slurm can detect",
                    "use shards, or no slicing",
                )


CHECKS = (
    slurm_auth,
    slurm_block_incomplete,
    slurm_container_tmp,
    slurm_imex,
    slurm_metrics,
    slurm_mig,
    slurm_option_unknown,
    slurm_option_value,
    slurm_topology,
    slurm_topology_choice,
    slurm_topology_unsupported,
    *slurm_setup.CHECKS,
)
