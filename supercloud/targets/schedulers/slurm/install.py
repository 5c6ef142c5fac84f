"""INSTALL.md: what goes where, who starts first, and how to see that it works."""

from __future__ import annotations

from ....plan.model import Plan
from ....primitives.templates import fill
from .conf import head
from .given import is_dynamic, release_of, slurm_of
from .imex import imex_pools
from .settings import token_settings

__all__ = ["install_text"]

# What does not go into /etc/slurm of every host that reads the configuration.
_ELSEWHERE = ("INSTALL.md", "slurmdbd.conf")


def install_text(plan: Plan, files: list[str]) -> str:
    """The way from the bundle to a running cluster."""
    tokens = bool(token_settings(plan)["AuthAltTypes"])
    nccl = sorted(name for name in files if name.startswith("nccl-"))
    munge = slurm_of(plan).auth != "slurm"
    return fill(
        "slurm/INSTALL.md.j2",
        head=head(plan.name).removeprefix("# "),
        plan=plan,
        release=release_of(plan),
        slurm=slurm_of(plan),
        dynamic=is_dynamic(plan),
        files=sorted(files),
        texts=sorted(name for name in files if name not in (*_ELSEWHERE, *nccl) and not name.endswith(".sh")),
        nccl_files=nccl,
        imex=[pool.name for pool in imex_pools(plan)],
        tokens=tokens,
        jwt_plugin=" slurm-wlm-jwt-plugin" if tokens else "",
        munge_package=" munge" if munge else "",
        sliced=[pool.name for pool in plan.pools if pool.slicing and pool.slicing.mig],
        unnamed=[tenant.name for tenant in plan.tenants if not tenant.users],
    )
