"""Jobs of a cluster under Kubernetes, as the objects that are sent."""

from __future__ import annotations

import getpass
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from jobs.engines.kubernetes_jobs import PLAN
from jobs.engines.scheduler_stand_in import (
    Scheduler,
    write_kubeconfig,
)

from supercloud.jobs.engines.kubernetes import connection
from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.jobs.engines.slurm import tokens
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.placement.place import Placement, place
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection
from supercloud.spec.loader import loads


@pytest.fixture(scope="module")
def kubernetes() -> Plan:
    return resolve(loads(PLAN))


@pytest.fixture
def made(kubernetes: Plan, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """The object of a job from its fields."""

    def make(plan: Plan = kubernetes, key: str = "key", **fields: Any) -> dict[str, Any]:
        defaults = {"name": "job", "command": ["train"], "image": "registry.example.com/a:1", "tenant": "llm"}
        if "script" in fields:
            del defaults["command"]
        job = JobSpec.model_validate(defaults | fields)
        at = place(job, plan)
        assert isinstance(at, Placement), at
        assert Placement.from_json(at.to_json()) == at
        engine = KubernetesEngine(Connection(engine="kubernetes", context="lab"), tmp_path)
        submission = engine.prepare(job, at, key)
        assert submission.argv == ("kubectl", "--context=lab", "create", "--filename=-")
        body: dict[str, Any] = yaml.safe_load(submission.stdin)
        return body

    return make


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    Scheduler.jobs, Scheduler.objects, Scheduler.next_responses, Scheduler.seen = [], {}, [], []
    Scheduler.refusing, Scheduler.ended = False, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scheduler)
    url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("SLURM_JWT", "secret")
    monkeypatch.setenv("LOGNAME", getpass.getuser())
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, url)
    monkeypatch.setattr(connection, "_RETRY_DELAYS", (0.0, 0.0))
    write_kubeconfig(tmp_path / "kubeconfig", url)
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield url
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def rest(address: str, tmp_path: Path) -> SlurmEngine:
    return SlurmEngine(Connection(engine="slurm", via=address), tmp_path)


@pytest.fixture
def cluster(address: str, tmp_path: Path) -> KubernetesEngine:
    return KubernetesEngine(Connection(engine="kubernetes"), tmp_path)
