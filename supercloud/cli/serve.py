"""``supercloud serve``: the broker."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .output import print_note, print_result
from .submit import EngineOption, ViaOption

if TYPE_CHECKING:
    from threading import Event

    from ..jobs.broker.loop import Reporter
    from ..jobs.store.store import Store

EPILOG = "Example: supercloud serve fleet.yaml · next: supercloud submit job.yaml --on fleet.yaml"


def serve(
    on: Annotated[Path, typer.Argument(help="The spec of a fleet or of a cluster.", metavar="SPEC")],
    engine: EngineOption = None,
    via: ViaOption = None,
    every: Annotated[
        float, typer.Option(min=0.05, max=31_536_000, help="Seconds between two cycles, at most a year.")
    ] = 5.0,
    move_after: Annotated[
        float, typer.Option(min=0, help="Seconds a job waits on a cluster before it may move to another.")
    ] = 60,
    lost_after: Annotated[
        float | None,
        typer.Option(
            min=1,
            help="Seconds without an answer after which the jobs of a cluster are restarted elsewhere. Default: never.",
        ),
    ] = None,
    once: Annotated[
        bool,
        typer.Option(
            "--once", help="Run one cycle and exit, with code 1 if a cluster did not respond or refused a job."
        ),
    ] = False,
    as_unit: Annotated[
        bool, typer.Option("--unit", help="Only print a systemd unit that runs serve with these options.")
    ] = False,
) -> None:
    """Assign held jobs to clusters with free capacity, move waiting jobs, and restart lost jobs.

    It continues through outages of engines and of the job store, and reports each of them once. SIGTERM and Ctrl-C
    stop it.
    """
    from ..errors import EngineError, InputError
    from ..jobs.broker import loop
    from ..jobs.broker.context import BrokerSettings
    from ..jobs.broker.lock import acquire_broker_lock
    from ..jobs.broker.serve import Broker
    from ..jobs.fleet.state import Fleet
    from ..jobs.transport.bounded_io import end_queries
    from .place import load_destination
    from .submit import build_connection, build_single_cluster_fleet

    where = load_destination(on, live=False)
    connection = build_connection(where, engine, via)
    fleet = where if isinstance(where, Fleet) else build_single_cluster_fleet(where, connection)
    if not any(cluster.member.connect for cluster in fleet.clusters):
        raise InputError(f"{on}: no cluster specifies a connection; write connect: {{engine: slurm, via: ssh:HOST}}")
    if as_unit:
        options = {
            "--engine": engine,
            "--via": via,
            "--every": every,
            "--move-after": move_after,
            "--lost-after": lost_after,
        }
        _print_unit(fleet.spec.name, on, {name: str(value) for name, value in options.items() if value is not None})
        return
    reporter = loop.Reporter(_write_line)
    has_failed = False
    with loop.handle_stop_signals() as ended:
        store = _open_checked_store(reporter, ended, None if once else every)
        if store is not None:
            with acquire_broker_lock(store.folder):
                settings = BrokerSettings(move_after, lost_after)
                if once:
                    plain = loop.PlainReporter(_write_line)
                    Broker(store, fleet, settings, reporter=plain).step()
                    has_failed = plain.has_warned
                else:
                    broker = Broker(store, fleet, settings, reporter=reporter)
                    reporter.report(f"serving {fleet.spec.name} from {store.folder}")
                    loop.run_broker(broker, every, reporter, ended)
    if ended.is_set():  # also if it was stopped before its first step, or a step was aborted
        end_queries()
        reporter.report("stopped on request")
    if has_failed:
        raise typer.Exit(EngineError.exit_code)


def _write_line(text: str) -> None:
    """Write a line of the log; the service continues if its log cannot be written (full disk)."""
    with contextlib.suppress(OSError):
        print_note(text)


def _open_checked_store(reporter: Reporter, stop_event: Event, every: float | None) -> Store | None:
    """Open the store and check it for damage; waits while it is locked or cannot be written (disk full).

    None if the broker was stopped meanwhile. ``every`` is the pause in seconds; None does not wait for space.
    """
    from ..jobs.store.database import StoreLockedError, locate_state_folder
    from ..jobs.store.store import Store

    while not stop_event.is_set():
        try:
            store = Store(locate_state_folder())
            if store.write_error and every is not None:
                reporter.report(f"warning: {store.write_error}")
                store.close()
                stop_event.wait(every)
                continue
            store.require_integrity()
            reporter.end_step()
            return store
        except StoreLockedError as error:
            reporter.report(f"warning: {error}")
    return None


def _print_unit(name: str, path: Path, options: dict[str, str]) -> None:
    import os
    import shlex
    import sys

    from ..catalog import Catalog
    from ..jobs.broker.unit import render_unit, select_environment
    from ..jobs.store.database import locate_state_folder

    words = [word for pair in options.items() for word in pair]
    passed_on, secret = select_environment(os.environ, Catalog.load_default())
    environment = passed_on | {"SUPERCLOUD_STATE": str(locate_state_folder().absolute()), "PYTHONUNBUFFERED": "1"}
    print_result(
        render_unit(
            name, [sys.executable, "-m", "supercloud", "serve", str(path.absolute()), *words], environment
        ).rstrip()
    )
    if secret:
        print_note(
            f"warning: {', '.join(secret)}: secret, therefore not in the unit; write a line NAME=value for "
            f"each to ~/.config/supercloud/serve-{name}.env, and run chmod 600 on it"
        )
    # the command that writes the unit needs the options of this command
    again = shlex.join(["supercloud", "serve", str(path), *words, "--unit"])
    print_note(
        f"next: mkdir -p ~/.config/systemd/user && {again} > ~/.config/systemd/user/supercloud-{name}.service && "
        f"systemctl --user enable --now supercloud-{name}.service"
    )
