"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..plan.model.plan import Plan

__all__ = [
    "MAX_JOB_ID",
    "ClusterOption",
    "JobFile",
    "JobId",
    "JsonOption",
    "SpecFile",
    "load_plan",
    "require_valid_plan",
]

SpecFile = Annotated[Path, typer.Argument(help="The cluster's spec, YAML or JSON.", metavar="SPEC")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def load_plan(spec: Path) -> Plan:
    """The plan of a spec's file, findings and all."""
    from ..plan.resolve import resolve
    from ..spec.loader import load

    return resolve(load(spec))


JobFile = Annotated[Path, typer.Argument(help="The job, YAML or JSON.", metavar="JOB")]
ClusterOption = Annotated[Path, typer.Option("--on", help="The cluster's spec.", metavar="SPEC")]
MAX_JOB_ID = 2**63 - 1
"""The largest number of a job, or of rows, that the store can be asked for."""
JobId = Annotated[
    int, typer.Argument(min=1, max=MAX_JOB_ID, help="The job's number, as 'supercloud jobs' shows it.", metavar="ID")
]


def require_valid_plan(spec: Path) -> Plan:
    """The plan of a spec's file; raises with its errors when there are any."""
    from ..errors import InputError

    plan = load_plan(spec)
    if plan.errors:
        raise InputError(f"{spec}: no job can be placed on a plan with errors", plan.errors)
    return plan
