"""``supercloud place``: where a job would run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import JobFile, JsonOption, add_locations, format_change_location
from .output import print_json, print_note, print_result

if TYPE_CHECKING:
    from ..jobs.fleet.state import Cluster, Fleet
    from ..jobs.placement.place import Placement
    from ..spec import JobSpec

__all__ = ["LiveOption", "DestinationOption", "place", "load_destination"]

EPILOG = "Example: supercloud place job.yaml --on cluster.yaml · next: supercloud submit job.yaml --on cluster.yaml"

DestinationOption = Annotated[Path, typer.Option("--on", help="The spec of a cluster or of a fleet.", metavar="SPEC")]
LiveOption = Annotated[
    bool,
    typer.Option(
        "--live", help="Query the engines of a fleet for free nodes now; its file specifies them under connect:."
    ),
]


def place(
    job: JobFile,
    on: DestinationOption,
    live: LiveOption = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show its cost, the layout of its groups, and the other pools.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show where a job would run: pool, nodes, locality. Exits 2 if no pool fits."""
    from ..jobs import Placement
    from ..jobs import place as decide
    from ..jobs.fleet.state import Fleet
    from ..jobs.job_rules import require_valid_job
    from ..spec.loader import load_job

    loaded = load_job(job)
    spec = loaded.model
    with add_locations(loaded):
        require_valid_job(spec)
    where = load_destination(on, live)
    answer = decide(spec, where)
    if isinstance(answer, Placement):
        if as_json:
            print_json(asdict(answer))
        else:
            text = f"{answer.cluster}: {answer}" if isinstance(where, Fleet) else str(answer)
            print_result(text + ("" if answer.fits_now else f"; {_format_wait(answer.wait)}"))
            for line in (*_explain_placement(answer), *_explain_others(answer, spec, where)) if explain else ():
                print_result(line)
            _warn_of_missing_dependencies(spec)
            print_note(f"next: supercloud submit {job} --on {on}")
        return
    if as_json:
        print_json([asdict(refusal) for refusal in answer])
    else:
        for refusal in answer:
            print_result(f"{refusal}{format_change_location(loaded, refusal.change)}")
        name = where.spec.name if isinstance(where, Fleet) else where.plan.name
        print_note(f"no pool of {name} fits" + (" now" if live else ""))
    raise typer.Exit(2)


def _warn_of_missing_dependencies(job: JobSpec) -> None:
    """Warn of dependencies that do not exist: the job may be placed before they are submitted, but not submitted."""
    from ..errors import InputError, StoreError
    from ..jobs.api import require_dependencies

    try:
        require_dependencies(job)
    except InputError as error:
        for finding in error.findings:
            print_note(f"warning: {finding}")
    except StoreError as error:
        print_note(f"warning: cannot check whether its dependencies exist: {error}")


def load_destination(path: Path, live: bool) -> Cluster | Fleet:
    """The cluster or the fleet of a file, as planned or as reported by its engines (``live``).

    Raises :class:`InputError` if ``live`` is set and no cluster of the file has a connection.
    """
    from ..errors import InputError
    from ..jobs.engines.base import open_engine
    from ..jobs.fleet.loading import load_fleet_state
    from ..jobs.store.database import locate_state_folder

    fleet = load_fleet_state(
        path, (lambda connection: open_engine(connection, locate_state_folder())) if live else None
    )
    if live and not any(cluster.member.connect for cluster in fleet.clusters):
        raise InputError(
            f"{path}: --live queries the clusters of a fleet, and no cluster here specifies a connection; write a "
            "fleet file: {name: NAME, clusters: [{spec: FILE, connect: {engine: slurm, via: ssh:HOST}}]}"
        )
    alone = len(fleet.clusters) == 1 and fleet.clusters[0].member.spec == path.name
    return fleet.clusters[0] if alone else fleet


def _format_domains(domains: tuple[tuple[str, int], ...]) -> Iterator[str]:
    """Nodes of each domain; if there are many, neighbors with the same number of nodes are combined."""
    if len(domains) <= 8:
        yield from (f"{nodes} of {name}" for name, nodes in domains)
        return
    for nodes, run in groupby(domains, key=lambda item: item[1]):
        names = [name for name, _ in run]
        yield (
            f"{nodes} of {names[0]}" if len(names) == 1 else f"{nodes} each of {len(names)}: {names[0]} to {names[-1]}"
        )


def _format_wait(wait: float | None) -> str:
    """For how long a job waits for nodes that are in use."""
    return "waits for nodes that are in use" + ("" if wait is None else f", up to {wait / 3600:.1f} h")


def _explain_placement(placement: Placement) -> Iterator[str]:
    """Further decisions, one per line."""
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
    if placement.begin:
        yield f"begin    in {placement.begin / 3600:.1f} h, when the grid's carbon intensity is lower"
    yield from (f"{name:<8} {value}" for name, value in _list_terms(placement))
    if placement.checkpoint_every:
        yield f"save     every {placement.checkpoint_every} s, proposed by Daly's formula"


def _list_terms(placement: Placement) -> Iterator[tuple[str, str]]:
    """The terms by which placements are compared; unknown ones are reported, as limits then cannot be met."""
    from ..primitives.quantity import Carbon

    if not placement.fits_now:
        yield "wait", "unknown" if placement.wait is None else f"{placement.wait / 3600:.1f} h"
    moved = f", and {placement.egress:.2f} USD to move {', '.join(placement.moved)}" if placement.moved else ""
    yield "price", ("unknown" if placement.price is None else f"{placement.price:.2f} USD/h") + moved
    if placement.carbon is not None:
        yield "carbon", f"{Carbon(placement.carbon, 'gCO2e')} at full power"
    elif placement.accelerator_carbon is not None:
        least = Carbon(placement.accelerator_carbon, "gCO2e")
        yield "carbon", f"{least} of the accelerators at full power, of the rest of the node unknown"
    else:
        yield "carbon", "unknown"


def _explain_others(chosen: Placement, job: JobSpec, destination: Cluster | Fleet) -> Iterator[str]:
    """The other pools, one per line: the terms of a placement there, or why none is possible."""
    from ..jobs import Placement, why_not
    from ..jobs.fleet.state import Fleet

    own = f"{chosen.cluster}/{chosen.pool}" if isinstance(destination, Fleet) else chosen.pool
    for name, answer in why_not(job, destination).items():
        if name == own:
            continue
        if isinstance(answer, Placement):
            yield ", ".join((f"other    {name}: {answer}", *(f"{term} {value}" for term, value in _list_terms(answer))))
        else:
            yield f"other    {name}: {answer.reason}"
