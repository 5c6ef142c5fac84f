"""slurmrestd: answers of real ones (22.05 and 26.05), and a stand-in server that takes jobs."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import os
import pwd
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from supercloud.errors import EngineConfigurationError, EngineError
from supercloud.jobs.engines.base import JobCopies, SubmissionUnknownError
from supercloud.jobs.engines.batch import copies
from supercloud.jobs.engines.slurm import bodies, commands, rest, tokens
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.engines.submission import JobIdentity, compute_spec_digest
from supercloud.jobs.placement.place import Placement
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.jobs.store.states import State
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

RECORDINGS = Path(__file__).parent.parent / "recordings"
AT = Placement("pod", "train", 2, 8, 8, "h100-sxm", request=SlurmRequest("h100", "batch", "llm", "normal"))
Make = Callable[..., JobSpec]


EXIT_CODES = {"22.05": None, "26.05": 3}  # 22.05 writes 0 for all that ended without a signal: then it is not known
RELEASES = pytest.mark.parametrize("release", ["22.05", "26.05"])


def read_recording(name: str, release: str = "26.05") -> Any:
    return json.loads((RECORDINGS / f"rest-{name}-{release}.json").read_text())


def list_ids_by_name(jobs: list[dict[str, Any]]) -> dict[str, str]:
    """Name of a job -> its id, or that of its array."""
    return {job["name"]: bodies.read_job_id(job) for job in jobs}


@RELEASES
def test_jobs_are_parsed_from_each_release(release: str) -> None:
    jobs = read_recording("jobs", release)["jobs"]
    ids, found = list_ids_by_name(jobs), bodies.parse_queue(jobs)
    assert [(task.state, task.exit_code) for task in found[ids["good"]]] == [(State.COMPLETED, 0)]
    assert [(task.state, task.exit_code) for task in found[ids["bad"]]] == [(State.FAILED, 3)]
    assert sorted(str(task.state) for task in found[ids["array"]]) == ["COMPLETED", "FAILED", "FAILED"]
    [runs] = found[ids["runs"]]
    assert (runs.state, runs.attempt, runs.ended) == (State.RUNNING, 1, None) and runs.started
    [waits] = found[ids["waits"]]
    assert waits.state is State.QUEUED and waits.reason == "it is next; the nodes it needs are in use"
    assert len(copies.select_latest(bodies.parse_jobs(jobs))) == 5 and all(bodies.has_key(job) for job in jobs)
    assert [(item.partition, item.nodes) for item in bodies.parse_waiting_jobs(jobs)] == [(jobs[0]["partition"], 4)]


@RELEASES
def test_accounting_records_are_parsed_from_each_release(release: str) -> None:
    jobs = read_recording("accounts", release)["jobs"]
    ids, found = list_ids_by_name(jobs), bodies.parse_accounts(jobs)
    assert [(task.state, task.exit_code) for task in found[ids["bad"]]] == [(State.FAILED, EXIT_CODES[release])]
    assert len(found[ids["array"]]) == 3 and {ids["good"], ids["bad"]} <= set(
        copies.select_latest(bodies.parse_jobs(jobs)).values()
    )


@RELEASES
def test_nodes_are_parsed_from_each_release(release: str) -> None:
    states = sorted((node.state, node.in_use) for node in bodies.parse_nodes(read_recording("nodes", release)["nodes"]))
    assert states == [("up", 0), ("up", 0), ("up", 0), ("up", 8)]


def test_a_submission_has_the_fields_of_the_release(job: Make) -> None:
    asked = job(accelerators={"count": 16}, time_limit="90 s", array=2, after=["7"], retries=1)
    body = bodies.build_submission(commands.build_sbatch(asked, AT, "k", "/s/k/log"), "#!/bin/bash\n", "v0.0.45")["job"]
    assert body["time_limit"] == {"set": True, "infinite": False, "number": 2}
    assert (body["tasks"], body["nodes"], body["tres_per_node"]) == (2, "2", "gres/gpu:h100:8")
    assert (body["array"], body["dependency"], body["requeue"]) == ("0-1", "afterok:7", True)
    assert (body["comment"], body["script"], body["open_mode"]) == ("supercloud:k", "#!/bin/bash\n", ["APPEND"])
    with pytest.raises(EngineError, match="--exotic is not supported"):
        bodies.build_submission(("sbatch", "--exotic=1"), "", "v0.0.45")


@pytest.mark.parametrize("data_format, segment", [("v0.0.39", None), ("v0.0.40", None), ("v0.0.41", 4), ("v0.0.45", 4)])
def test_segments_are_sent_in_data_formats_that_have_them(data_format: str, segment: int | None) -> None:
    argv = ("sbatch", "--nodes=8", "--ntasks-per-node=2", "--segment=4")
    body = bodies.build_submission(argv, "", data_format)["job"]
    assert body.get("segment_size") == segment
    assert (body["tasks"], body["minimum_nodes"], body["maximum_nodes"]) == (16, 8, 8)


def test_a_submission_to_22_05_has_its_fields(job: Make) -> None:
    asked = job(accelerators={"count": 16}, time_limit="90 s", array=2, after=["7"], retries=1)
    at = replace(AT, begin=90.0)
    body = bodies.build_submission(commands.build_sbatch(asked, at, "k", "/s/k/log"), "#!/bin/bash\n", "v0.0.38")
    assert body["script"] == "#!/bin/bash\n" and "script" not in body["job"]
    sent = body["job"]
    assert (sent["time_limit"], sent["begin_time"], sent["exclusive"]) == ("0-00:01:30", "now+90seconds", "exclusive")
    assert (sent["tasks"], sent["nodes"], sent["gpus_per_node"]) == (2, "2", "h100:8")
    assert (sent["array"], sent["dependency"], sent["requeue"]) == ("0-1", "afterok:7", True)
    assert sent["kill_on_invalid_dependency"] is True and sent["environment"]["PATH"]
    with pytest.raises(EngineError, match="does not support --switches; use --via ssh:HOST for this cluster"):
        bodies.build_submission(("sbatch", "--switches=1@1-00:00:00"), "", "v0.0.38")


def test_a_drained_node_of_22_05_is_not_schedulable() -> None:
    values = [
        {"name": "a", "state": "idle", "state_flags": ["DRAIN"]},
        {"name": "b", "state": "down"},
        {"name": "c", "state": "mixed", "state_flags": []},
    ]
    assert [node.state for node in bodies.parse_nodes(values)] == ["drained", "down", "up"]


def test_the_user_name_is_sent_with_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    def format_token(payload: object) -> str:
        return f"e30.{base64.urlsafe_b64encode(json.dumps(payload).encode()).decode().rstrip('=')}.x"

    monkeypatch.setenv("LOGNAME", "ada")
    assert tokens.read_user(format_token({"exp": 1, "sun": "grace"})) == "grace"
    for odd in (
        "secret",
        "a.%%.c",
        format_token([]),
        format_token({"sun": 7}),
        format_token({"sun": "x\r\nHost: y"}),
        format_token({}),
    ):
        assert tokens.read_user(odd) == "ada"


def test_relative_times_are_counted_from_now(job: Make) -> None:
    at = replace(AT, begin=90.0, request=SlurmRequest("h100", "batch", "llm", "normal", licenses="solver:2"))
    now = time.time()
    body = bodies.build_submission(commands.build_sbatch(job(deadline="1 h"), at, "k", "/l"), "", "v0.0.45")["job"]
    assert 90 <= body["begin_time"]["number"] - now + 1 <= 92
    assert 3600 <= body["deadline"] - now + 1 <= 3602 and body["licenses"] == "solver:2"


class Server(http.server.BaseHTTPRequestHandler):
    """Takes jobs, and has the recorded ones besides."""

    jobs: dict[int, dict[str, Any]] = {}
    formats = ("v0.0.42", "v0.0.41")
    refuse = hang = is_expired = complains = always_complains = stuck = False
    held: list[bool] = []
    accounting = True
    error_text: str = ""  # of accounting, in addition to its list
    accounted: list[dict[str, Any]] = []

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, code: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with contextlib.suppress(BrokenPipeError):  # who asked did not wait
            self.wfile.write(data)

    def do_GET(self) -> None:
        assert self.headers["X-SLURM-USER-TOKEN"] == "secret" and self.headers["X-SLURM-USER-NAME"]
        if Server.is_expired:
            self.answer(401, [])
            return
        _, service, name, what, *rest = self.path.split("/")
        if name not in self.formats:
            self.answer(404, {"errors": [{"error": "Unable to find requested URL"}]})
        elif what == "ping":
            self.answer(200, {"errors": []})
        elif service == "slurmdb" and Server.accounting:
            self.answer(
                200, {"jobs": self.accounted, "errors": [{"description": self.error_text}] if self.error_text else []}
            )
        elif service == "slurmdb":
            self.answer(500, {"errors": [{"error": "Slurm accounting storage is disabled"}]})
        else:
            self.answer(200, {"jobs": list(self.jobs.values())})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.rpartition("/")[2].isdigit():
            self.hold(int(self.path.rpartition("/")[2]), body["hold"])
            return
        body = body["job"]
        if Server.refuse:
            self.answer(500, read_recording("refused"))
            return
        number = len(self.jobs) + 1
        self.jobs[number] = {
            "job_id": number,
            "comment": body["comment"],
            "job_state": ["RUNNING"],
            "user_name": self.headers["X-SLURM-USER-NAME"],
            "restart_cnt": {"set": True, "number": 0},
        }
        if Server.hang:
            time.sleep(0.5)
        self.answer(200, {"job_id": number, "errors": []})

    def hold(self, number: int, hold: bool) -> None:
        """Of an array what waits; 22.05 answers with an error where something of it runs."""
        Server.held.append(hold)
        if Server.stuck and not hold:
            self.answer(500, {"errors": [{"description": "Unable to contact slurm controller"}]})
            return
        tasks = [job for job in self.jobs.values() if number in (job["job_id"], job.get("array_job_id"))]
        for task in tasks:
            if task["job_state"] == ["PENDING"]:
                task["state_reason"] = "JobHeldUser" if hold else "Resources"
        begun = any(task["job_state"] != ["PENDING"] for task in tasks)
        if Server.always_complains or (Server.complains and begun):
            self.answer(500, {"errors": [{"description": "job array update failed"}]})
            return
        self.answer(200, {"errors": []})

    def do_DELETE(self) -> None:
        number = int(self.path.rsplit("/", 1)[1])
        if number not in self.jobs:
            self.answer(500, {"errors": [{"error": "Invalid job id specified"}]})
            return
        self.jobs[number]["job_state"] = ["CANCELLED"]
        self.answer(200, {"errors": []})


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmEngine]:
    Server.jobs, Server.refuse, Server.hang, Server.accounting, Server.error_text = {}, False, False, True, ""
    Server.is_expired, Server.accounted, Server.held = False, [], []
    Server.complains = Server.always_complains = Server.stuck = False
    monkeypatch.setenv("LOGNAME", pwd.getpwuid(os.getuid()).pw_name)
    monkeypatch.setenv("SLURM_JWT", "secret")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield SlurmEngine(Connection(engine="slurm", via=f"http://127.0.0.1:{server.server_port}"), tmp_path)
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_job_is_submitted_found_polled_and_cancelled(engine: SlurmEngine, job: Make) -> None:
    ref = engine.submit(engine.prepare(job(), AT, "k"))
    assert engine.controller.data_format == "v0.0.42"  # type: ignore[attr-defined]
    assert engine.find(["k", "other"], time.time()) == {"k": ref, "other": None}
    Server.accounting = False
    assert engine.find(["k", "other"], time.time()) == {"k": ref}, "other: it may have ended and been forgotten"
    assert engine.find(["other"], time.time() - 9999) == {}, "without accounts nobody can say"
    assert engine.poll([ref, "99"]) == {ref: engine.poll([ref])[ref]}
    engine.cancel(ref)
    engine.cancel("99")
    assert engine.poll([ref])[ref].state is State.CANCELLED
    assert engine.read_log("k", 0) == b""


def test_jobs_carry_the_digest_of_their_spec(engine: SlurmEngine, job: Make) -> None:
    digest = compute_spec_digest("{}")
    ref = engine.submit(replace(engine.prepare(job(), AT, "k"), spec=digest))
    Server.accounted = [
        {
            "job_id": 50,
            "user": pwd.getpwuid(os.getuid()).pw_name,
            "state": {"current": ["COMPLETED"]},
            "submit_line": f"sbatch --comment=supercloud:older:{digest[::-1]}",
        }
    ]
    assert engine.find(["k"], time.time()) == {"k": ref}
    assert engine.find_digests([ref, "50", "51"], time.time()) == {ref: digest, "50": digest[::-1]}


def test_jobs_of_other_users_are_ignored(engine: SlurmEngine, job: Make) -> None:
    mallory = {"job_id": 666, "comment": "supercloud:nightly", "job_state": ["RUNNING"], "user_name": "mallory"}
    Server.jobs = {666: mallory}
    assert engine.find(["nightly"], time.time()) == {"nightly": None}
    Server.accounted = [
        {
            "job_id": 666,
            "user": "mallory",
            "submit_line": "sbatch --comment=supercloud:nightly",
            "state": {"current": ["COMPLETED"]},
        }
    ]
    assert engine.find(["nightly"], time.time() - 9999) == {"nightly": None}
    assert engine.poll(["666"]) == {}, "nor is its number, should Slurm count from the beginning again"
    ref = engine.submit(engine.prepare(job(), AT, "nightly"))
    assert engine.find(["nightly"], time.time()) == {"nightly": ref} and ref != "666"


def test_a_job_without_a_user_name_is_identified_by_the_user_id(engine: SlurmEngine) -> None:
    ours = {"comment": "supercloud:k", "job_state": ["RUNNING"], "user_name": None, "user_id": os.getuid()}
    Server.jobs = {1: {**ours, "job_id": 1, "user_id": os.getuid() + 1}, 2: {**ours, "job_id": 2}}
    assert engine.find(["k"], time.time()) == {"k": "2"}
    del Server.jobs[1]["user_id"]
    with pytest.raises(EngineError, match="http://127.*cannot determine the user of job 1"):
        engine.find(["k"], time.time())


def build_array(*states: str) -> dict[int, dict[str, Any]]:
    """The tasks of an array with the id 7, as the service lists them."""
    user = pwd.getpwuid(os.getuid()).pw_name
    like = {"array_job_id": 7, "comment": "supercloud:k", "state_reason": "Resources", "user_name": user}
    return {7 + number: {**like, "job_id": 7 + number, "job_state": [state]} for number, state in enumerate(states)}


@pytest.mark.parametrize("complains", [False, True])
def test_the_remaining_tasks_of_a_started_array_are_released(engine: SlurmEngine, complains: bool) -> None:
    Server.complains, Server.jobs = complains, build_array("PENDING", "RUNNING", "PENDING")
    engine.recall("7/3")
    assert Server.held == [True, False]
    assert [job["state_reason"] for job in Server.jobs.values()] == ["Resources"] * 3
    Server.jobs = build_array("PENDING", "PENDING")
    engine.recall("7/2")
    assert Server.jobs[7]["job_state"] == ["CANCELLED"] and Server.held == [True, False, True]


def test_a_failed_release_is_an_error_with_a_next_step(engine: SlurmEngine) -> None:
    Server.stuck, Server.jobs = True, build_array("PENDING", "RUNNING")
    with pytest.raises(EngineError, match="job 7 was held for a recall.*contact slurm.*scontrol release 7"):
        engine.recall("7/2")


def test_another_job_of_the_key_does_not_hide_that_a_job_is_held(engine: SlurmEngine) -> None:
    """Its reason then begins with the other's id; 22.05 reports only by the reason whether it could hold or release."""
    other = build_array("PENDING")[7] | {"array_job_id": 0, "job_id": 90}
    Server.always_complains, Server.jobs = True, build_array("PENDING") | {90: dict(other)}
    engine.controller.recall("7")
    assert Server.jobs[7]["job_state"] == ["CANCELLED"] and Server.held == [True]
    Server.stuck, Server.jobs = True, build_array("PENDING", "RUNNING") | {90: dict(other)}
    with pytest.raises(EngineError, match="job 7 was held for a recall.*scontrol release 7"):
        engine.controller.recall("7/2")


