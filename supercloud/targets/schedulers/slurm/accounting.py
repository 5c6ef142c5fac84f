"""Accounting: slurmdbd.conf, and the tenants' accounts."""

from __future__ import annotations

from dataclasses import dataclass

from ....plan.model.plan import Plan, TenantPlan
from ....spec import SlurmScheduler
from ....spec.tenant import Priority
from .accessors import require_slurm_spec
from .conf import Value, format_duration
from .settings import build_token_settings

__all__ = ["QOS_PRIORITIES", "Account", "build_accounts", "build_qos_levels", "build_slurmdbd_settings"]

# QOS levels, from the least to the most urgent, with their priorities. Slurm normalizes by the
# largest; ``normal`` exists in every fresh database.
QOS_PRIORITIES: dict[Priority, int] = {"low": 0, "normal": 500, "high": 1000}

# Keys that slurm.conf and slurmdbd.conf must agree on (slurmdbd.conf manual page), of those that a user may set.
_SHARED_KEYS = ("TLSType", "TrackWCKey")


def build_slurmdbd_settings(plan: Plan) -> dict[str, Value]:
    """Build slurmdbd.conf. The database is on the same host and authenticates the slurm user by the Unix socket."""
    host = plan.scheduler.database
    assert host is not None, "accounting without a database host"
    return {
        "AuthType": "auth/slurm" if require_slurm_spec(plan).auth == "slurm" else "auth/munge",
        **build_token_settings(plan),
        **_select_shared_options(require_slurm_spec(plan)),
        "DbdHost": host.name,
        "SlurmUser": "slurm",
        "LogFile": "/var/log/slurm/slurmdbd.log",
        "PidFile": "/run/slurmdbd.pid",
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "localhost",
        "StorageUser": "slurm",
        "StorageLoc": "slurm_acct_db",
        "PurgeEventAfter": "12months",
        "PurgeJobAfter": "24months",
        "PurgeResvAfter": "12months",
        "PurgeStepAfter": "6months",
        "PurgeSuspendAfter": "6months",
    }


def _select_shared_options(slurm: SlurmScheduler) -> dict[str, Value]:
    """Those of ``scheduler.options`` that slurmdbd.conf must have too, with the same value."""
    given = {key.lower(): value for key, value in slurm.options.items()}
    return {key: given[key.lower()] for key in _SHARED_KEYS if key.lower() in given}


@dataclass(frozen=True)
class Account:
    """A tenant's account: the values to set, in the form in which sacctmgr shows them."""

    name: str
    share: int
    tres: str
    """GrpTRES as sacctmgr shows it; empty means no limit."""
    jobs: str
    submitted: str
    wall: str
    qos: str
    default_qos: str
    users: tuple[str, ...]


def build_qos_levels(plan: Plan) -> list[tuple[str, int, str]]:
    """Return name, priority, and the preempted levels: all that are less urgent."""
    names: list[str] = list(QOS_PRIORITIES)
    preempts = require_slurm_spec(plan).preemption
    return [
        (name, priority, ",".join(names[:index]) if preempts else "")
        for index, (name, priority) in enumerate(QOS_PRIORITIES.items())
    ]


def build_accounts(plan: Plan) -> list[Account]:
    """Build one account per tenant."""
    return [_build_account(plan, tenant) for tenant in plan.tenants]


def _build_account(plan: Plan, tenant: TenantPlan) -> Account:
    limits = tenant.limits
    allowed = list(QOS_PRIORITIES)[: list(QOS_PRIORITIES).index(tenant.priority) + 1]
    return Account(
        name=tenant.name,
        share=tenant.share,
        tres=",".join(
            f"{name}={number}" for name, number in _compute_tres_limits(plan, tenant).items() if number is not None
        ),
        jobs=_format_limit(limits.jobs),
        submitted=_format_limit(limits.submitted),
        wall=format_duration(limits.max_time) if limits.max_time else "",
        qos=",".join(sorted(allowed)),
        default_qos="normal" if "normal" in allowed else allowed[-1],
        users=tenant.users,
    )


def _compute_tres_limits(plan: Plan, tenant: TenantPlan) -> dict[str, int | None]:
    """Return a tenant's limits; one that must not borrow is limited to its own share."""
    gpus, nodes = tenant.limits.accelerators, tenant.limits.nodes
    if not tenant.can_borrow and plan.accelerators:
        own = int(plan.accelerators * tenant.fraction)
        gpus = own if gpus is None else min(gpus, own)
    elif not tenant.can_borrow:
        own = int(plan.nodes * tenant.fraction)
        nodes = own if nodes is None else min(nodes, own)
    return {"gres/gpu": gpus if plan.accelerators else None, "node": nodes}


def _format_limit(number: int | None) -> str:
    return "" if number is None else str(number)
