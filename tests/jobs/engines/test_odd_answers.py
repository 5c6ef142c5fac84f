"""Services that answer nonsense: an error that names the address, the field and the value, never a traceback."""

from __future__ import annotations

import collections
import contextlib
import copy
import getpass
import http.server
import json
import logging
import random
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jobs.engines.kubernetes_jobs import build_list

from supercloud.errors import EngineError
from supercloud.jobs import api
from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.jobs.engines.slurm import nodes, texts, tokens
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store
from supercloud.jobs.transport import http as web
from supercloud.plan.build.kubernetes.names import STARTS_ANNOTATION
from supercloud.plan.model.plan import Plan
from supercloud.primitives import responses as answers
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

RECORDINGS = Path(__file__).parent.parent / "recordings"
ODD = [
    b"[]",
    b"null",
    b"1",
    b'"text"',
    b"",
    b"{",
    b"<html>",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"jobs": null}',
    b'{"nodes": [{}]}',
    b'{"jobs": [null]}',
    b'{"jobs": [{}]}',
    b'{"jobs": [{"job_id": {}}], "nodes": [{"name": 1}]}',
    b'{"errors": 7, "jobs": {}, "nodes": "many"}',
    b'{"items": null}',
    b'{"kind": "NodeList", "items": [null]}',
    b'{"kind": "NodeList", "items": [{"metadata": []}]}',
    b'{"kind": "NodeList", "items": [{"metadata": {"name": "a"}, "status": {"conditions": [{}]}}]}',
    b'{"kind": "NodeList", "items": [{"spec": 3}]}',
    b'{"status": 3}',
    b'{"metadata": {"creationTimestamp": "soon"}}',
]


class Server(http.server.BaseHTTPRequestHandler):
    """Answers every request except the first with a given response."""

    body = b"{}"
    code = 200
    location = ""
    short = False
    seen: list[str | None] = []

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        Server.seen.append(self.headers.get("X-SLURM-USER-TOKEN"))
        if int(self.headers.get("Content-Length") or 0):
            self.rfile.read(int(self.headers["Content-Length"]))
        body = b"{}" if self.path.endswith("/ping") and not Server.location else Server.body
        self.send_response(Server.code if not self.path.endswith("/ping") or Server.location else 200)
        if Server.location:
            self.send_header("Location", Server.location)
        self.send_header("Content-Length", str(len(body) + 5 * (Server.short and not self.path.endswith("/ping"))))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):
            self.wfile.write(body)

    do_POST = do_DELETE = do_GET


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    Server.body, Server.code, Server.location, Server.short, Server.seen = b"{}", 200, "", False, []
    monkeypatch.setenv("SLURM_JWT", "secret")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def list_questions(engine: Any) -> list[Callable[[], Any]]:
    """Everything that is asked of an engine."""
    ref = "1" if isinstance(engine, SlurmEngine) else "jobset/llm/a/1"
    return [
        lambda: engine.poll([ref]),
        engine.list_nodes,
        engine.list_waiting_jobs,
        lambda: engine.find(["k"], 1e9),
        lambda: engine.cancel(ref),
        lambda: engine.recall(ref),
    ]


def ask(question: Callable[[], Any]) -> str:
    """What is wrong with the answer; empty where it can be read."""
    try:
        question()
    except EngineError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_invalid_responses_of_slurmrestd_are_errors(address: str, body: bytes, tmp_path: Path) -> None:
    engine = SlurmEngine(Connection(engine="slurm", via=address), tmp_path)
    Server.body = body
    for code in (200, 500):
        Server.code = code
        for question in list_questions(engine):
            ask(question)
    Server.code = 200
    messages = ask(engine.list_nodes), ask(lambda: engine.poll(["1"]))
    assert all(text and address in text for text in messages)
    Server.short = True
    assert "closed the connection" in ask(engine.list_nodes)


def test_an_invalid_response_is_reported_with_address_field_and_value(address: str, tmp_path: Path) -> None:
    Server.body = b'{"nodes": [{"name": "a"}, {"name": 7, "state": [1]}]}'
    message = ask(SlurmEngine(Connection(engine="slurm", via=address), tmp_path).list_nodes)
    assert (
        f"GET {address}/slurm/" in message
        and "nodes[1].name is 7, not a string" in message
        and "nodes[1].state" in message
    )