def test_a_job_without_an_id_hides_no_other_and_is_not_submitted_again(
    engine: SlurmEngine,
) -> None:
    identity = JobIdentity("k", 16 * "a", 16 * "b")
    comment = f"supercloud:{':'.join(identity)}"
    one = {"comment": comment, "job_state": ["RUNNING"], "user_name": pwd.getpwuid(os.getuid()).pw_name}
    Server.jobs = {1: one | {"job_id": ""}, 2: one | {"job_id": 9}, 3: one | {"job_id": 10}}
    assert engine.poll(["9"])["9"].reason.startswith("Slurm has several copies of it: jobs 9 and 10;")
    assert engine.find(["k"], time.time()) == {"k": "10"}
    assert engine.find_copies({"9": identity}) == {"9": JobCopies(certain=("10",))}
    Server.jobs = {1: one | {"job_id": ""}}
    assert engine.find(["k", "other"], time.time()) == {"other": None}, "nobody can say which job of Slurm has the key"


def test_an_error_of_accounting_is_not_an_empty_list(engine: SlurmEngine) -> None:
    long_ago = time.time() - 9999
    Server.error_text = "Nothing found"
    assert engine.find(["k"], long_ago) == {"k": None}
    Server.error_text = "Unable to connect to database"
    assert engine.find(["k"], long_ago) == {}, "nobody knows: it must not be submitted again"


