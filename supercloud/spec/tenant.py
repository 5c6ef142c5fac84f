"""Users of the cluster: tenants with shares, priorities and limits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Duration, Money
from .base import MAX_CHOICES, MAX_USERS, Flag, Model, Name, Natural, Text
from .hints import LOGIN_PROBLEM, register_pattern, suggest_name

__all__ = ["Budget", "TenantLimits", "Priority", "Tenant"]

Priority = Literal["low", "normal", "high"]
_USER_PATTERN = register_pattern(r"^[a-z_][a-z0-9_.-]*\$?$", LOGIN_PROBLEM, suggest_name)
UserName = Annotated[str, Field(pattern=_USER_PATTERN, max_length=32)]


class TenantLimits(Model):
    """Limits of the concurrent use of a tenant."""

    accelerators: Natural | None = None
    """Accelerators in use; empty means no limit. Example: ``256``."""
    nodes: Natural | None = None
    """Nodes in use; empty means no limit. Example: ``32``."""
    jobs: Natural | None = None
    """Running jobs; empty means no limit. Example: ``100``."""
    submitted: Natural | None = None
    """Running and pending jobs; empty means no limit. Example: ``1000``."""
    max_time: Duration | None = None
    """Maximum time limit of a job; empty means no limit. Example: ``2 d``."""


class Tenant(Model):
    """A group of users with a share of the cluster."""

    name: Name
    """Name of the tenant: accounts, queues and namespaces are derived from it. Example: ``research``."""
    share: Natural = 1
    """Weight among all tenants. Example: ``3``."""
    priority: Priority = "normal"
    """Highest priority of its jobs. Example: ``high``."""
    users: Annotated[tuple[UserName, ...], Field(max_length=MAX_USERS)] = ()
    """Its users, by their login names; empty means none. Example: ``[alice, bob]``."""
    principals: Annotated[tuple[Text, ...], Field(max_length=MAX_CHOICES)] = ()
    """Kubernetes on clouds only: existing roles and users of the cloud that are members of the tenant, by their
    identifiers; empty means none. Example: ``[arn:aws:iam::111122223333:role/research]``."""
    limits: TenantLimits = TenantLimits()
    """Limits of concurrent use; empty means no limit. Example: ``{accelerators: 256, jobs: 100}``."""
    borrow: Flag = True
    """Whether it may borrow idle resources of other tenants."""


class Budget(Model):
    """Maximum spending of a tenant in a period."""

    tenant: Name
    """The tenant whose spending is limited. Example: ``research``."""
    per: Literal["day", "week", "month", "quarter", "year"] = "month"
    """Period after which the budget is renewed."""
    limit: Money
    """Maximum spending in the period. Example: ``50000 USD``."""
