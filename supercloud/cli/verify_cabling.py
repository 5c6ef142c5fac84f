"""``supercloud verify-cabling``: compare the installed cables with the plan."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from .options import JsonOption, SpecFile, require_valid_plan
from .output import escape_line, print_json, print_note, print_result

EPILOG = "Example: supercloud verify-cabling cluster.yaml found.txt · next: fix the cables listed, and compare again"


def verify_cabling(
    spec: SpecFile,
    output: Annotated[
        Path,
        typer.Argument(help="Output of ibnetdiscover, or of LLDP: one file per device, or a folder.", metavar="FOUND"),
    ],
    as_json: JsonOption = False,
) -> None:
    """Compare the installed cables with the plan. Exits 0 if they agree, 1 if they differ, 2 if the input is
    invalid.
    """
    from ..targets.site.cabling.verify import verify_output

    answer = verify_output(require_valid_plan(spec), output)
    if as_json:
        print_json(asdict(answer))
    else:
        for item in answer.differences:
            problem, cause, fix = map(escape_line, (item.problem, item.cause, item.fix))
            print_result(f"{item.kind}: {problem}\n    cause: {cause}\n    → {fix}")
        networks = ", ".join(answer.fabrics)
        print_note(
            f"{len(answer.differences)} differences in {answer.checked} of {answer.links} links of {networks}"
            if answer.differences
            else f"{answer.checked} of {answer.links} links of {networks} checked, all as planned"
        )
    raise typer.Exit(1 if answer.differences else 0)
