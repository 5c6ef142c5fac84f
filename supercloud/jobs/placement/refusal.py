"""Why a step of placement refuses a job, and the changes of the job that would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["JobChange", "StepRefusal"]

JobChange = Mapping[str, object]
"""Fields of a job by their paths (``accelerators.count``) and their new values; None: omit the field."""


@dataclass(frozen=True, eq=False)
class StepRefusal:
    """The job does not fit the pool: what a step returns in the place of its value."""

    reason: str
    suggestion: str = ""
    """The smallest change that helps, in words."""
    change: JobChange = field(default_factory=dict)
    """That change; empty if it is not one of the job."""
    other: tuple[str, JobChange] | None = None
    """An alternative, in words and as fields; without fields it does not change the job."""

    @property
    def advice(self) -> str:
        """Both alternatives in words, whether or not they are enough."""
        return f"{self.suggestion}, or {self.other[0]}" if self.other else self.suggestion
