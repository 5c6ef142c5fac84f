"""Submission, lookup, cancellation and logs of jobs, against an API server in memory with a few of the real rules."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from jobs.engines.kubernetes_jobs import build_list, is_list

from supercloud.errors import EngineConfigurationError, EngineError
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.kubernetes import plugins
from supercloud.jobs.engines.kubernetes.api import ApiClient, ApiStatusError, ClusterTransport
from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.jobs.engines.submission import Submission
from supercloud.jobs.placement.place import Placement
from supercloud.jobs.placement.requests.kubernetes import KubernetesRequest
from supercloud.jobs.store.states import State
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

AT = Placement("pod", "train", 1, 8, 8, "h100-sxm", request=KubernetesRequest("kueue", "nvidia.com/gpu"))
SETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/llm/jobsets"


class Memory:
    """Objects by path; names are unique, and a deletion can specify the version."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str]] = []
        self.fail: Callable[[str, str], tuple[int, dict[str, Any]] | None] = lambda method, path: None
        self.logs: dict[str, bytes] = {}

    def send(self, method: str, path: str, body: bytes | None, kind: str) -> tuple[int, bytes]:
        url = urlsplit(path)
        self.requests.append((method, url.path))
        if answer := self.fail(method, url.path):
            return answer[0], json.dumps(answer[1]).encode()
        if url.path.endswith("/log"):
            return 200, self.logs[url.path]
        code, output = self.answer(method, url.path, json.loads(body) if body else {}, parse_qs(url.query))
        return code, json.dumps(output).encode()

    def answer(self, method: str, path: str, body: dict[str, Any], query: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if method == "POST":
            place = f"{path}/{body['metadata']['name']}"
            if place in self.objects:
                return 409, {"reason": "AlreadyExists", "message": "it is there"}
            number = len(self.objects)
            body["metadata"] |= {
                "uid": f"u{number}",
                "resourceVersion": "1",
                "creationTimestamp": "2026-11-21T00:00:00Z",
            }
            self.objects[place] = body
            return 201, body
        if path in self.objects:
            there = self.objects[path]
            if method == "DELETE":
                wanted = body.get("preconditions", {}).get("resourceVersion", there["metadata"]["resourceVersion"])
                if wanted != there["metadata"]["resourceVersion"]:
                    return 409, {"reason": "Conflict", "message": "it changed"}
                del self.objects[path]
            return 200, there
        found = [item for place, item in sorted(self.objects.items()) if place.startswith(f"{path}/")]
        if found or method == "GET" and is_list(path):
            return 200, build_list(path, found)
        return 404, {"reason": "NotFound", "message": "there is none"}


@pytest.fixture
def server() -> Memory:
    return Memory()


@pytest.fixture
def engine(server: Memory, tmp_path: Path) -> KubernetesEngine:
    return KubernetesEngine(Connection(engine="kubernetes"), tmp_path, server)


def prepare(engine: KubernetesEngine, key: str = "k", **fields: Any) -> Submission:
    defaults = {"name": "job", "command": ["x"], "image": "a/b:1", "tenant": "llm", "accelerators": {"count": 8}}
    return engine.prepare(JobSpec.model_validate(defaults | fields), AT, key)


def test_submitting_twice_creates_one_object(engine: KubernetesEngine, server: Memory, tmp_path: Path) -> None:
    one = engine.submit(prepare(engine))
    other = KubernetesEngine(Connection(engine="kubernetes"), tmp_path / "elsewhere", server).submit(prepare(engine))
    assert one == other and len(server.objects) == 1
    assert engine.submit(prepare(engine, "k2")) != one


def test_an_object_of_another_job_is_not_used(engine: KubernetesEngine, server: Memory) -> None:
    monday = prepare(engine, command=["monday"])
    ref = engine.submit(monday)
    for other in (prepare(engine, command=["tuesday"]), replace(monday, recorded=1.7e9)):
        with pytest.raises(
            EngineError, match="already exists, for another job.*kubectl delete --namespace llm jobsets"
        ):
            engine.submit(other)
        assert engine.find(["k"], time.time()) == {"k": None}, "what is there is not ours"
    assert engine.submit(monday) == ref and engine.find(["k"], time.time()) == {"k": ref}
    [there] = server.objects.values()
    del there["metadata"]["annotations"]  # of another user
    with pytest.raises(EngineError, match="for another job"):
        engine.submit(monday)
    engine.submit(prepare(engine, "array", array=2))
    with pytest.raises(EngineError, match="for another job"):
        engine.submit(prepare(engine, "array", array=2, command=["tuesday"]))


def test_an_array_has_one_object_per_task(engine: KubernetesEngine, server: Memory) -> None:
    ref = engine.submit(prepare(engine, array=4))
    names = sorted(place.rpartition("/")[2] for place in server.objects)
    assert [name[-2:] for name in names] == ["-0", "-1", "-2", "-3"]
    assert engine.poll([ref])[ref].state is State.QUEUED
    engine.cancel(ref)
    assert not server.objects


@pytest.mark.parametrize(
    "code, message",
    [
        (403, "kubectl auth can-i create jobsets --namespace llm"),
        (404, "check that namespace llm exists"),
        (400, "unknown field"),
        (401, "kubectl auth whoami"),
    ],
)
def test_a_refusal_has_a_next_step(engine: KubernetesEngine, server: Memory, code: int, message: str) -> None:
    server.fail = lambda method, path: (code, {"reason": "No", "message": "unknown field x"})
    with pytest.raises(EngineError, match=message) as refused:
        engine.submit(prepare(engine))
    assert not isinstance(refused.value, SubmissionUnknownError)


def test_a_key_is_looked_up_on_the_server_of_its_submission(
    engine: KubernetesEngine, server: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = engine.submit(prepare(engine))
    monkeypatch.setattr("time.time", lambda: 2e9)
    assert engine.find(["k", "other"], 2e9 - 10) == {"k": ref, "other": None}
    server.objects.clear()
    assert engine.find(["k"], 2e9 - 10) == {"k": None}, "it would still be there, even if it had ended"
    assert engine.find(["k"], 2e9 + 7200) == {}, "the date was set back: nobody knows how long ago that was"
    assert engine.find(["k"], 2e9 - 30 * 86400) == {}, "it may have ended and been cleaned up: who knows"


def test_only_a_waiting_job_is_recalled(engine: KubernetesEngine, server: Memory) -> None:
    waits, runs = engine.submit(prepare(engine, "a")), engine.submit(prepare(engine, "b"))
    place = next(place for place, item in server.objects.items() if item["metadata"]["uid"] == "u1")
    server.objects[place]["spec"]["suspend"] = False
    for ref in (waits, runs, waits):
        engine.recall(ref)
    assert list(server.objects) == [place]


def test_a_job_that_is_starting_is_not_recalled(engine: KubernetesEngine, server: Memory) -> None:
    ref = engine.submit(prepare(engine))
    ((place, item),) = server.objects.items()

    def start_meanwhile(method: str, path: str) -> None:
        if method == "DELETE":
            item["spec"]["suspend"] = False
            item["metadata"]["resourceVersion"] = "2"

    server.fail = start_meanwhile
    engine.recall(ref)
    assert list(server.objects) == [place]


def test_a_recall_that_always_conflicts_ends(
    engine: KubernetesEngine, server: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    ref = engine.submit(prepare(engine))
    conflict = {"reason": "Conflict", "message": "it changed"}
    server.fail = lambda method, path: (409, conflict) if method == "DELETE" else None
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    with pytest.raises(EngineError, match="each of 5 deletions with a conflict"):
        engine.recall(ref)
    assert pauses == sorted(pauses) and len(pauses) == 4
    assert [method for method, _ in server.requests].count("DELETE") == 5


def test_a_list_that_changed_too_much_is_read_again(server: Memory) -> None:
    pages = iter(
        [
            (200, build_list("pods", [{"n": 1}], "x")),
            (410, {"reason": "Expired"}),
            (200, build_list("pods", [{"n": 1}, {"n": 2}])),
        ]
    )
    server.fail = lambda method, path: next(pages)
    assert [item["n"] for item in ApiClient(server).iter_items("/api/v1/pods")] == [1, 1, 2]
    server.fail = lambda method, path: (410, {"reason": "Expired", "message": "too old"})
    with pytest.raises(ApiStatusError, match="too old"):
        list(ApiClient(server).iter_items("/api/v1/pods"))


def test_a_list_without_an_end_is_an_error(server: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    server.fail = lambda method, path: (200, build_list("pods", [], "again"))
    with pytest.raises(EngineError, match="the same continue token again: again"):
        list(ApiClient(server).iter_items("/api/v1/pods"))
    monkeypatch.setattr("supercloud.jobs.engines.kubernetes.api._MAX_PAGES", 7)
    server.requests.clear()
    server.fail = lambda method, path: (200, build_list("pods", [], str(len(server.requests))))
    with pytest.raises(EngineError, match="more than 7 pages"):
        list(ApiClient(server).iter_items("/api/v1/pods"))
    assert len(server.requests) == 7


def test_a_log_is_appended_and_remains_after_its_pods(engine: KubernetesEngine, server: Memory) -> None:
    engine.submit(prepare(engine))
    pods = "/api/v1/namespaces/llm/pods"
    for name in ("a", "b"):
        meta = {"name": name, "namespace": "llm", "uid": name}
        server.objects[f"{pods}/{name}"] = {"metadata": meta, "status": {"phase": "Running"}}
        server.logs[f"{pods}/{name}/log"] = f"2026-01-01T00:00:00.1Z {name} one\n2026-01-01T00:00:00.2Z unfini".encode()
    assert engine.read_log("k", 0) == b"a one\nb one\n"
    server.logs[f"{pods}/b/log"] = b"2026-01-01T00:00:00.1Z b one\n2026-01-01T00:00:00.2Z unfinished\n"
    assert engine.read_log("k", 12) == b"unfinished\n"
    server.objects.clear()
    assert engine.read_log("k", 0) == b"a one\nb one\nunfinished\n"
    assert engine.read_log("stranger", 0) == b""


@pytest.mark.slow
def test_a_missing_configuration_is_reported_with_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path)
    with pytest.raises(EngineError, match="set KUBECONFIG, or specify the connection"):
        engine.poll(["jobset/llm/job-1/1795226340"])


CONFIG = """
apiVersion: v1
kind: Config
current-context: here
contexts: [{{name: here, context: {{cluster: one, user: ann}}}}]
users: [{{name: ann, user: {{token: t}}}}]
clusters: {clusters}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "clusters",
    [
        "3",
        "[one]",
        "[{name: one, cluster: {server: 5}}]",
        "[{name: one, cluster: here}]",
        "[{name: one, cluster: {server: 'https://a.example', certificate-authority: missing.pem}}]",
        "[{name: one, cluster: {server: 'https://a.example', certificate-authority-data: bm9uZQ==}}]",
        "[{name: one, cluster: {server: 'https://a.example', certificate-authority-data: '*'}}]",
        "[{name: one, cluster: {server: 'https://a.example', proxy-url: 'http://[::1'}}]",
        "[{name: one, cluster: {server: 'https://a.example', proxy-url: 'b.example:3128'}}]",
        "[",
        "{a: !!python/none x}",
    ],
)
def test_errors_in_a_kubeconfig_are_reported(tmp_path: Path, clusters: str) -> None:
    (tmp_path / "config").write_text(CONFIG.format(clusters=clusters))
    with pytest.raises(EngineError):
        ClusterTransport(config_file=tmp_path / "config").send("GET", "/version", None, "")


def test_a_missing_or_broken_client_is_reported_with_the_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(ModuleType):
        def __getattr__(self, name: str) -> Any:
            raise TypeError("not for this Python")

    for module, words in ((None, "is not installed"), (Broken("kubernetes"), "cannot be loaded: TypeError")):
        monkeypatch.setitem(sys.modules, "kubernetes", module)
        with pytest.raises(EngineConfigurationError, match=f"{words}.*pip install"):
            ClusterTransport().load_client()


def write_plugin_config(path: Path, script: str) -> Path:
    """A kubeconfig whose credentials a shell script prints."""
    plugin = {"apiVersion": PLUGIN_VERSION, "command": "sh", "args": ["-c", script], "interactiveMode": "Never"}
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "one", "user": "ann"}}],
        "users": [{"name": "ann", "user": {"exec": plugin}}],
        "clusters": [{"name": "one", "cluster": {"server": "http://127.0.0.1:9"}}],
    }
    path.write_text(json.dumps(config))
    return path


PLUGIN_VERSION = "client.authentication.k8s.io/v1"


def test_a_credential_plugin_that_hangs_is_reported_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_TIMEOUT", 0.05)
    config = write_plugin_config(tmp_path / "config", "sleep 1000 & sleep 1000")
    with pytest.raises(EngineError, match="the credential plugin sh of the kubeconfig did not end within 0.05 s"):
        ClusterTransport(config_file=config).load_client()


@pytest.mark.parametrize(
    "script, message",
    [
        ("echo who are you >&2; exit 3", "failed with exit code 3: who are you"),
        ("echo '{}'", "did not print credentials: KeyError"),
        (f"""echo '{{"apiVersion": "{PLUGIN_VERSION}", "status": {{}}}}'""", "neither a token nor a certificate"),
    ],
)
def test_a_credential_plugin_that_fails_is_an_error(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(EngineError, match=f"the credential plugin sh of the kubeconfig .*{message}"):
        ClusterTransport(config_file=write_plugin_config(tmp_path / "config", script)).load_client()


def test_the_token_of_a_credential_plugin_is_used(tmp_path: Path) -> None:
    status = json.dumps({"apiVersion": PLUGIN_VERSION, "status": {"token": "from-plugin"}})
    transport = ClusterTransport(config_file=write_plugin_config(tmp_path / "config", f"echo '{status}'"))
    [credentials] = transport._client.configuration.auth_settings().values()
    assert credentials["value"] == "Bearer from-plugin"
