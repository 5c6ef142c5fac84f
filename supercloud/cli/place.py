"""``supercloud place``: where a job would go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import JobFile, Json
from .output import note, result, result_json

if TYPE_CHECKING:
    from ..jobs.fleet.state import Cluster, Fleet
    from ..jobs.placement.place import Placement
    from ..spec import JobSpec

__all__ = ["Live", "On", "place", "where_of"]

EPILOG = "Example: supercloud place job.yaml --on cluster.yaml · next: supercloud submit job.yaml --on cluster.yaml"

On = Annotated[Path, typer.Option("--on", help="The spec of a cluster or of a fleet.", metavar="SPEC")]
Live = Annotated[
    bool, typer.Option("--live", help="Ask the engines of a fleet what is free now; its file says how, under connect:.")
]


def place(
    job: JobFile,
    on: On,
    live: Live = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say what it costs and how its groups lie.")] = False,
    as_json: Json = False,
) -> None:
    """Say where a job would go: pool, nodes, what must be near what. Exit code 2 where nothing can have it."""
    from ..jobs import Placement
    from ..jobs import place as decide
    from ..jobs.fleet.state import Fleet
    from ..jobs.job_rules import check
    from ..spec.loader import load_job

    asked = load_job(job).model
    check(asked)
    where = where_of(on, live)
    answer = decide(asked, where)
    if isinstance(answer, Placement):
        if as_json:
            result_json(asdict(answer))
        else:
            result(f"{answer.cluster}: {answer}" if isinstance(where, Fleet) else str(answer))
            for line in _explained(answer) if explain else ():
                result(line)
            _note_awaited(asked)
            note(f"next: supercloud submit {job} --on {on}")
        return
    if as_json:
        result_json([asdict(refusal) for refusal in answer])
    else:
        for refusal in answer:
            result(str(refusal))
        name = where.spec.name if isinstance(where, Fleet) else where.plan.name
        note(f"no pool of {name} can have it" + (" now" if live else ""))
    raise typer.Exit(2)


def _note_awaited(job: JobSpec) -> None:
    """Say which jobs it waits for are not there: it may be placed before they are submitted, not submitted itself."""
    from ..errors import InputError, StoreError
    from ..jobs.api import check_after

    try:
        check_after(job)
    except InputError as error:
        for finding in error.findings:
            note(f"warning: {finding}")
    except StoreError as error:
        note(f"warning: whether the jobs it waits for are there is not known: {error}")


def where_of(on: Path, live: bool) -> Cluster | Fleet:
    """The cluster or the fleet of a file, as planned or as its engines see it."""
    from ..errors import InputError
    from ..jobs.engines.base import open_engine
    from ..jobs.fleet.state import fleet_of
    from ..jobs.store.database import state_folder

    fleet = fleet_of(on, (lambda connection: open_engine(connection, state_folder())) if live else None)
    if live and not any(cluster.member.connect for cluster in fleet.clusters):
        raise InputError(
            f"{on}: --live asks the clusters of a fleet, and no cluster here says how it is reached; write a "
            "file of a fleet: {name: NAME, clusters: [{spec: FILE, connect: {engine: slurm, via: ssh:HOST}}]}"
        )
    alone = len(fleet.clusters) == 1 and fleet.clusters[0].member.spec == on.name
    return fleet.clusters[0] if alone else fleet


def _taken(domains: tuple[tuple[str, int], ...]) -> Iterator[str]:
    """Nodes of each domain; where there are many, neighbours that give as many are told together."""
    if len(domains) <= 8:
        yield from (f"{nodes} of {name}" for name, nodes in domains)
        return
    for nodes, run in groupby(domains, key=lambda item: item[1]):
        names = [name for name, _ in run]
        yield (
            f"{nodes} of {names[0]}" if len(names) == 1 else f"{nodes} each of {len(names)}: {names[0]} to {names[-1]}"
        )


def _explained(at: Placement) -> Iterator[str]:
    """What else was decided, a line each."""
    from ..primitives.quantity import Carbon

    if at.domains:
        yield "takes    " + ", ".join(_taken(at.domains))
    if at.shape:
        yield "box      " + " × ".join(map(str, at.shape)) + " nodes"
    for span in at.spans:
        yield (f"{span.axis:<8} {span.count} groups of {span.size}, each fits one {span.needs}, "
               f"spans {span.worst} at most, {span.mean:g} on average")  # fmt: skip
    if at.memory:
        yield f"memory   {at.memory}"
    if not at.fits_now:
        yield "wait     " + ("nobody knows how long" if at.wait is None else f"{at.wait / 3600:.1f} h")
    if at.begin:
        yield f"begin    in {at.begin / 3600:.1f} h, when energy is cleaner"
    if at.price is not None:
        moved = f", and {at.egress:.2f} USD to move {', '.join(at.moved)}" if at.moved else ""
        yield f"price    {at.price:.2f} USD/h{moved}"
    if at.carbon is not None:
        yield f"carbon   {Carbon(at.carbon, 'gCO2e')} at full power"
    if at.checkpoint_every:
        yield f"save     every {at.checkpoint_every} s, proposed by Daly's formula"
