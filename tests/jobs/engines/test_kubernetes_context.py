"""A job is looked up on the server that has it: neither another context nor an odd answer ends it."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jobs.engines.kubernetes_jobs import build_list
from jobs.engines.scheduler_stand_in import Scheduler, build_job

from supercloud.errors import EngineConfigurationError, EngineError
from supercloud.jobs import api
from supercloud.jobs.broker.serve import Broker
from supercloud.jobs.engines import base
from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.jobs.fleet.connections import pin_connection
from supercloud.jobs.fleet.state import Cluster, Fleet
from supercloud.jobs.job import Job
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec.fleet import Connection, FleetMember, FleetSpec

CREATED = datetime(2026, 11, 21, tzinfo=UTC).timestamp()
JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/llm/jobsets"


class Servers:
    """API servers, each with a context of its name, and the kubeconfig."""

    def __init__(self, config: Path) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.urls: dict[str, str] = {}
        self._config = config
        self._running: list[tuple[http.server.ThreadingHTTPServer, threading.Thread]] = []

    def start(self, name: str) -> None:
        self.objects[name] = {}
        handler = type("Server", (Scheduler,), {"objects": self.objects[name]})
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self._running.append((server, thread))
        self.urls[name] = f"http://127.0.0.1:{server.server_port}"

    def stop(self) -> None:
        for server, thread in self._running:
            server.shutdown()
            server.server_close()
            thread.join()

    def configure(self, current: str, **urls: str) -> None:
        """Write the kubeconfig, as a later command reads it."""
        clusters = [{"name": name, "cluster": {"server": url}} for name, url in (self.urls | urls).items()]
        contexts = [{"name": name, "context": {"cluster": name, "user": "ann"}} for name in self.urls]
        users = [{"name": "ann", "user": {}}]
        text = {"current-context": current, "clusters": clusters, "contexts": contexts, "users": users}
        self._config.write_text(json.dumps(text))
        base._open_cached.cache_clear()


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Servers]:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    monkeypatch.setattr(time, "time", lambda: CREATED + 60)
    Scheduler.next_responses, Scheduler.refusing = [], False
    found = Servers(tmp_path / "config")
    for name in ("a", "b"):
        found.start(name)
    found.configure("a")
    yield found
    found.stop()


@pytest.fixture
def job(servers: Servers, kubernetes: Plan, store: Store) -> Job:
    return api.submit(build_job(), kubernetes, key="k", store=store)


def test_a_job_stays_in_the_context_in_which_it_was_submitted(servers: Servers, job: Job) -> None:
    connection = Connection.model_validate_json(job.record.connection)
    assert (connection.context, connection.server) == ("a", servers.urls["a"])
    servers.configure("b")
    assert not reconcile(job.store) and job.reload().state is State.QUEUED
    assert job.cancel() is State.CANCELLED and not servers.objects["a"]


def test_a_job_missing_on_another_server_is_unknown(servers: Servers, job: Job) -> None:
    servers.configure("a", a=servers.urls["b"])
    assert not reconcile(job.store) and job.reload().state is State.UNKNOWN
    assert f"context a leads to {servers.urls['b']}, not to {servers.urls['a']}" in job.record.reason
    with pytest.raises(EngineError, match="context a leads to"):
        job.cancel()
    servers.configure("a")
    assert not reconcile(job.store) and job.reload().state is State.QUEUED


def test_nothing_is_concluded_or_started_on_another_server(servers: Servers, job: Job) -> None:
    servers.configure("a", a=servers.urls["b"])
    engine = job._open_engine()
    assert isinstance(engine, KubernetesEngine) and job.record.ref
    [identity] = [base.JobIdentity("k", "s", "r")]
    assert not engine.find(["k"], CREATED) and not engine.find_submitted([identity], CREATED)
    assert engine.find(["never sent"], CREATED) == {"never sent": None}
    for ask in (lambda: engine.recall(job.record.ref or ""), lambda: engine.end_start(job.record.ref or "", identity)):
        with pytest.raises(EngineError, match="context a leads to"):
            ask()
    for start in (engine.require_reachable, engine.list_nodes):
        with pytest.raises(EngineConfigurationError, match="context a leads to"):
            start()


def test_a_job_recorded_without_a_context_is_looked_up_in_the_current_one(servers: Servers, job: Job) -> None:
    with job.store.transaction() as database:
        database.execute("UPDATE jobs SET connection = ?", ('{"engine":"kubernetes"}',))
    servers.configure("a")
    assert not reconcile(job.store) and job.reload().state is State.QUEUED
    servers.objects["a"].clear()
    assert not reconcile(job.store) and job.reload().state is State.CANCELLED


def test_jobs_of_a_broker_are_recorded_with_its_context(servers: Servers, kubernetes: Plan, store: Store) -> None:
    member = FleetMember(spec="pod.yaml", connect=Connection(engine="kubernetes"))
    broker = Broker(store, Fleet(FleetSpec(name="all", clusters=(member,)), (Cluster.from_plan(kubernetes, member),)))
    [cluster] = broker.context.fleet.clusters
    assert cluster.member.connect == Connection(engine="kubernetes", context="a", server=servers.urls["a"])


def test_a_connection_keeps_what_it_specifies(servers: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    named = pin_connection(Connection(engine="kubernetes", context="b", server="https://b.example"))
    assert named == Connection(engine="kubernetes", context="b", server="https://b.example")
    assert pin_connection(Connection(engine="slurm")) == Connection(engine="slurm")
    monkeypatch.delenv("KUBECONFIG")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    assert pin_connection(Connection(engine="kubernetes")).server == "https://[fd00::1]:443", "in a pod"


@pytest.mark.parametrize(
    "body", [{}, {"items": None}, {"items": []}, {"kind": "Status", "items": []}, build_list("pods", [])]
)
def test_a_response_that_is_not_a_list_of_jobs_is_an_outage(
    job: Job, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scheduler, "do_GET", lambda handler: handler.answer(200, body))
    [problem] = reconcile(job.store)
    assert "invalid response" in str(problem) and job.reload().state is State.QUEUED
    with pytest.raises(EngineError, match="invalid response"):
        job.cancel()
