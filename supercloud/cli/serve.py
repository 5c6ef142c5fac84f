"""``supercloud serve``: the broker."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .output import note
from .submit import EngineName, Via

EPILOG = "Example: supercloud serve fleet.yaml · next: supercloud submit job.yaml --on fleet.yaml"


def serve(
    on: Annotated[Path, typer.Argument(help="The spec of a fleet, or of a cluster.", metavar="SPEC")],
    engine: EngineName = None,
    via: Via = None,
    every: Annotated[float, typer.Option(min=0.05, help="Seconds between two looks.")] = 5.0,
    move_after: Annotated[float, typer.Option(min=0, help="Seconds a job waits in one place before it may move.")] = 60,
    lost_after: Annotated[
        float | None, typer.Option(min=1, help="Seconds of silence after which a cluster's work starts elsewhere.")
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Look once, and end.")] = False,
) -> None:
    """Give held jobs to clusters as they have room; move what waits; start anew what was lost. Ends with Ctrl-C."""
    import time

    from ..jobs import api
    from ..jobs.broker.serve import Broker, lock
    from ..jobs.fleet import Fleet
    from .place import where_of
    from .submit import connection_of, fleet_of_one

    where = where_of(on, live=False)
    connection = connection_of(where, engine, via)
    fleet = where if isinstance(where, Fleet) else fleet_of_one(where, connection)
    store = api.default_store()
    with lock(store.folder):
        broker = Broker(store, fleet, move_after=move_after, lost_after=lost_after, say=note)
        if not broker.fleet.clusters:
            from ..errors import InputError

            raise InputError(
                f"{on}: no cluster says how it is reached; write connect: {{engine: slurm, via: ssh:HOST}}"
            )
        while True:
            broker.step()
            if once:
                return
            time.sleep(every)
