"""``supercloud place``: where a job would go."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import JobFile, JsonOption
from .output import print_json, print_note, print_result

if TYPE_CHECKING:
    from ..jobs.fleet.state import Cluster, Fleet
    from ..jobs.placement.place import Placement
    from ..spec import JobSpec

__all__ = ["LiveOption", "DestinationOption", "place", "load_destination"]

EPILOG = "Example: supercloud place job.yaml --on cluster.yaml · next: supercloud submit job.yaml --on cluster.yaml"

DestinationOption = Annotated[Path, typer.Option("--on", help="The spec of a cluster or of a fleet.", metavar="SPEC")]
LiveOption = Annotated[
    bool, typer.Option("--live", help="Ask the engines of a fleet what is free now; its file says how, under connect:.")
]


def place(
    job: JobFile,
    on: DestinationOption,
    live: LiveOption = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say what it costs and how its groups lie.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say where a job would go: pool, nodes, what must be near what. Exit code 2 where nothing can have it."""
    from ..jobs import Placement
    from ..jobs import place as decide
    from ..jobs.fleet.state import Fleet
    from ..jobs.job_rules import require_valid_job
    from ..spec.loader import load_job

    asked = load_job(job).model
    require_valid_job(asked)
    where = load_destination(on, live)
    answer = decide(asked, where)
    if isinstance(answer, Placement):
        if as_json:
            print_json(asdict(answer))
        else:
            print_result(f"{answer.cluster}: {answer}" if isinstance(where, Fleet) else str(answer))
            for line in _explain_placement(answer) if explain else ():
                print_result(line)
            _warn_of_missing_dependencies(asked)
            print_note(f"next: supercloud submit {job} --on {on}")
        return
    if as_json:
        print_json([asdict(refusal) for refusal in answer])
    else:
        for refusal in answer:
            print_result(str(refusal))
        name = where.spec.name if isinstance(where, Fleet) else where.plan.name
        print_note(f"no pool of {name} can have it" + (" now" if live else ""))
    raise typer.Exit(2)


def _warn_of_missing_dependencies(job: JobSpec) -> None:
    """Say which jobs it waits for are not there: it may be placed before they are submitted, not submitted itself."""
    from ..errors import InputError, StoreError
    from ..jobs.api import require_dependencies

    try:
        require_dependencies(job)
    except InputError as error:
        for finding in error.findings:
            print_note(f"warning: {finding}")
    except StoreError as error:
        print_note(f"warning: whether the jobs it waits for are there is not known: {error}")


def load_destination(path: Path, live: bool) -> Cluster | Fleet:
    """The cluster or the fleet of a file, as planned or as its engines see it."""
    from ..errors import InputError
    from ..jobs.engines.base import open_engine
    from ..jobs.fleet.state import load_fleet_state
    from ..jobs.store.database import locate_state_folder

    fleet = load_fleet_state(
        path, (lambda connection: open_engine(connection, locate_state_folder())) if live else None
    )
    if live and not any(cluster.member.connect for cluster in fleet.clusters):
        raise InputError(
            f"{path}: --live asks the clusters of a fleet, and no cluster here says how it is reached; write a "
            "file of a fleet: {name: NAME, clusters: [{spec: FILE, connect: {engine: slurm, via: ssh:HOST}}]}"
        )
    alone = len(fleet.clusters) == 1 and fleet.clusters[0].member.spec == path.name
    return fleet.clusters[0] if alone else fleet


def _format_domains(domains: tuple[tuple[str, int], ...]) -> Iterator[str]:
    """Nodes of each domain; where there are many, neighbours that give as many are told together."""
    if len(domains) <= 8:
        yield from (f"{nodes} of {name}" for name, nodes in domains)
        return
    for nodes, run in groupby(domains, key=lambda item: item[1]):
        names = [name for name, _ in run]
        yield (
            f"{nodes} of {names[0]}" if len(names) == 1 else f"{nodes} each of {len(names)}: {names[0]} to {names[-1]}"
        )


def _explain_placement(placement: Placement) -> Iterator[str]:
    """What else was decided, a line each."""
    from ..primitives.quantity import Carbon

    if placement.domains:
        yield "takes    " + ", ".join(_format_domains(placement.domains))
    if placement.shape:
        yield "box      " + " × ".join(map(str, placement.shape)) + " nodes"
    for span in placement.spans:
        yield (
            f"{span.axis:<8} {span.count} groups of {span.size}, each fits one {span.needs}, "
            f"spans {span.worst} at most, {span.mean:g} on average"
        )
    if placement.memory:
        yield f"memory   {placement.memory}"
    if not placement.fits_now:
        yield "wait     " + ("nobody knows how long" if placement.wait is None else f"{placement.wait / 3600:.1f} h")
    if placement.begin:
        yield f"begin    in {placement.begin / 3600:.1f} h, when energy is cleaner"
    if placement.price is not None:
        moved = f", and {placement.egress:.2f} USD to move {', '.join(placement.moved)}" if placement.moved else ""
        yield f"price    {placement.price:.2f} USD/h{moved}"
    if placement.carbon is not None:
        yield f"carbon   {Carbon(placement.carbon, 'gCO2e')} at full power"
    if placement.checkpoint_every:
        yield f"save     every {placement.checkpoint_every} s, proposed by Daly's formula"