@pytest.mark.slow
def test_recorded_responses_with_a_wrong_value_are_errors(address: str, tmp_path: Path) -> None:
    chance = random.Random(20261122)
    engine = SlurmEngine(Connection(engine="slurm", via=address), tmp_path)
    for name in ("jobs", "nodes", "accounts"):
        whole = json.loads((RECORDINGS / f"rest-{name}-26.05.json").read_text())
        for _ in range(60):
            Server.body = json.dumps(replace_one_value(copy.deepcopy(whole), chance)).encode()
            for question in list_questions(engine)[:4]:
                ask(question)


def replace_one_value(value: Any, chance: random.Random) -> Any:
    """The same with one value, anywhere in it, of another type."""
    place = value
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = chance.choice(keys)
        if isinstance(place[key], dict | list) and place[key] and chance.random() < 0.9:
            place = place[key]
            continue
        place[key] = chance.choice([None, [], {}, "x", -1, 1e400, True, [None], {"set": True, "number": "x"}])
        return value


@pytest.mark.parametrize("body", ODD, ids=range(len(ODD)))
def test_invalid_responses_of_kubernetes_are_errors(body: bytes, tmp_path: Path) -> None:
    class Odd:
        def send(self, method: str, path: str, data: bytes | None, kind: str) -> tuple[int, bytes]:
            return 200, body

    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path, Odd())
    for question in list_questions(engine):
        ask(question)
    assert "GET /api" in ask(engine.list_nodes) and "GET /apis" in ask(lambda: engine.poll(["jobset/llm/a/1"]))
    assert ask(lambda: engine.cancel("jobset/llm/a/1")), "it was not asked for"


HUGE = 10**30
ODD_JOBS: list[dict[str, Any]] = [
    {"restart_cnt": HUGE},
    {"restart_cnt": 1e30},
    {"restart_cnt": "9" * 26},
    {"restart_cnt": -1},
    {"job_state": ["FAILED"], "exit_code": {"return_code": {"set": True, "number": HUGE}, "signal": {}}},
    {"job_state": ["FAILED"], "exit_code": {"return_code": 1, "signal": {"id": HUGE}}},
    {"job_state": ["FAILED"], "exit_code": HUGE},
    {"job_state": ["FAILED"], "exit_code": "9" * 26},
    {"job_state": ["FAILED"], "exit_code": "9" * 5000},
    {"job_state": ["COMPLETED"], "end_time": 1e300},
    {"job_state": ["COMPLETED"], "end_time": HUGE},
    {"start_time": -1e18},
    {"start_time": 10**15},
    {"job_id": HUGE},
    {"array": {"job_id": "x"}},
    {"job_id": 7.5},
    {"job_state": ["PENDING"], "state_reason": "\ud800x"},
    {"job_state": ["\ud800x"]},
    {"comment": "supercloud:\udfff"},
    {"job_state": ["PENDING"], "state_reason": "\udce4 \U0001f600"},
]


