"""From an output to what is wrong with the cables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ....errors import InputError
from ....plan.model.plan import Plan
from .compare import Difference, compare, count_checked_links
from .planned import build_planned_links
from .readers import read_output

__all__ = ["VerificationResult", "verify_output"]


@dataclass(frozen=True)
class VerificationResult:
    """What a comparison found."""

    fabrics: tuple[str, ...]
    links: int
    """Of the plan, in these fabrics."""
    checked: int
    """Of them, those that the output would have shown."""
    differences: tuple[Difference, ...]


def verify_output(plan: Plan, output: Path) -> VerificationResult:
    """Compare an output with the plan. Raises InputError where it cannot be read."""
    if not output.exists():
        raise InputError(f"{output}: there is no such file")
    seen = read_output(output)
    planned = build_planned_links(plan, seen)
    differences = compare(planned, seen)
    return VerificationResult(
        tuple(planned.fabrics), len(planned.ends), count_checked_links(planned, seen), tuple(differences)
    )
