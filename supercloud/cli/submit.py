"""``supercloud submit``: run a job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import JobFile, JsonOption
from .output import fall_back_to_stderr, print_json, print_note, print_result

if TYPE_CHECKING:
    from ..jobs.fleet.state import Cluster, Fleet
    from ..spec.fleet import Connection

EPILOG = "Example: supercloud submit job.yaml --on cluster.yaml --via ssh:login.example.com · next: supercloud wait 1"

DestinationOption = Annotated[Path, typer.Option("--on", help="The spec of a cluster or of a fleet.", metavar="SPEC")]
EngineOption = Annotated[
    str | None,
    typer.Option(
        help="slurm, kubernetes, local (simulate the cluster on this machine), or another that is installed. Left "
        "out: the cluster's own scheduler."
    ),
]
ViaOption = Annotated[
    str | None,
    typer.Option(
        help="How the engine is reached: ssh:login.example.com, the URL of slurmrestd (with a token in SLURM_JWT or in "
        "the secret slurm-jwt@HOST), context:NAME of a kubeconfig, or stack:ORGANIZATION/PROJECT/STACK of Pulumi. Left "
        "out: by Slurm's commands, or kubectl's context, on this machine."
    ),
]


def submit(
    job: JobFile,
    on: DestinationOption,
    engine: EngineOption = None,
    via: ViaOption = None,
    key: Annotated[str | None, typer.Option(help="Idempotency key: the same key again is the same job.")] = None,
    hold: Annotated[bool, typer.Option("--hold", help="Let the broker start it when there is room.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be submitted, nothing more.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Place a job, record it, and hand it to an engine; one for a fleet waits for its broker. Prints its number."""
    from ..errors import InputError
    from ..jobs import api
    from ..jobs.fleet.state import Fleet
    from ..spec.loader import load_job
    from .place import load_destination

    loaded = load_job(job)
    where = load_destination(on, live=False)
    connection = build_connection(where, engine, via)
    if hold and not isinstance(where, Fleet):
        where = build_single_cluster_fleet(where, connection)
    if isinstance(where, Fleet):
        if dry_run:
            raise InputError(f"{on}: where a job of a fleet runs is decided when it begins; see supercloud place")
        held = api.submit(loaded.model, where, key=key)
    elif dry_run:
        placement, submission = api.prepare(loaded.model, where.plan, engine=connection, key=key, catalog=where.catalog)
        print_result(f"# {placement}\n{submission}".rstrip())
        return
    else:
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


def build_connection(destination: Cluster | Fleet, engine: str | None, via: str | None) -> Connection:
    """A connection from options; raises :class:`InputError` for what is none, or where a fleet says it itself."""
    from pydantic import ValidationError

    from ..errors import InputError
    from ..jobs.fleet.connections import require_used_options
    from ..jobs.fleet.state import Fleet
    from ..spec.fleet import Connection
    from ..spec.problems import build_findings

    named = [cluster.member.connect for cluster in destination.clusters] if isinstance(destination, Fleet) else []
    for name in (engine, *(connection.engine for connection in named if connection)):
        _require_known_engine(name)
    if isinstance(destination, Fleet):
        if engine or via:
            raise InputError(
                "--engine and --via are for one cluster; those of a fleet say it themselves, under connect:"
            )
        return Connection(engine="local")
    try:
        if via and via.startswith("stack:"):
            from ..jobs.fleet.stack_outputs import read_connection_from_stack

            stack = via.removeprefix("stack:")
            # an engine that nobody named is left out: only then the stack's outputs say it
            asked = Connection(engine=engine, stack=stack) if engine else Connection(stack=stack)
            return require_used_options(read_connection_from_stack(require_used_options(asked)))
        engine = engine or destination.plan.scheduler.kind
        if via and via.startswith("context:"):
            return require_used_options(Connection(engine=engine, context=via.removeprefix("context:")))
        return require_used_options(Connection(engine=engine, via=via))
    except ValidationError as error:
        said = {"engine": engine, "via": via}
        if engine == "kubernetes" and via:
            name = via.rpartition("/")[2]
            raise InputError(
                f"--via {via!r} does not say how Kubernetes is reached; write context:{name} "
                "for a context that kubectl config get-contexts lists"
            ) from None
        problems = [
            f"{finding.problem}{f'; {finding.hint}' if finding.hint else ''}"
            for _, finding in build_findings(error, said, Connection)
        ]
        raise InputError(f"--engine or --via: {'; '.join(problems)}") from None


def _require_known_engine(name: str | None) -> None:
    """Refuse what is no engine for users; empty means that another place says it."""
    from ..errors import UnknownNameError
    from ..jobs.engines.base import list_engine_names

    if name and name not in (known := list_engine_names()):
        raise UnknownNameError("engine", name, known)


def describe_simulation(connection: Connection, cluster: Cluster) -> str:
    """What is said of a job that this machine only plays: its cluster never hears of it."""
    if connection.engine != "local":
        return ""
    return f", simulated on this machine: nothing is sent to {cluster.plan.name}"


def build_single_cluster_fleet(cluster: Cluster, connection: Connection) -> Fleet:
    """A single cluster, as a fleet with a broker; the user named how it is reached."""
    from dataclasses import replace

    from ..jobs.api import bind_tokens
    from ..jobs.fleet.state import Fleet
    from ..jobs.store.database import locate_state_folder
    from ..spec.fleet import FleetSpec

    bind_tokens(connection, locate_state_folder())
    member = cluster.member.model_copy(update={"connect": connection})
    spec = FleetSpec(name=cluster.plan.name, clusters=(member,))
    return Fleet(spec, (replace(cluster, member=member),))
