"""How fast one client submits, and how many questions it takes to ask after many jobs."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kube_world import World

from supercloud.jobs.api import submit
from supercloud.jobs.engine import open_engine
from supercloud.jobs.store import Store
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

COUNT = 200
THREADS = 8


def test_fifty_jobs_a_second_from_one_client(cluster: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the client itself costs bounds its rate; how fast this machine plays a whole cluster beside it is said."""
    monkeypatch.setenv("KUBECONFIG", str(cluster.lab.kubeconfig))
    job = JobSpec.model_validate({"name": "quick", "command": ["true"], "image": "registry.example.com/q:1",
                                  "tenant": "llm", "accelerators": {"type": "h100", "count": 8}})  # fmt: skip
    connection = Connection(engine="kubernetes")
    with Store(tmp_path) as store, ThreadPoolExecutor(THREADS) as threads:
        engine = open_engine(connection, store.folder)
        submit(job, cluster.plan, engine=connection, store=store)  # the client's own start is not counted
        began, worked = time.monotonic(), time.process_time()
        jobs = list(threads.map(lambda _: submit(job, cluster.plan, engine=connection, store=store), range(COUNT)))
        rate, own = COUNT / (time.monotonic() - began), COUNT / (time.process_time() - worked)
        refs = [found.record.ref or "" for found in jobs]
        began = time.monotonic()
        known = engine.poll(refs)
        asked = time.monotonic() - began
        print(f"{rate:.0f} jobs/s submitted ({own:.0f} by the client's work), asked after in {asked:.2f} s")
        assert len(set(refs)) == COUNT and set(known) == set(refs)
        assert own >= 50
