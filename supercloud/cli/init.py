"""``supercloud init``: a first spec."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import OutputError
from .output import note, result

EPILOG = "Example: supercloud init cluster.yaml --machine dgx-b200 --nodes 32 · next: supercloud plan cluster.yaml"


def init(
    file: Annotated[Path, typer.Argument(help="File to write.")] = Path("cluster.yaml"),
    name: Annotated[str, typer.Option(help="Name of the cluster.")] = "pod1",
    machine: Annotated[str, typer.Option(help="Machine of the catalog.")] = "dgx-h100",
    nodes: Annotated[int, typer.Option(min=1, help="How many of them.")] = 16,
    location: Annotated[str, typer.Option(help="Where it stands.")] = "stockholm",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a first spec with comments, ready to plan."""
    from ..catalog import Catalog
    from ..primitives.templates import fill
    from ..spec.loader import loads

    facts = Catalog.default()
    of = facts.machine(machine)  # says the nearest name where there is none
    versions = facts.names("slurm")
    adapter = next((item for item in of.adapters if item.role == "compute"), None)
    switches = sorted(
        (switch.name for switch in (facts.switch(item) for item in facts.names("switches"))
         if adapter and switch.kind in ("infiniband",) and switch.radix(adapter.speed)),
    )  # fmt: skip
    kind = "infiniband" if adapter and adapter.kind in ("infiniband", "vpi") and switches else None
    text = fill("init/cluster.yaml.j2", name=name, machine=machine, nodes=nodes, location=location, kind=kind,
                switch=switches[0] if switches else "", version=versions[-1])  # fmt: skip
    loads(text, str(file))  # a name or location that makes no valid spec is refused here, with the place
    if file.exists() and not force:
        raise OutputError(f"{file} is there already; choose another name, or use --force to overwrite it")
    file.write_text(text, encoding="utf-8")
    result(str(file))
    note(f"next: supercloud plan {file}")
