"""Failure rates of nodes, as published by operators of large clusters."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ..spec.base import Count, Number, Text
from .fact import CatalogEntry

__all__ = ["FailureRate"]


class FailureRate(CatalogEntry):
    """Failures that end a job, for each node and day."""

    operator: Text
    accelerator: Text | None = None
    per_node_day: Annotated[Number, Field(gt=0, le=1)]
    node_accelerators: Count
    """Accelerators per node."""
    failures: Count | None = None
    """Number of failures from which the rate was computed."""
