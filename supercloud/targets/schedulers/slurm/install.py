"""INSTALL.md: what goes where, who starts first, and how to see that it works."""

from __future__ import annotations

from ....plan.model import Plan
from ....primitives.templates import fill
from .conf import head
from .given import is_dynamic, release_of, slurm_of

__all__ = ["install_text"]


def install_text(plan: Plan, files: list[str]) -> str:
    """The way from the bundle to a running cluster."""
    first = plan.pools[0]
    return fill(
        "slurm/INSTALL.md.j2",
        head=head(plan.name).removeprefix("# "),
        plan=plan,
        release=release_of(plan),
        slurm=slurm_of(plan),
        dynamic=is_dynamic(plan),
        files=sorted(files),
        node=next(iter(first.hosts.part(0, 1))),
        sliced=[pool.name for pool in plan.pools if pool.slicing and pool.slicing.mig],
        unnamed=[tenant.name for tenant in plan.tenants if not tenant.users],
    )
