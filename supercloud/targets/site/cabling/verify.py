"""From an output to what is wrong with the cables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ....errors import InputError
from ....plan.model.plan import Plan
from .compare import Difference, checked_links, compare
from .planned import planned_for
from .readers import read_output

__all__ = ["Answer", "verify"]


@dataclass(frozen=True)
class Answer:
    """What a comparison found."""

    fabrics: tuple[str, ...]
    links: int
    """Of the plan, in these fabrics."""
    checked: int
    """Of them, those that the output would have shown."""
    differences: tuple[Difference, ...]


def verify(plan: Plan, output: Path) -> Answer:
    """Compare an output with the plan. Raises InputError where it cannot be read."""
    if not output.exists():
        raise InputError(f"{output}: there is no such file")
    seen = read_output(output)
    planned = planned_for(plan, seen)
    differences = compare(planned, seen)
    return Answer(tuple(planned.fabrics), len(planned.ends), checked_links(planned, seen), tuple(differences))