def test_a_refusal_has_a_next_step(engine: SlurmEngine, job: Make) -> None:
    Server.refuse = True
    with pytest.raises(EngineError, match="Invalid qos specification") as caught:
        engine.submit(engine.prepare(job(), AT, "k"))
    assert not isinstance(caught.value, SubmissionUnknownError)


def test_a_missing_response_is_not_a_refusal(engine: SlurmEngine, job: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine.controller.data_format  # type: ignore[attr-defined]
    Server.hang = True
    monkeypatch.setattr(rest, "_IDLE_TIMEOUT", 0.1)
    with pytest.raises(SubmissionUnknownError, match="timed out"):
        engine.submit(engine.prepare(job(), AT, "k"))
    monkeypatch.setattr(rest, "_IDLE_TIMEOUT", 10)
    assert engine.find(["k"], time.time()) == {"k": "1"}, "it was taken all the same"


def test_an_unreachable_service_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JWT", "secret")
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, "http://127.0.0.1:1")
    with pytest.raises(EngineError, match="is unreachable"):
        SlurmEngine(Connection(engine="slurm", via="http://127.0.0.1:1"), tmp_path).poll(["1"])


def test_a_rejected_token_is_reported_with_the_command_to_replace_it(engine: SlurmEngine) -> None:
    Server.is_expired = True
    with pytest.raises(EngineError, match="refused: .*401.*scontrol token.*SLURM_JWT"):
        engine.poll(["1"])


def test_a_rejected_token_is_not_a_response_of_accounting(engine: SlurmEngine) -> None:
    assert engine.controller.read_accounts(["1"]) == [], "its data format is known now"
    Server.is_expired = True
    for ask in (lambda: engine.controller.read_accounts(["1"]), lambda: engine.controller.read_older_jobs(9999)):
        with pytest.raises(EngineConfigurationError, match="renew the secret or SLURM_JWT"):
            ask()
