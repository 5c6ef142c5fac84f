"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..plan.model.plan import Plan

__all__ = ["LARGEST", "Cluster", "JobFile", "JobId", "Json", "SpecFile", "plan_of", "usable_plan_of"]

SpecFile = Annotated[Path, typer.Argument(help="The cluster's spec, YAML or JSON.", metavar="SPEC")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def plan_of(spec: Path) -> Plan:
    """The plan of a spec's file, findings and all."""
    from ..plan.resolve import resolve
    from ..spec.loader import load

    return resolve(load(spec))


JobFile = Annotated[Path, typer.Argument(help="The job, YAML or JSON.", metavar="JOB")]
Cluster = Annotated[Path, typer.Option("--on", help="The cluster's spec.", metavar="SPEC")]
LARGEST = 2**63 - 1
"""The largest number of a job, or of rows, that the store can be asked for."""
JobId = Annotated[
    int, typer.Argument(min=1, max=LARGEST, help="The job's number, as 'supercloud jobs' shows it.", metavar="ID")
]


def usable_plan_of(spec: Path) -> Plan:
    """The plan of a spec's file; raises with its errors when there are any."""
    from ..errors import InputError

    plan = plan_of(spec)
    if plan.errors:
        raise InputError(f"{spec}: no job can be placed on a plan with errors", plan.errors)
    return plan
