"""``supercloud report``: a cluster as one HTML page."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..primitives.counts import format_count
from .options import JsonOption, SpecFile, load_plan
from .output import print_findings, print_json, print_note, print_result

_PAGE_START = b"<!doctype html>"

EPILOG = "Example: supercloud report cluster.yaml -o report.html · next: open it in a browser"


def report(
    spec: SpecFile,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write. Default: <name>.html.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Also write each picture as SVG into this folder.")] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace a file that is not a page, or a folder of pictures with other files."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the report of a cluster, one self-contained page: rows, racks, fabrics, power, cooling, cost, findings.

    If there are errors, it is written too, and they are printed on stderr. Exits 2 if there are errors.
    """
    from ..errors import OutputError
    from ..primitives.bundle import Bundle
    from ..primitives.output import write_file
    from ..targets.report import render_pictures
    from ..targets.report import render_report as page_of

    decided = load_plan(spec)
    page = out or Path(f"{decided.name}.html")
    if page.is_dir():
        raise OutputError(f"{page} is a directory; specify a file, such as {page / 'report.html'}")
    _refuse_other_file(page, spec, force)
    text = page_of(decided)
    write_file(page, text)
    drawn = Bundle(render_pictures(decided)) if svg else Bundle({})
    if svg:
        drawn.write(svg, force=force, source=spec)
    if as_json:
        print_json(
            {"page": str(page), "bytes": len(text.encode()), "pictures": [str(svg / p) for p in drawn] if svg else []}
            | {"errors": [asdict(finding) for finding in decided.errors]}
        )
    else:
        print_result(str(page))
        print_note(
            f"{len(text.encode()) / 1e6:.2f} MB"
            + (f" and {len(drawn)} pictures" if svg else "")
            + ("" if decided.errors else f" · next: open {page}")
        )
        if decided.errors:
            print_findings(decided.errors, sys.stderr)
            print_note(f"{format_count(len(decided.errors), 'error')} · fix {spec.name} and run report again")
    raise typer.Exit(2 if decided.errors else 0)


def _refuse_other_file(page: Path, spec: Path, force: bool) -> None:
    """Raise OutputError if the file to write exists and is not a page; never replace the spec."""
    from ..errors import OutputError

    if not page.is_file():
        return
    if page.samefile(spec):
        raise OutputError(f"{page} is the spec; choose another output file")
    with open(page, "rb") as file:
        is_page = file.read(len(_PAGE_START)).lower() in (_PAGE_START, b"")
    if not is_page and not force:
        raise OutputError(f"{page} exists and is not an HTML page; choose another output file, or use --force")
