"""Arguments and options shared by several subcommands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .output import request_json_errors

if TYPE_CHECKING:
    from ..plan.model.plan import Plan
    from ..spec.loader import LoadedSpec

__all__ = [
    "MAX_JOB_ID",
    "ClusterOption",
    "JobFile",
    "JobId",
    "JsonOption",
    "SpecFile",
    "add_locations",
    "load_plan",
    "parse_job_id",
    "require_valid_plan",
]

SpecFile = Annotated[Path, typer.Argument(help="The cluster's spec, YAML or JSON.", metavar="SPEC")]


def _accept_json(context: typer.Context, is_requested: bool) -> bool:
    """Let errors of a spec, fleet or job be printed as JSON too, in the form that the findings of the command have."""
    request_json_errors(is_requested, as_list=context.info_name == "check")
    return is_requested


JsonOption = Annotated[bool, typer.Option("--json", callback=_accept_json, help="Print JSON.")]


def load_plan(spec: Path) -> Plan:
    """The plan of a spec file, including findings."""
    from ..plan.resolve import resolve
    from ..spec.loader import load

    return resolve(load(spec))


@contextmanager
def add_locations(loaded: LoadedSpec[Any]) -> Iterator[None]:
    """Add the file, and the lines of fields, to the findings of errors that are raised inside this context."""
    from ..errors import InputError

    try:
        yield
    except InputError as error:
        error.findings = tuple(map(loaded.locate, error.findings))
        raise


def format_change_location(loaded: LoadedSpec[Any], change: Mapping[str, object]) -> str:
    """`` (job.yaml:3)``: where the fields of a suggested change are; empty without a change.

    A field that the file does not have is where it would be added: in its mapping.
    """
    from ..errors import Finding

    found = [loaded.locate(Finding("place", "error", path, "", "")) for path in change]
    places = dict.fromkeys(f"{finding.file}:{finding.line}" for finding in found if finding.file)
    return f" ({', '.join(places)})" if places else ""


JobFile = Annotated[Path, typer.Argument(help="The job file, YAML or JSON.", metavar="JOB")]
ClusterOption = Annotated[Path, typer.Option("--on", help="The cluster's spec.", metavar="SPEC")]
MAX_JOB_ID = 2**63 - 1
"""The largest job number, or number of rows, that the store accepts."""


def parse_job_id(text: str) -> int:
    """A job number; raises a usage error for other texts, such as the name of a job, which several jobs can have."""
    if text.isascii() and text.isdigit() and len(text) < 20 and 1 <= int(text) <= MAX_JOB_ID:
        return int(text)
    raise typer.BadParameter(
        f"{text[:80]!r} is not a job number; 'supercloud jobs' lists the numbers and names of jobs"
    )


JobId = Annotated[
    int, typer.Argument(parser=parse_job_id, help="Job number, as shown by 'supercloud jobs'.", metavar="ID")
]


def require_valid_plan(spec: Path) -> Plan:
    """The plan of a spec file; raises InputError with its errors, if any."""
    from ..errors import InputError

    plan = load_plan(spec)
    if plan.errors:
        raise InputError(f"{spec}: jobs cannot be placed on a plan with errors", plan.errors)
    return plan
