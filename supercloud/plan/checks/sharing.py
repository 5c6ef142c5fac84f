"""Checks of how a cluster is shared: slices of accelerators, tenants."""

from __future__ import annotations

from collections.abc import Iterator

from ...catalog import Catalog
from ...errors import Finding, nearest
from ..model import Plan


def mig_profile(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """MIG profiles that an accelerator does not have, or too many of them."""
    for pool in plan.pools:
        if not pool.slicing or not pool.slicing.mig:
            continue
        path = f"pools[{[item.name for item in plan.spec.pools].index(pool.name)}].slicing.mig"
        known = {item.profile: item for item in pool.accelerator.mig} if pool.accelerator else {}
        name = pool.accelerator.name if pool.accelerator else pool.machine.name
        used = 0.0
        for profile, count in pool.slicing.mig.items():
            if profile not in known:
                hint = nearest(profile, known) if known else f"{name} cannot be sliced this way"
                yield Finding(
                    "mig-profile", "error", f"{path}.{profile}", f"{name} has no MIG profile {profile!r}", hint
                )
            elif count > known[profile].max_instances:
                yield Finding(
                    "mig-profile",
                    "error",
                    f"{path}.{profile}",
                    f"{count} instances of {profile}, {name} has room for {known[profile].max_instances}",
                    f"at most {known[profile].max_instances}",
                )
            else:
                used += count / known[profile].max_instances
        # instances of mixed profiles share the same slices; one full set of any profile uses the accelerator up
        if used > 1.0001 and len(pool.slicing.mig) > 1:
            yield Finding(
                "mig-profile",
                "error",
                path,
                f"the profiles together need {used:.0%} of a {name}",
                "take fewer instances",
            )


def shard_capable(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Slices of machines without accelerators."""
    for index, pool in enumerate(plan.pools):
        if not pool.slicing:
            continue
        if not pool.per_node:
            yield Finding(
                "shard-capable",
                "error",
                f"pools[{index}].slicing",
                f"{pool.machine.name} has no accelerator to slice",
                "remove 'slicing'",
            )
        elif (pool.slicing.accelerators or 0) > pool.per_node:
            yield Finding(
                "shard-capable",
                "error",
                f"pools[{index}].slicing.accelerators",
                f"{pool.slicing.accelerators} of {pool.per_node} accelerators",
                f"at most {pool.per_node}",
            )


def tenant_accounting(plan: Plan, catalog: Catalog) -> Iterator[Finding]:
    """Tenants on a Slurm without accounting."""
    if plan.tenants and plan.scheduler.kind == "slurm" and plan.scheduler.database is None:
        yield Finding(
            "tenant-accounting",
            "error",
            "scheduler.accounting",
            f"{len(plan.tenants)} tenants need accounting: shares and limits live in its database",
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
                    f"{limit} {name} of a cluster with {total}",
                    "lower it, or leave it out",
                )
