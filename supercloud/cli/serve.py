"""``supercloud serve``: the broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .output import note, result
from .submit import EngineName, Via

if TYPE_CHECKING:
    from threading import Event

    from ..jobs.broker.loop import Reporter
    from ..jobs.store.store import Store

EPILOG = "Example: supercloud serve fleet.yaml · next: supercloud submit job.yaml --on fleet.yaml"


def serve(
    on: Annotated[Path, typer.Argument(help="The spec of a fleet, or of a cluster.", metavar="SPEC")],
    engine: EngineName = None,
    via: Via = None,
    every: Annotated[
        float, typer.Option(min=0.05, max=31_536_000, help="Seconds between two looks, at most a year.")
    ] = 5.0,
    move_after: Annotated[float, typer.Option(min=0, help="Seconds a job waits in one place before it may move.")] = 60,
    lost_after: Annotated[
        float | None,
        typer.Option(min=1, help="Seconds of silence after which a cluster's work starts elsewhere. Left out: never."),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Look once, and end.")] = False,
    as_unit: Annotated[
        bool, typer.Option("--unit", help="Print a systemd unit that serves with these options, nothing more.")
    ] = False,
) -> None:
    """Give held jobs to clusters as they have room; move what waits; start anew what was lost.

    It goes on through outages of engines and of the job store, and says each of them once. SIGTERM and Ctrl-C end it.
    """
    from ..errors import InputError
    from ..jobs.broker import loop
    from ..jobs.broker.lock import lock
    from ..jobs.broker.serve import Broker
    from ..jobs.fleet.state import Fleet
    from .place import where_of
    from .submit import connection_of, fleet_of_one

    where = where_of(on, live=False)
    connection = connection_of(where, engine, via)
    fleet = where if isinstance(where, Fleet) else fleet_of_one(where, connection)
    if not any(cluster.member.connect for cluster in fleet.clusters):
        raise InputError(f"{on}: no cluster says how it is reached; write connect: {{engine: slurm, via: ssh:HOST}}")
    if as_unit:
        options = {"--engine": engine, "--via": via, "--every": every, "--move-after": move_after,
                   "--lost-after": lost_after}  # fmt: skip
        _print_unit(fleet.spec.name, on, {name: str(value) for name, value in options.items() if value is not None})
        return
    with loop.until_asked() as ended:
        reporter = loop.Reporter(note)
        store = _opened(reporter, ended, None if once else every)
        if store is None:
            return
        with lock(store.folder):
            broker = Broker(store, fleet, move_after=move_after, lost_after=lost_after,
                            say=note, reporter=None if once else reporter)  # fmt: skip
            if once:
                broker.step()
                return
            reporter.say(f"serving {fleet.spec.name} from {store.folder}")
            loop.run(broker, every, reporter, ended)
        reporter.say("asked to end: ended")


def _opened(reporter: Reporter, ended: Event, every: float | None) -> Store | None:
    """The store, looked through for damage; waited for while it is locked or cannot be written (the disk is full).

    None where the end was asked for before. ``every`` is the pause in seconds; None does not wait for space.
    """
    from ..jobs.store.database import StoreLocked, state_folder
    from ..jobs.store.store import Store

    while not ended.is_set():
        try:
            store = Store(state_folder())
            if store.unwritable and every is not None:
                reporter.say(f"warning: {store.unwritable}")
                store.close()
                ended.wait(every)
                continue
            store.check()
            reporter.end_step()
            return store
        except StoreLocked as error:
            reporter.say(f"warning: {error}")
    return None


def _print_unit(name: str, on: Path, options: dict[str, str]) -> None:
    import os
    import shlex
    import sys

    from ..jobs.broker.unit import environment_of, unit
    from ..jobs.store.database import state_folder

    words = [word for pair in options.items() for word in pair]
    passed_on, secret = environment_of(os.environ)
    environment = passed_on | {"SUPERCLOUD_STATE": str(state_folder().absolute()), "PYTHONUNBUFFERED": "1"}
    result(unit(name, [sys.executable, "-m", "supercloud", "serve", str(on.absolute()), *words], environment).rstrip())
    if secret:
        note(f"warning: {', '.join(secret)}: set here, but secret, and so not in the unit; write a line NAME=value for "
             f"each to ~/.config/supercloud/serve-{name}.env, and run chmod 600 on it")  # fmt: skip
    # the command that writes the unit must have the options that this one was given
    again = shlex.join(["supercloud", "serve", str(on), *words, "--unit"])
    note(f"next: mkdir -p ~/.config/systemd/user && {again} > ~/.config/systemd/user/supercloud-{name}.service && "
         f"systemctl --user enable --now supercloud-{name}.service")  # fmt: skip
