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
    nodes: Natural | None = None
    jobs: Natural | None = None
    """Jobs that run at one time."""
    submitted: Natural | None = None
    """Jobs that run or wait."""
    max_time: Duration | None = None


class Tenant(Model):
    """A group of users with a share of the cluster."""

    name: Name
    share: Natural = 1
    """Weight among all tenants."""
    priority: Priority = "normal"
    """The highest priority its jobs may have."""
    users: tuple[UserName, ...] = ()
    limits: TenantLimits = TenantLimits()
    borrow: Flag = True
    """Whether it may use what others leave idle."""


class Budget(Model):
    """Money a tenant may spend in a period."""

    tenant: Name
    per: Literal["day", "week", "month", "quarter", "year"] = "month"
    limit: Money
