"""Jobs in bulk: submissions a second, one look at ten thousand jobs, a store of a million."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SPEC = """\
name: bench
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "22.05"}
pools: [{name: train, machine: dgx-h100, nodes: 127}]
"""
RATE, QUESTIONS, LIST = 200.0, 1, 0.5
"""Submissions a second, engine calls for ten thousand jobs, seconds of ``jobs`` with a million."""
SUBMITTED, POLLED, STORED = 600, 10_000, 1_000_000


def measure_rows() -> list[tuple[str, str, str, str]]:
    """The figures, each with its budget and its ratio to it."""
    with tempfile.TemporaryDirectory() as folder:
        rate = measure_submit_rate(Path(folder, "rate"))
        calls, seconds = look(Path(folder, "look"))
        times = measure_million_jobs(Path(folder, "million"))
    shown = ", ".join(f"{name} {took:.3f}" for name, took in times.items())
    worst = max(times.values())
    return [
        ("submit through local", f"{rate:.0f} jobs/s", f"{rate / RATE:.2f} × {RATE:g} jobs/s", "more is better"),
        (
            f"one look at {POLLED:,} live jobs",
            f"{calls} engine call, {seconds:.2f} s",
            f"{calls / QUESTIONS:.2f} × 1 call",
            f"{seconds / POLLED * 1e6:.0f} µs a job",
        ),
        (
            f"supercloud jobs, {STORED:,} in the store",
            f"{worst:.3f} s ({shown})",
            f"{worst / LIST:.2f} × {LIST:g} s",
            "",
        ),
    ]


def measure_submit_rate(folder: Path) -> float:
    """Jobs a second, each recorded on the disk and in the queue of this machine when ``submit`` returns."""
    from supercloud.jobs import api
    from supercloud.jobs.store.store import Store
    from supercloud.plan.resolve import resolve
    from supercloud.spec import JobSpec
    from supercloud.spec.loader import loads

    plan = resolve(loads(SPEC))
    job = JobSpec.model_validate({"name": "job", "command": ["true"], "accelerators": {"count": 8}})
    with Store(folder) as store:
        api.submit(job, plan, engine="local", store=store)
        start = time.perf_counter()
        for _ in range(SUBMITTED):
            api.submit(job, plan, engine="local", store=store)
        rate = SUBMITTED / (time.perf_counter() - start)
    with contextlib.suppress(OSError, ValueError):
        os.kill(int((folder / "local/agent.lock").read_text()), signal.SIGKILL)
    time.sleep(0.2)
    return rate


def look(folder: Path) -> tuple[int, float]:
    """Engine calls and seconds of one reconciliation of many live jobs, each of which has news."""
    from supercloud.jobs.engines.base import open_engine
    from supercloud.jobs.reconcile import reconcile
    from supercloud.jobs.store.states import State
    from supercloud.jobs.store.status import Status
    from supercloud.jobs.store.store import Store
    from supercloud.spec.fleet import Connection

    with Store(folder) as store:
        fill(store, POLLED, "QUEUED")
        engine = open_engine(Connection(engine="fake"), store.folder)
        calls: list[int] = []

        def poll(refs: list[str]) -> dict[str, Status]:
            calls.append(len(refs))
            return {ref: Status(State.RUNNING, 1, started=time.time()) for ref in refs}

        engine.poll = poll  # type: ignore[method-assign, assignment]
        start = time.perf_counter()
        reconcile(store)
        seconds = time.perf_counter() - start
        assert calls == [POLLED] and store.get(1).state is State.RUNNING
    return len(calls), seconds


def measure_million_jobs(folder: Path) -> dict[str, float]:
    """Seconds of the whole command, the best of three, for a store of a million jobs of which a hundred live."""
    from supercloud.jobs.store.store import Store

    with Store(folder) as store:
        fill(store, STORED - 100, "COMPLETED")
        fill(store, 100, "HELD", STORED)
    command = [str(Path(sys.executable).with_name("supercloud")), "jobs"]
    env = os.environ | {"SUPERCLOUD_STATE": str(folder)}
    times = {}
    for name, more in (("jobs", []), ("--live", ["--live"]), ("--json", ["--json"])):
        took = []
        for _ in range(3):
            start = time.perf_counter()
            subprocess.run([*command, *more], env=env, check=True, capture_output=True)
            took.append(time.perf_counter() - start)
        times[name] = min(took)
    return times


def fill(store: object, count: int, state: str, first: int = 0) -> None:
    """Rows as submissions leave them, written in one transaction."""
    from supercloud.jobs.store.store import Store

    assert isinstance(store, Store)
    row = (
        "job",
        '{"name":"job","command":["true"],"accelerators":{"count":8}}',
        '{"cluster": "bench", "pool": "train", "nodes": 1, "accelerators_per_node": 8}',
        '{"key": "k", "argv": ["true"], "stdin": "", "env": {}, "settings": {}}',
        "bench",
        '{"engine":"fake"}',
        "fake",
        state,
        1.8e9,
        "fleet" if state == "HELD" else "",
    )
    with store.transaction() as database:
        database.executemany(
            "INSERT INTO jobs (key, ref, name, spec, placement, submission, cluster, connection, engine, state,"
            " recorded, fleet) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((f"k{number}", f"fake-k{number}", *row) for number in range(first, first + count)),
        )


if __name__ == "__main__":
    for line in measure_rows():
        print(" | ".join(line))
