"""Who uses the cluster: tenants with shares, priorities and limits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ..primitives.quantity import Duration, Money
from .base import Flag, Model, Name, Natural

__all__ = ["Budget", "TenantLimits", "Priority", "Tenant"]

Priority = Literal["low", "normal", "high"]
UserName = Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_.-]*\$?$", max_length=32)]


class TenantLimits(Model):
    """What a tenant may use at one time."""

    accelerators: Natural | None = None
    """Accelerators in use."""
    nodes: Natural | None = None
    """Nodes in use."""
    jobs: Natural | None = None
    """Jobs that run at one time."""
    submitted: Natural | None = None
    """Jobs that run or wait."""
    max_time: Duration | None = None
    """Longest time limit of a job."""


class Tenant(Model):
    """A group of users with a share of the cluster."""

    name: Name
    """Name of the tenant: accounts, queues and namespaces follow it."""
    share: Natural = 1
    """Weight among all tenants."""
    priority: Priority = "normal"
    """The highest priority its jobs may have."""
    users: tuple[UserName, ...] = ()
    """Its users, by their login names."""
    limits: TenantLimits = TenantLimits()
    """What it may use at one time; empty means no limit."""
    borrow: Flag = True
    """Whether it may use what others leave idle."""


class Budget(Model):
    """Money a tenant may spend in a period."""

    tenant: Name
    """The tenant whose spending is limited."""
    per: Literal["day", "week", "month", "quarter", "year"] = "month"
    """Period after which the budget is whole again."""
    limit: Money
    """The most it may spend in the period."""
