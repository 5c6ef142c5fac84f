"""``supercloud submit``: submit a job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import JobFile, JsonOption, add_locations
from .output import fall_back_to_stderr, print_json, print_note, print_result

if TYPE_CHECKING:
    from pydantic import ValidationError

    from ..jobs.fleet.state import Cluster, Fleet
    from ..spec.fleet import Connection

EPILOG = "Example: supercloud submit job.yaml --on cluster.yaml --via ssh:login.example.com · next: supercloud wait 1"

DestinationOption = Annotated[Path, typer.Option("--on", help="The spec of a cluster or of a fleet.", metavar="SPEC")]
EngineOption = Annotated[
    str | None,
    typer.Option(
        help="slurm, kubernetes, local (simulate the cluster on this machine), or another installed engine. "
        "Default: the scheduler of the cluster."
    ),
]
ViaOption = Annotated[
    str | None,
    typer.Option(
        help="Connection to the engine: ssh:login.example.com, the URL of slurmrestd (with a token in SLURM_JWT or in "
        "the secret slurm-jwt@HOST), context:NAME of a kubeconfig, or stack:ORGANIZATION/PROJECT/STACK of Pulumi. "
        "Default: the Slurm commands, or the current kubectl context, of this machine."
    ),
]


def submit(
    job: JobFile,
    on: DestinationOption,
    engine: EngineOption = None,
    via: ViaOption = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="Idempotency key: submitting with the same key again returns the same job, and is an error if the "
            "scheduler refused it. A job that was not sent, as its cluster could not be reached, is submitted again."
        ),
    ] = None,
    hold: Annotated[
        bool,
        typer.Option(
            "--hold", help="Hold the job until the broker, whose --engine and --via apply, assigns it to a cluster."
        ),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the submission without submitting it.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Place a job, record it, and submit it to an engine. A job for a fleet waits for the broker. Prints the job
    number.
    """
    from ..errors import InputError
    from ..jobs import api
    from ..jobs.fleet.state import Fleet
    from ..spec.loader import load_job
    from .place import load_destination

    loaded = load_job(job)
    where = load_destination(on, live=False)
    connection = build_connection(where, engine, via)
    if hold:
        _require_connection_of_broker(on, engine, via)
    if hold and not isinstance(where, Fleet):
        where = build_single_cluster_fleet(where, connection)
    if isinstance(where, Fleet):
        if dry_run:
            raise InputError(f"{on}: a fleet's broker selects the cluster when the job starts; see supercloud place")
        with add_locations(loaded):
            held = api.submit(loaded.model, where, key=key)
    elif dry_run:
        with add_locations(loaded):
            placement, submission = api.prepare(
                loaded.model, where.plan, engine=connection, key=key, catalog=where.catalog
            )
        print_result(f"# {placement}\n{submission}".rstrip())
        return
    else:
        with add_locations(loaded):
            held = api.submit(loaded.model, where.plan, engine=connection, key=key, catalog=where.catalog)
    with fall_back_to_stderr(f"supercloud: job {held.id} ({held.record.name}, key {held.key}) was submitted"):
        if as_json:
            print_json({"id": held.id, "key": held.key, "state": held.record.state})
        else:
            print_result(str(held.id))
    if not as_json:
        after = f"supercloud serve {on}" if held.record.state == "HELD" else f"supercloud wait {held.id}"
        here = "" if isinstance(where, Fleet) else describe_simulation(connection, where)
        print_note(f"job {held.id} ({held.record.name}) is {held.record.state}{here} · next: {after}")


def _require_connection_of_broker(path: Path, engine: str | None, via: str | None) -> None:
    """Raise :class:`InputError` if a connection is specified for a held job: it would be lost, as a broker submits jobs
    with its own connections, and another broker would send a job that was to be simulated to the cluster.
    """
    from shlex import join

    from ..errors import InputError

    words = [word for name, value in (("--engine", engine), ("--via", via)) if value for word in (name, value)]
    if words:
        raise InputError(
            f"{join(words)}: a held job has no connection of its own, it is submitted with that of the broker; omit "
            f"it here, and run the broker with it: {join(['supercloud', 'serve', str(path), *words])}"
        )


