"""Checks of shared use of a cluster: slices of accelerators, tenants."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from ...catalog import Catalog
from ...catalog.accelerator import MigProfile
from ...errors import Finding, suggest_nearest
from ...primitives.quantity import Size
from ..model.plan import Plan

_ROUNDING = Size("0.5 GiB")


def mig_profile(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """MIG profiles that an accelerator does not have, or too many of them."""
    for pool in plan.pools:
        if not pool.slicing or not pool.slicing.mig:
            continue
        path = f"pools[{[item.name for item in plan.spec.pools].index(pool.name)}].slicing.mig"
        known = {item.profile: item for item in pool.accelerator.mig} if pool.accelerator else {}
        name = pool.accelerator.name if pool.accelerator else pool.machine.name
        used: dict[MigProfile, int] = {}
        for profile, count in pool.slicing.mig.items():
            if profile not in known:
                hint = suggest_nearest(profile, known) if known else f"{name} cannot be sliced this way"
                yield Finding(
                    "mig-profile", "error", f"{path}.{profile}", f"{name} has no MIG profile {profile!r}", hint
                )
            elif count > known[profile].max_instances:
                yield Finding(
                    "mig-profile",
                    "error",
                    f"{path}.{profile}",
                    f"{count} instances of {profile}: {name} supports {known[profile].max_instances}",
                    f"set at most {known[profile].max_instances}",
                )
            else:
                used[known[profile]] = count
        for need in _iter_excesses(used, list(known.values())):
            yield Finding(
                "mig-profile", "error", path, f"the profiles together require {need} of a {name}", "use fewer instances"
            )


def _iter_excesses(used: dict[MigProfile, int], profiles: list[MigProfile]) -> Iterator[str]:
    """The excesses of instances of several profiles: compute slices (the number before the g) and memory. The largest
    of profile is the whole of both.
    """
    slices = sum(count * _count_slices(profile) for profile, count in used.items())
    whole = max(map(_count_slices, profiles), default=0)
    if slices > whole:
        yield f"{slices} compute slices, {slices - whole} more than the {whole}"
    # profile names have memory in whole gigabytes: up to half of one is rounding
    memory = sum(((profile.memory.base - _ROUNDING.base) * count for profile, count in used.items()), start=Fraction(0))
    most = max((profile.memory.base for profile in profiles), default=Fraction(0))
    if memory > most:
        needed = Size.from_base(memory + _ROUNDING.base * sum(used.values()))
        yield f"{needed} of memory, {needed - Size.from_base(most)} more than the {Size.from_base(most)}"


def _count_slices(profile: MigProfile) -> int:
    return int(profile.profile.partition("g.")[0])


def slicing_support(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Slices of machines without accelerators."""
    for index, pool in enumerate(plan.pools):
        if not pool.slicing:
            continue
        if not pool.accelerators_per_node:
            yield Finding(
                "slicing-support",
                "error",
                f"pools[{index}].slicing",
                f"{pool.machine.name} has no accelerators to slice",
                "remove 'slicing'",
            )
        elif (pool.slicing.accelerators or 0) > pool.accelerators_per_node:
            yield Finding(
                "slicing-support",
                "error",
                f"pools[{index}].slicing.accelerators",
                f"{pool.slicing.accelerators} of {pool.accelerators_per_node} accelerators",
                f"set at most {pool.accelerators_per_node}",
            )


def tenant_accounting(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Tenants on a Slurm without accounting."""
    if plan.tenants and plan.scheduler.kind == "slurm" and plan.scheduler.database is None:
        yield Finding(
            "tenant-accounting",
            "error",
            "scheduler.accounting",
            f"{len(plan.tenants)} tenants require accounting: shares and limits are stored in its database",
            "set accounting: true, or remove the tenants",
        )


def tenant_limits(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Limits larger than the cluster."""
    for index, tenant in enumerate(plan.tenants):
        for name, limit, total in (
            ("accelerators", tenant.limits.accelerators, plan.accelerators),
            ("nodes", tenant.limits.nodes, plan.nodes),
        ):
            if limit is not None and limit > total:
                yield Finding(
                    "tenant-limits",
                    "warning",
                    f"tenants[{index}].limits.{name}",
                    f"limit of {limit} {name} in a cluster with {total}",
                    "lower it, or omit it",
                )
