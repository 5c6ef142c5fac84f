"""``supercloud report``: a cluster as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import JsonOption, SpecFile, load_plan
from .output import print_json, print_note, print_result

EPILOG = "Example: supercloud report cluster.yaml -o report.html · next: open it in a browser"


def report(
    spec: SpecFile,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write. Default: <name>.html.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Also write each picture as SVG into this folder.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a folder of pictures that contains other files.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Write the report of a cluster, one self-contained page: rows, racks, fabrics, power, cooling, cost, findings."""
    from ..errors import OutputError
    from ..primitives.bundle import Bundle
    from ..primitives.output import write_file
    from ..targets.report import render_pictures
    from ..targets.report import render_report as page_of

    decided = load_plan(spec)
    page = out or Path(f"{decided.name}.html")
    if page.is_dir():
        raise OutputError(f"{page} is a directory; specify a file, such as {page / 'report.html'}")
    text = page_of(decided)
    write_file(page, text)
    drawn = Bundle(render_pictures(decided)) if svg else Bundle({})
    if svg:
        drawn.write(svg, force=force, source=spec)
    if as_json:
        print_json(
            {"page": str(page), "bytes": len(text.encode()), "pictures": [str(svg / p) for p in drawn] if svg else []}
        )
    else:
        print_result(str(page))
        print_note(
            f"{len(text.encode()) / 1e6:.2f} MB"
            + (f" and {len(drawn)} pictures" if svg else "")
            + f" · next: open {page}"
        )
    raise typer.Exit(2 if decided.errors else 0)
