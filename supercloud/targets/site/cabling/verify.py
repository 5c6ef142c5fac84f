"""Verification of the cabling with discovery output."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ....errors import InputError
from ....plan.model.plan import Plan
from .compare import compare, count_checked_links
from .comparison import Difference
from .planned import build_planned_links
from .readers import read_output

__all__ = ["VerificationResult", "verify_output"]


@dataclass(frozen=True)
class VerificationResult:
    """The result of a comparison."""

    fabrics: tuple[str, ...]
    links: int
    """Links of the plan in these fabrics."""
    checked: int
    """The number of these that the output would include."""
    differences: tuple[Difference, ...]


def verify_output(plan: Plan, output: Path) -> VerificationResult:
    """Compare discovery output with the plan. Raises InputError if it cannot be read."""
    if not output.exists():
        raise InputError(f"{output}: no such file or directory")
    seen = read_output(output)
    planned = build_planned_links(plan, seen)
    differences = compare(planned, seen)
    return VerificationResult(
        tuple(planned.fabrics), len(planned.ends), count_checked_links(planned, seen), tuple(differences)
    )
