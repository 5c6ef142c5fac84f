"""``supercloud render``: the files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from .options import Json, SpecFile, plan_of
from .output import note, result, result_json

# More files than this are not listed one by one.
_MANY = 100

EPILOG = "Example: supercloud render cluster.yaml --target slurm --out out/pod1 · next: read INSTALL.md in the output"


def render(
    spec: SpecFile,
    target: Annotated[
        list[str] | None, typer.Option(help="What to render; may be repeated. Default: all that apply.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write. Default: out/<name of the cluster>.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a folder that holds other files.")] = False,
    as_json: Json = False,
) -> None:
    """Write the configuration of a cluster into a folder, one subfolder a target."""
    from ..primitives.bundle import Bundle
    from ..targets import render as render_target
    from ..targets import targets_for

    decided = plan_of(spec)
    names = target or targets_for(decided)
    bundle = Bundle({})
    for name in names:
        bundle |= render_target(decided, name).under(name)
    folder = out or Path("out") / decided.name
    bundle.write(folder, force=force)
    if as_json:
        result_json({"folder": str(folder), "files": list(bundle)})
        return
    for line in _listed(bundle, folder):
        result(line)
    note(f"{len(bundle)} files written · next: {_read_first(bundle, folder)}")


def _listed(bundle: Iterable[str], folder: Path) -> list[str]:
    """Every file, or where there are very many each target's folder with their number."""
    paths = list(bundle)
    if len(paths) <= _MANY:
        return [str(folder / path) for path in paths]
    folders = Counter(str(folder / path.split("/")[0]) for path in paths)
    return [f"{name}/ ({count} file{'s' * (count > 1)})" for name, count in folders.items()]


def _read_first(bundle: Iterable[str], folder: Path) -> str:
    guides = [str(folder / path) for path in bundle if path.endswith(("INSTALL.md", "GUIDE.md"))]
    guides.sort(key=lambda path: "slurm" not in path)  # the scheduler's leads through the others
    return f"read {guides[0]}" if guides else "apply them"
