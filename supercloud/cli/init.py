"""``supercloud init``: write a first spec."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ..errors import InputError, OutputError
from .output import print_note, print_result

EPILOG = "Example: supercloud init cluster.yaml --machine dgx-b200 --nodes 32 · next: supercloud plan cluster.yaml"

_NODES = 16
"""Default number of nodes."""


def init(
    file: Annotated[Path, typer.Argument(help="File to write.")] = Path("cluster.yaml"),
    name: Annotated[str, typer.Option(help="Name of the cluster.")] = "pod1",
    machine: Annotated[str, typer.Option(help="Machine of the catalog, or of a cloud.")] = "dgx-h100",
    nodes: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=f"Number of nodes. Default: one rack of a machine that is sold as a rack, else {_NODES}; with "
            f"InfiniBand {_NODES - 1}, so that leaves keep ports for the hosts of the subnet manager.",
        ),
    ] = None,
    location: Annotated[str | None, typer.Option(help="Location of an on-prem cluster (default: stockholm).")] = None,
    region: Annotated[
        str | None, typer.Option(help="Cloud region (default: the cheapest that offers the machine).")
    ] = None,
    scheduler: Annotated[Literal["slurm", "kubernetes"], typer.Option(help="Scheduler of the cluster.")] = "slurm",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a first spec with comments, ready to plan."""
    from ..catalog import Catalog, Machine
    from ..primitives.output import write_file
    from . import first_spec

    if file.suffix not in ("", ".yaml", ".yml"):
        raise OutputError(f"{file}: the spec is written as YAML, not as {file.suffix}; use {file.with_suffix('.yaml')}")
    facts = Catalog.load_default()
    of = facts.get(Machine, machine)  # an unknown name raises with the nearest one
    where = of.provider
    for flag, value, fits in (("--location", location, where == "onprem"), ("--region", region, where != "onprem")):
        if value and not fits:
            other = "--location LOCATION" if where == "onprem" else "--region REGION"
            raise InputError(
                f"{flag} {value}: {machine} is {of.kind_of_site}; use {other}, or --machine with "
                f"{'a machine of a cloud' if where == 'onprem' else 'an on-prem machine'} (supercloud catalog machines)"
            )
    ways = first_spec.list_spec_options(facts, of, location, region)
    fixed = {
        "name": name,
        "machine": machine,
        "nodes": nodes or first_spec.compute_default_nodes(of, ways, _NODES),
        "provider": where,
        "scheduler": scheduler,
        "version": first_spec.select_version(facts, scheduler, where),
    }
    text, open_points = first_spec.render_best_spec([fixed | way for way in ways], str(file), facts)
    if file.exists() and not force:
        raise OutputError(f"{file} already exists; choose another name, or overwrite it with --force")
    write_file(file, text)
    print_result(str(file))
    if open_points:
        print_note(open_points)
    print_note(f"next: supercloud plan {file}")