@pytest.mark.parametrize("odd", ODD_JOBS, ids=range(len(ODD_JOBS)))
def test_values_that_the_store_cannot_have_are_rejected_or_corrected(
    address: str, plan: Plan, store: Store, odd: dict[str, Any]
) -> None:
    Server.body = b'{"job_id": 7, "errors": []}'
    job = JobSpec.model_validate({"name": "job", "command": ["true"]})
    held = api.submit(job, plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
    fine = {
        "job_id": 7,
        "job_state": ["RUNNING"],
        "comment": "supercloud:k",
        "state_reason": "None",
        "user_name": getpass.getuser(),
    }
    Server.body = json.dumps({"jobs": [fine | odd], "errors": []}).encode()
    problems = "".join(map(str, reconcile(store)))
    assert not problems or (address in problems and "invalid response" in problems) or "not a whole number" in problems
    record = store.get(held.id)
    "".join([problems, record.reason, *(event.note for event in held.list_events())]).encode()
    assert record.compute_run_time() < 1e12 and record.total_attempts < 2**33


def test_a_response_with_too_many_values_is_an_error(address: str, tmp_path: Path) -> None:
    """24 MiB of empty lists took 638 MiB; what is counted before it is read takes nothing."""
    Server.body = b'{"jobs":[],"x":[' + b"[]," * 2_100_000 + b"[]]}"
    engine = SlurmEngine(Connection(engine="slurm", via=address), tmp_path)
    tracemalloc.start()
    try:
        assert "more than 4,000,000 values" in ask(lambda: engine.poll(["7"]))
        assert tracemalloc.get_traced_memory()[1] < 8 * len(Server.body)
    finally:
        tracemalloc.stop()


def test_output_of_commands_is_read_line_by_line_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_MAX_LINES", 3)
    assert list(answers.iter_lines("a\n\nb\u2028c\nd", "squeue")) == ["a", "b\u2028c", "d"]
    row = "7|2|3|0|0|1|2|x\n"
    reads: list[tuple[Callable[[str], Any], str]] = [
        (texts.parse_queue, row),
        (texts.parse_accounts, row),
        (texts.parse_jobs, row),
        (nodes.parse_ends, "7|x\n"),
        (nodes.parse_waiting_jobs, row),
        (lambda text: [*nodes.parse_nodes(text, {})], "NodeName=x\n"),
    ]
    for read, line in reads:
        with pytest.raises(EngineError, match="the response has more than 3 lines"):
            read(line * 4)


def test_an_unset_number_can_have_any_value(address: str, tmp_path: Path) -> None:
    unset = {"set": False, "infinite": True, "number": 2**64 - 1}
    Server.body = json.dumps(
        {
            "jobs": [
                {
                    "job_id": 7,
                    "job_state": ["RUNNING"],
                    "comment": "supercloud:k",
                    "start_time": unset,
                    "end_time": unset,
                    "user_name": getpass.getuser(),
                }
            ]
        }
    ).encode()
    engine = SlurmEngine(Connection(engine="slurm", via=address), tmp_path)
    assert engine.poll(["7"])["7"].state is State.RUNNING


@pytest.mark.parametrize("nodes", [{"alloc_cpus": HUGE}, {"tres_used": "gres/gpu=" + "9" * 5000, "tres": "gres/gpu=8"}])
def test_a_node_with_excessive_counts_is_an_error(address: str, tmp_path: Path, nodes: dict[str, Any]) -> None:
    Server.body = json.dumps({"nodes": [{"name": "a", "state": ["IDLE"]} | nodes]}).encode()
    assert ask(SlurmEngine(Connection(engine="slurm", via=address), tmp_path).list_nodes)


ODD_OBJECTS: list[dict[str, Any]] = [
    {"status": {"restarts": HUGE}},
    {"status": {"restarts": "9" * 26}},
    {"metadata": {"annotations": {STARTS_ANNOTATION: "9" * 26}}},
    {"metadata": {"annotations": {STARTS_ANNOTATION: "9" * 5000}}},
    {"metadata": {"deletionTimestamp": "0001-01-01T00:00:00"}},
    {"status": {"conditions": [{"type": "Failed", "status": "True", "message": "failed with exit code " + "9" * 26}]}},
    {"status": {"conditions": [{"type": "Failed", "status": "True", "message": "\ud800x"}]}},
]


@pytest.mark.parametrize("odd", ODD_OBJECTS, ids=range(len(ODD_OBJECTS)))
def test_invalid_values_of_kubernetes_are_rejected_or_corrected(tmp_path: Path, odd: dict[str, Any]) -> None:
    class Odd:
        def send(self, method: str, path: str, data: bytes | None, kind: str) -> tuple[int, bytes]:
            item = {"spec": {"replicatedJobs": []}, **odd}
            item["metadata"] = {"name": "a", "uid": "u", "labels": {}, **odd.get("metadata", {})}
            place = path.partition("?")[0]
            return 200, json.dumps(build_list(place, [item] if "/jobsets" in path else [])).encode()

    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path, Odd())
    try:
        found = engine.poll(["jobset/llm/a/1"])["jobset/llm/a/1"]
    except EngineError as error:
        assert "invalid response" in str(error)
    else:
        assert found.attempt < 2**33 and (found.exit_code or 0) < 2**32
        found.reason.encode()


def test_a_refusal_of_kubernetes_is_valid_text(tmp_path: Path) -> None:
    class Refuses:
        def send(self, method: str, path: str, data: bytes | None, kind: str) -> tuple[int, bytes]:
            return 403, b'{"reason": "Forbidden", "message": "\\ud800x"}'

    message = ask(KubernetesEngine(Connection(engine="kubernetes"), tmp_path, Refuses()).list_nodes)
    assert message.encode() == b"?x"


