"""Arguments and options that several verbs share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..plan.model import Plan

__all__ = ["Json", "SpecFile", "plan_of"]

SpecFile = Annotated[Path, typer.Argument(help="The cluster's spec, YAML or JSON.", metavar="SPEC")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]


def plan_of(spec: Path) -> Plan:
    """The plan of a spec's file, findings and all."""
    from ..plan.resolve import resolve
    from ..spec.loader import load

    return resolve(load(spec))
