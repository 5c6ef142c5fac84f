"""The status of a job reported by an engine, as the store keeps it."""

from __future__ import annotations

from dataclasses import dataclass

from ...errors import EngineError
from ...primitives.responses import MAX_TIMESTAMP, MAX_UINT32, is_number, replace_surrogates
from .states import State

__all__ = ["Status"]


@dataclass(frozen=True)
class Status:
    """The status of a job reported by an engine. Raises :class:`EngineError` for a number that the store cannot
    hold.
    """

    state: State
    attempt: int = 0
    """Number of the attempt, from 1, higher after a requeue. 0: not reported by the engine."""
    reason: str = ""
    """Why it waits or how it ended, as a sentence."""
    exit_code: int | None = None
    started: float | None = None
    """Seconds since 1970, as all times here."""
    ended: float | None = None

    def __post_init__(self) -> None:
        bounds = (
            ("attempt", self.attempt, MAX_UINT32),
            ("exit code", self.exit_code, MAX_UINT32),
            ("start", self.started, MAX_TIMESTAMP),
            ("end", self.ended, MAX_TIMESTAMP),
        )
        for name, value, most in bounds:
            if value is not None and not is_number(value, -most, most):
                raise EngineError(f"invalid response: the {name} of a job is {value!r:.40}, not a number up to {most}")
        if (text := replace_surrogates(self.reason)) != self.reason:
            object.__setattr__(self, "reason", text)
