"""Many jobs from one client at once; ``make bench-real`` measures the speed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from kube_world import World

from supercloud.jobs.api import submit
from supercloud.jobs.engines.base import open_engine
from supercloud.jobs.store.store import Store
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

COUNT = 200
THREADS = 8


def test_two_hundred_jobs_from_one_client(cluster: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each job has a separate object, and one poll returns all of them."""
    monkeypatch.setenv("KUBECONFIG", str(cluster.lab.kubeconfig))
    job = JobSpec.model_validate(
        {
            "name": "quick",
            "command": ["true"],
            "image": "registry.example.com/q:1",
            "tenant": "llm",
            "accelerators": {"type": "h100", "count": 8},
        }
    )
    connection = Connection(engine="kubernetes")
    with Store(tmp_path) as store, ThreadPoolExecutor(THREADS) as threads:
        engine = open_engine(connection, store.folder)
        jobs = list(threads.map(lambda _: submit(job, cluster.plan, engine=connection, store=store), range(COUNT)))
        refs = [found.record.ref or "" for found in jobs]
        known = engine.poll(refs)
        assert len(set(refs)) == COUNT and set(known) == set(refs)