def test_a_status_rejects_numbers_that_the_store_cannot_have() -> None:
    for odd in ({"attempt": HUGE}, {"exit_code": -HUGE}, {"started": 1e300}, {"ended": float("nan")}):
        with pytest.raises(EngineError, match="the (attempt|exit code|start|end) of a job is"):
            Status(State.FAILED, **odd)  # type: ignore[arg-type]
    assert Status(State.FAILED, reason="\ud800x\U0001f600").reason == "?x\U0001f600"


def test_invalid_output_of_commands_is_an_error() -> None:
    with pytest.raises(EngineError, match="CPUAlloc of a is 'x'"):
        list(nodes.parse_nodes("NodeName=a CPUAlloc=x State=IDLE", {}))
    with pytest.raises(EngineError, match="not a list of nodes"):
        nodes.parse_ends("5|a-[x-y]")
    with pytest.raises(EngineError, match="not a list of nodes"):
        nodes.parse_ends("5|a-[0-99999999999999999999]")
    for folded in ("a[1-99999999999999999]", "a[1-4194305]", "a[1-3],b[7,1-4194302]"):
        with pytest.raises(EngineError, match="exceeds the limit of 4,194,304 nodes"):
            collections.deque(nodes.expand_hosts(folded), maxlen=0)
    with pytest.raises(EngineError, match="exceeds the limit of"):
        nodes.parse_ends("5|a[1-3]\n5|b[1-4194302]\n")
    assert list(nodes.expand_hosts("a[3-1],b[08-10]")) == ["b08", "b09", "b10"]
    assert nodes.parse_ends(f"{'9' * 400}|a") == {}
    with pytest.raises(EngineError, match="the nodes of a job in batch is"):
        nodes.parse_waiting_jobs(f"batch|{'9' * 26}|Resources")
    with pytest.raises(EngineError, match="gres/gpu of a node is"):
        list(nodes.parse_nodes(f"NodeName=a CfgTRES=gres/gpu=8 AllocTRES=gres/gpu={'9' * 5000} State=IDLE", {}))


@pytest.mark.parametrize("key", ["checkpoint", "ssh", "ref", "lock", "log", "runs", "queue.db"])
def test_keys_equal_to_file_names_do_not_affect_other_jobs(key: str, plan: Plan, store: Store, address: str) -> None:
    Server.body = b'{"job_id": 7, "errors": []}'
    job = JobSpec.model_validate({"name": "job", "command": ["true"], "checkpoint": {"path": "/scratch/c"}})
    there = Connection(engine="slurm", via=address)
    for used in (key, "another"):
        assert api.submit(job, plan, engine=there, key=used, store=store).record.ref == "7"


def test_a_token_follows_no_redirect(address: str, tmp_path: Path) -> None:
    Server.location, Server.code = f"{address}/elsewhere", 302
    message = ask(SlurmEngine(Connection(engine="slurm", via=address), tmp_path).list_nodes)
    assert "redirects to" in message and "the token is not sent there" in message
    assert Server.seen == ["secret"], "asked once, where it was told to"


def test_proxies_of_the_environment_are_not_used(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Server.body = b'{"nodes": [{"name": "a"}]}'
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    engine = SlurmEngine(Connection(engine="slurm", via=address), tmp_path)
    assert [node.host for node in engine.list_nodes()] == ["a"]
    monkeypatch.setenv(web.PROXY_VARIABLE, "http://127.0.0.1:1")
    monkeypatch.setenv("SUPERCLOUD_SLURM_ADDRESS", "https://slurm.example")
    engine = SlurmEngine(Connection(engine="slurm", via="https://slurm.example"), tmp_path)
    assert "is unreachable" in (message := ask(engine.list_nodes)) and "proxy http://127.0.0.1:1" in message, (
        "the one asked for"
    )


def test_plain_http_to_other_machines_causes_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    web.warn_of_plaintext.cache_clear()
    with caplog.at_level(logging.WARNING):
        for address in ("http://127.0.0.1:6820", "http://localhost:1", "http://[::1]:1", "https://ctl1:6820"):
            web.warn_of_plaintext(address)
        assert not caplog.records
        web.warn_of_plaintext("http://ctl1:6820")
        web.warn_of_plaintext("http://ctl1:6820")
    assert len(caplog.records) == 1 and "in plain text" in caplog.text
