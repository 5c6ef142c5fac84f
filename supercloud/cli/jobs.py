"""``supercloud jobs``: list jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .options import MAX_JOB_ID, JsonOption, parse_job_id
from .output import format_columns, print_json, print_note, print_result

if TYPE_CHECKING:
    from ..errors import StoreError, SupercloudError
    from ..jobs.store.records import JobRecord
    from ..jobs.store.states import State

EPILOG = "Example: supercloud jobs --live · next: supercloud logs 1"

_NO_BROKER_REASON = "not yet processed by a broker: supercloud serve SPEC"


def jobs(
    live: Annotated[bool, typer.Option("--live", help="Only jobs that have not ended.")] = False,
    state: Annotated[
        list[str] | None,
        typer.Option(
            help="Only jobs in this state, such as running, held or failed; may be repeated.", metavar="STATE"
        ),
    ] = None,
    tenant: Annotated[str | None, typer.Option(help="Only jobs of this tenant.")] = None,
    name: Annotated[str | None, typer.Option(help="Only jobs of this name.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=MAX_JOB_ID, help="Maximum number of jobs, newest first.")] = 50,
    usage: Annotated[bool, typer.Option("--usage", help="Show time, energy and cost.")] = False,
    history: Annotated[
        int | None, typer.Option(parser=parse_job_id, help="Show the history of one job.", metavar="ID")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List jobs on all engines, newest first."""
    from ..jobs.store.states import LIVE_STATES, State
    from ..jobs.store.store import open_default_store

    states = _select_states(state, live)
    store = open_default_store()
    if history is not None:
        _print_history(history, as_json)
        return
    problems: list[SupercloudError] = [store.write_error] if store.write_error else []
    damaged: list[StoreError] = []
    if store.has_any(LIVE_STATES - {State.HELD}):
        from ..jobs.reconcile import reconcile  # its import takes longer than the list itself

        problems += reconcile(store)
    records = store.select(states, limit, tenant=tenant, name=name, damaged=damaged)
    if as_json:
        print_json([_build_json(record) for record in records])
    elif records:
        _print_table(records, usage)
    elif not damaged:
        some = " match the filters" if state or tenant or name or live else ""
        print_note(f"no jobs{some} · next: supercloud submit JOB --on SPEC")
    for problem in dict.fromkeys(str(one) for one in (*problems, *damaged)):
        print_note(f"warning: {problem}")


def _select_states(words: list[str] | None, live: bool) -> tuple[State, ...]:
    """The states that the options select; raises UnknownNameError for an unknown one."""
    from ..errors import UnknownNameError
    from ..jobs.store.states import State

    requested = {word.upper() for word in words or ()}
    for word in requested - set(State):
        raise UnknownNameError("state", word, State)
    return tuple(one for one in State if (not words or one in requested) and not (live and one.is_final))


def _print_table(records: Sequence[JobRecord], usage: bool) -> None:
    used = ("hours", "kWh", "USD") if usage else ()
    head = ("id", "name", "state", "attempt", "engine", "where", *used, "reason")
    for line in format_columns([head, *(_format_row(record, usage) for record in records)]):
        print_result(line)


def _format_row(record: JobRecord, usage: bool) -> tuple[str, ...]:
    used = (
        (
            _format_figure(record.compute_run_time() / 3600),
            _format_figure(record.compute_energy(), 3.6e6),
            _format_figure(record.compute_cost()),
        )
        if usage
        else ()
    )
    engine = record.engine if record.state != "HELD" else "-"
    reason = record.reason or (_NO_BROKER_REASON if record.state == "HELD" else "")
    return (
        str(record.id),
        record.name,
        str(record.state),
        str(record.total_attempts),
        engine,
        record.location,
        *used,
        reason,
    )


def _format_figure(value: float | None, unit: float = 1.0) -> str:
    return "unknown" if value is None else f"{value / unit:.3g}"


def _print_history(job_id: int, as_json: bool) -> None:
    import time
    from dataclasses import asdict

    from ..jobs import api

    events = api.get(job_id).list_events()
    if as_json:
        print_json([asdict(event) for event in events])
        return
    rows = [
        (time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event.at)), str(event.state), event.note) for event in events
    ]
    for line in format_columns(rows):
        print_result(line)


def _build_json(record: JobRecord) -> dict[str, object]:
    """A job as JSON, without the documents it was created from."""
    from dataclasses import fields

    hidden = {
        "spec",
        "placement",
        "connection",
        "submission",
        "owner",
        "watts",
        "hourly",
        "joules",
        "dollars",
        "earlier",
        "recalled",
        "units",
        "unit_seconds",
        "promised",
        "lease",
    }
    shown = {item.name: getattr(record, item.name) for item in fields(record) if item.name not in hidden}
    energy = record.compute_energy()
    return shown | {
        "total_attempts": record.total_attempts,
        "power_w": record.watts,
        "price_usd_h": record.hourly,
        "energy_kwh": None if energy is None else round(energy / 3.6e6, 6),
        "cost_usd": record.compute_cost(),
    }