def build_connection(destination: Cluster | Fleet, engine: str | None, via: str | None) -> Connection:
    """A connection from options; raises :class:`InputError` if they are invalid, or if the destination is a fleet."""
    from pydantic import ValidationError

    from ..errors import InputError
    from ..jobs.fleet.state import Fleet
    from ..spec.fleet import Connection

    named = [cluster.member.connect for cluster in destination.clusters] if isinstance(destination, Fleet) else []
    for name in (engine, *(connection.engine for connection in named if connection)):
        _require_known_engine(name)
    if isinstance(destination, Fleet):
        if engine or via:
            raise InputError(
                "--engine and --via are for a single cluster; a fleet specifies connections under connect:"
            )
        return Connection(engine="local")
    try:
        if via and via.startswith("stack:"):
            return _read_stack_connection(via.removeprefix("stack:"), engine)
        engine = engine or destination.plan.scheduler.kind
        return _parse_connection(engine, via)
    except ValidationError as error:
        raise InputError(_describe_invalid_connection(error, engine, via)) from None


def _read_stack_connection(stack: str, engine: str | None) -> Connection:
    """The connection to a stack, by its outputs."""
    from ..jobs.fleet.connections import require_used_options
    from ..jobs.fleet.stack_outputs import read_connection_from_stack
    from ..spec.fleet import Connection

    # an engine that was not specified is omitted: only then the outputs of the stack determine it
    requested = Connection(engine=engine, stack=stack) if engine else Connection(stack=stack)
    return require_used_options(read_connection_from_stack(require_used_options(requested)))


def _parse_connection(engine: str, via: str | None) -> Connection:
    from ..jobs.fleet.connections import require_used_options
    from ..spec.fleet import Connection

    if via and via.startswith("context:"):
        return require_used_options(Connection(engine=engine, context=via.removeprefix("context:")))
    return require_used_options(Connection(engine=engine, via=via))


def _describe_invalid_connection(error: ValidationError, engine: str | None, via: str | None) -> str:
    from ..spec.fleet import Connection
    from ..spec.problems import build_findings

    if engine == "kubernetes" and via:
        name = via.rpartition("/")[2]
        return (
            f"--via {via!r} is not a connection to Kubernetes; use context:{name} "
            "for a context that kubectl config get-contexts lists"
        )
    problems = [
        f"{finding.problem}{f'; {finding.hint}' if finding.hint else ''}"
        for _, finding in build_findings(error, {"engine": engine, "via": via}, Connection)
    ]
    return f"--engine or --via: {'; '.join(problems)}"


def _require_known_engine(name: str | None) -> None:
    """Reject a name that is not an engine for users; empty means that the engine is specified elsewhere."""
    from ..errors import UnknownNameError
    from ..jobs.engines.base import list_engine_names

    if name and name not in (known := list_engine_names()):
        raise UnknownNameError("engine", name, known)


def describe_simulation(connection: Connection, cluster: Cluster) -> str:
    """The note on a job that is simulated on this machine: nothing is sent to its cluster."""
    if connection.engine != "local":
        return ""
    return f", simulated on this machine: nothing is sent to {cluster.plan.name}"


def build_single_cluster_fleet(cluster: Cluster, connection: Connection) -> Fleet:
    """A single cluster, as a fleet with a broker and the connection that the user specified."""
    from dataclasses import replace

    from ..jobs.api import bind_tokens
    from ..jobs.fleet.state import Fleet
    from ..jobs.store.database import locate_state_folder
    from ..spec.fleet import FleetSpec

    bind_tokens(connection, locate_state_folder())
    member = cluster.member.model_copy(update={"connect": connection})
    spec = FleetSpec(name=cluster.plan.name, clusters=(member,))
    return Fleet(spec, (replace(cluster, member=member),))
