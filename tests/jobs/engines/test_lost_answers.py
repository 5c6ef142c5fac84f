"""One contract for every engine: a job that a scheduler may have taken is looked for, and never counted as refused.

Each scheduler here keeps the job that it is sent and then answers as real ones do when they, or something in front of
them, break. What it says where it refuses a job stays a refusal.
"""

from __future__ import annotations

import errno
import fcntl
import getpass
import http.server
import json
import os
import threading
import time
import traceback
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pytest

from supercloud.errors import EngineError
from supercloud.jobs import api, futures
from supercloud.jobs.engines import http as web
from supercloud.jobs.engines.base import SubmissionUnknownError
from supercloud.jobs.engines.kubernetes import connection
from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.jobs.engines.local import engine as local
from supercloud.jobs.engines.slurm import communication, tokens
from supercloud.jobs.engines.slurm import rest as rest_module
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.engines.slurm.runner import CommandResult
from supercloud.jobs.engines.submission import compute_spec_digest
from supercloud.jobs.job import Job
from supercloud.jobs.placement.place import Placement
from supercloud.jobs.placement.requests.kubernetes import KubernetesRequest
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

SLURM_AT = Placement("pod", "train", 1, 8, 8, "h100-sxm", request=SlurmRequest("h100"))
KUBERNETES_AT = replace(SLURM_AT, request=KubernetesRequest("kueue", "nvidia.com/gpu"))
RECORDINGS = Path(__file__).parent.parent / "recordings"
NO_ANSWER = "the connection is closed without an answer"


def slurm_error(number: int, text: str) -> dict[str, Any]:
    """As slurmrestd writes one."""
    return {
        "errors": [
            {
                "description": "Batch job submission failed",
                "error_number": number,
                "error": text,
                "source": "slurm_submit_batch_job()",
            }
        ]
    }


def status(code: int, reason: str, message: str) -> dict[str, Any]:
    """As an API server writes one."""
    return {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}


class Scheduler(http.server.BaseHTTPRequestHandler):
    """slurmrestd and an API server; what is posted is kept (unless it is ``refusing``) before the answer is given."""

    jobs: list[dict[str, Any]] = []
    objects: dict[str, dict[str, Any]] = {}
    said: list[tuple[int, Any]] = []
    ended: list[str] = []
    refusing = False
    seen: list[tuple[str, str | None]] = []

    def log_message(self, *_: Any) -> None:
        pass

    def answer(self, code: int, body: Any) -> None:
        if body == NO_ANSWER:
            self.close_connection = True
            return
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        place = self.path.partition("?")[0]
        Scheduler.seen.append((place, self.headers.get("Authorization")))
        if place.startswith("/slurm"):
            self.answer(200, {"jobs": self.jobs if place.endswith("jobs") else [], "errors": []})
        elif place in self.objects:
            self.answer(200, self.objects[place])
        else:
            self.answer(404, status(404, "NotFound", "there is none"))

    def do_DELETE(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        Scheduler.ended.append(self.path.rpartition("/")[2])
        self.answer(200, self.objects.pop(self.path, {}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        place = self.path.partition("?")[0]
        if self.said and Scheduler.refusing:
            self.answer(*self.said.pop(0))
            return
        if place.startswith("/slurm"):
            kept: dict[str, Any] = {
                "job_id": len(self.jobs) + 1,
                "comment": body["job"]["comment"],
                "job_state": ["RUNNING"],
                "user_name": getpass.getuser(),
            }
            self.jobs.append(kept)
            self.answer(*(self.said.pop(0) if self.said else (200, {"job_id": kept["job_id"], "errors": []})))
            return
        name = f"{place}/{body['metadata']['name']}"
        if name in self.objects:
            self.answer(409, status(409, "AlreadyExists", "it is there"))
            return
        body["metadata"] |= {"uid": name, "creationTimestamp": "2026-11-21T00:00:00Z"}
        self.objects[name] = body
        self.answer(*(self.said.pop(0) if self.said else (201, body)))


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    Scheduler.jobs, Scheduler.objects, Scheduler.said, Scheduler.seen = [], {}, [], []
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


def write_kubeconfig(path: Path, server: str, **cluster: str) -> None:
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "contexts": [{"name": "here", "context": {"cluster": "one", "user": "ann"}}],
                "users": [{"name": "ann", "user": {"token": "secret"}}],
                "clusters": [{"name": "one", "cluster": {"server": server, **cluster}}],
            }
        )
    )


def job(**fields: Any) -> JobSpec:
    said = {"name": "job", "command": ["x"], "image": "a/b:1", "tenant": "llm", "accelerators": {"count": 8}}
    return JobSpec.model_validate(said | fields)


def submitted(engine: Any, key: str = "k", recorded: float = 1795213461.25, **fields: Any) -> str:
    at = KUBERNETES_AT if isinstance(engine, KubernetesEngine) else SLURM_AT
    submission = replace(engine.prepare(job(**fields), at, key), recorded=recorded, spec=compute_spec_digest("{}"))
    ref: str = engine.submit(submission)
    return ref


# -- Slurm, by slurmrestd and by its commands --------------------------------------------------------------------------

BROKEN: list[tuple[int, Any]] = [
    (500, slurm_error(5004, "Socket timed out on send/recv operation")),
    (504, slurm_error(5004, "Socket timed out on send/recv operation")),
    (500, slurm_error(5005, "Zero Bytes were transmitted or received")),
    (500, {"errors": [{"error": "Zero Bytes were transmitted or received", "errno": 5005}]}),
    (502, slurm_error(1802, "Unable to contact slurm controller (receive failure)")),
    (500, slurm_error(1000, "Unexpected message received")),
    (500, slurm_error(1899, "an error of communication of a later release")),
    (500, slurm_error(errno.ECONNRESET, "Connection reset by peer")),
    (
        500,
        {
            "errors": [
                *slurm_error(2000, "Invalid partition name specified")["errors"],
                *slurm_error(5005, "Zero Bytes were transmitted or received")["errors"],
            ]
        },
    ),
    (500, {"errors": [{"error_number": True, "error": "x"}]}),
    (500, {"errors": [{"error_number": 0, "error": "x"}]}),
    (500, {"errors": [{"title": "Gateway Timeout", "status": "504"}]}),
    (500, {"errors": []}),
    (500, {}),
    (500, b""),
    (500, b"[]"),
    (502, b"<html>Bad Gateway</html>"),
    (503, b"busy"),
    (504, b"\xff"),
    (599, {"errors": 7}),
    (200, slurm_error(5004, "Socket timed out on send/recv operation")),
    (200, {"errors": [{"error": "Zero Bytes were transmitted or received"}]}),
    (200, {"job_id": 1.5}),
    (200, {"job_id": 0}),
    (200, {"job_id": -1}),
    (200, {"job_id": True}),
    (200, {}),
    (200, {"job_id": {"set": True, "number": 1.5}}),
    (200, b"{"),
    (200, NO_ANSWER),
    (500, {**slurm_error(2068, "Required node not available"), "job_id": 1.5}),
]
REFUSED: list[tuple[int, Any, str]] = [
    (500, json.loads((RECORDINGS / "rest-refused-26.05.json").read_text()), "Invalid qos specification"),
    (500, slurm_error(2000, "Invalid partition name specified"), "Invalid partition name"),
    (500, {"errors": [{"error": "Invalid partition name specified", "errno": 2000}]}, "Invalid partition name"),
    (500, {"errors": [{"error": "Invalid partition name specified", "error_code": 2000}]}, "Invalid partition name"),
    (500, slurm_error(-1, "Unspecified error"), "Unspecified error"),
    (500, slurm_error(errno.EAGAIN, "Resource temporarily unavailable"), "temporarily"),
    (502, slurm_error(1800, "Unable to contact slurm controller (connect failure)"), "connect failure"),
    (502, slurm_error(1804, "Rate limit exceeded, please retry momentarily"), "Rate limit"),
    (511, slurm_error(1007, "Protocol authentication error"), "authentication"),
    (400, {"errors": [{"description": "Unable to parse job"}]}, "Unable to parse"),
    (413, b"<html>Request Entity Too Large</html>", "413"),
    (413, {"errors": ["too large"]}, "413"),
    (401, b"expired", "SLURM_JWT"),
]


@pytest.fixture
def rest(address: str, tmp_path: Path) -> SlurmEngine:
    return SlurmEngine(Connection(engine="slurm", via=address), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("said", BROKEN, ids=range(len(BROKEN)))
def test_a_job_that_slurmrestd_took_and_answered_badly_is_found(rest: SlurmEngine, said: tuple[int, Any]) -> None:
    Scheduler.said = [said]
    with pytest.raises(SubmissionUnknownError):
        submitted(rest)
    assert rest.find(["k"], time.time()) == {"k": "1"}


@pytest.mark.parametrize("code, body, text", REFUSED, ids=range(len(REFUSED)))
def test_a_refusal_of_slurmrestd_stays_one(rest: SlurmEngine, code: int, body: Any, text: str) -> None:
    Scheduler.refusing, Scheduler.said = True, [(code, body)]
    with pytest.raises(EngineError, match=text) as caught:
        submitted(rest)
    assert not isinstance(caught.value, SubmissionUnknownError)


def test_a_job_that_was_taken_and_has_to_wait_is_no_refusal(rest: SlurmEngine) -> None:
    """Slurmctld gives the number of the job and an error that says why it cannot begin."""
    body = slurm_error(2068, "Required node not available (down, drained or reserved)") | {"job_id": 1}
    for code in (200, 500):
        Scheduler.said = [(code, body)]
        assert submitted(rest) == "1"


def test_every_error_of_communication_is_told_from_a_refusal_by_its_text() -> None:
    table = communication._load_table()
    for message in table["may_have_arrived"].values():
        assert communication.says_may_have_arrived(f"sbatch: error: Batch job submission failed: {message}"), message
    for message, _ in table["not_taken"].values():
        assert not communication.says_may_have_arrived(f"sbatch: error: Batch job submission failed: {message}"), (
            message
        )
    assert not table["may_have_arrived"].keys() & table["not_taken"].keys()
    assert communication.says_may_have_arrived(f"Batch job submission failed: {os.strerror(errno.EPIPE)}")


class Sbatch:
    """Keeps the job of sbatch, and then says what it is told to."""

    def __init__(self, said: CommandResult):
        self.said, self.comment = said, ""

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
        if "sbatch" in argv:
            self.comment = next(word.removeprefix("--comment=") for word in argv if word.startswith("--comment="))
            return self.said
        if "squeue" in argv:
            return CommandResult(0, f"{1:24}|{'RUNNING':24}|None|0|0|1795213461|1795213461|{self.comment}|\n")
        return CommandResult(1, "", "Slurm accounting storage is disabled\n")


@pytest.mark.parametrize(
    "said",
    [
        CommandResult(1, "", "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received\n"),
        CommandResult(1, "", "sbatch: error: Batch job submission failed: Unexpected message received\n"),
        CommandResult(-15, ""),
    ],
    ids=range(3),
)
def test_a_job_that_sbatch_submitted_before_it_failed_is_found(tmp_path: Path, said: CommandResult) -> None:
    engine = SlurmEngine(Connection(engine="slurm"), tmp_path, Sbatch(said))
    with pytest.raises(SubmissionUnknownError):
        submitted(engine)
    assert engine.find(["k"], time.time()) == {"k": "1"}


def test_a_job_whose_answer_was_lost_runs_once(address: str, plan: Plan, store: Store) -> None:
    """Through the store: the job is not FAILED, and who looks for it has it under its number."""
    Scheduler.said = [(500, slurm_error(5004, "Socket timed out on send/recv operation"))]
    with pytest.raises(SubmissionUnknownError, match="run: supercloud wait 1"):
        api.submit(job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
    assert not reconcile(store)
    assert (store.get(1).ref, store.get(1).state, len(Scheduler.jobs)) == ("1", State.QUEUED, 1)


LOST = (500, slurm_error(5004, "Socket timed out on send/recv operation"))


def test_a_job_that_the_controller_may_still_take_is_not_submitted_again_before_its_time_is_up(
    address: str, plan: Plan, store: Store
) -> None:
    """The answer is lost, and the queue does not list the job yet: it is looked for, and handed over once, later."""
    Scheduler.refusing, Scheduler.said = True, [LOST]
    with pytest.raises(SubmissionUnknownError):
        api.submit(job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
    Scheduler.refusing = False
    for later in (0, 0, 60, SlurmEngine.late_arrival - 10):
        assert not reconcile(store, clock=lambda later=later: time.monotonic() + later)
        assert (store.get(1).state, Scheduler.jobs) == (State.SUBMITTING, [])
        assert "submission unknown, looked up again until 20" in store.get(1).reason
    assert not reconcile(store, clock=lambda: time.monotonic() + SlurmEngine.late_arrival + 1)
    assert (store.get(1).ref, store.get(1).reason, len(Scheduler.jobs)) == ("1", "", 1)


def test_a_job_of_which_slurm_cannot_say_whether_it_was_there_is_not_submitted_again(
    address: str, plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without accounts, once the controller may have forgotten it."""
    Scheduler.refusing, Scheduler.said = True, [LOST]
    with pytest.raises(SubmissionUnknownError):
        api.submit(job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
    Scheduler.refusing = False
    monkeypatch.setattr(rest_module.RestController, "read_older_jobs", lambda self, seconds: None)
    assert not reconcile(store) and "looked up again until" in store.get(1).reason
    assert not reconcile(store, clock=lambda: time.monotonic() + SlurmEngine.late_arrival + 1)
    assert (
        "cannot determine whether it has the job, which" in store.get(1).reason and "the key k" in store.get(1).reason
    )
    assert not Scheduler.jobs and store.get(1).state is State.SUBMITTING


def test_a_job_that_appears_while_it_is_looked_for_runs_once(address: str, plan: Plan, store: Store) -> None:
    Scheduler.said = [LOST]
    with pytest.raises(SubmissionUnknownError):
        api.submit(job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
    late, Scheduler.jobs = Scheduler.jobs, []
    assert not reconcile(store) and store.get(1).ref is None
    assert api.submit(job(), plan, key="k", store=store).record.state is State.SUBMITTING
    Scheduler.jobs = late
    assert not reconcile(store) and (store.get(1).ref, len(Scheduler.jobs)) == ("1", 1)


def test_two_jobs_of_one_key_are_told_of_and_cancelled_together(rest: SlurmEngine, tmp_path: Path) -> None:
    ended, ref, again = submitted(rest), submitted(rest), submitted(rest)
    submitted_other, of_another_store = submitted(rest, "other"), submitted(rest, recorded=1795213461.5)
    Scheduler.jobs[0]["job_state"] = ["COMPLETED"]
    said = rest.poll([ended, ref, again, submitted_other, of_another_store])
    for number in (ref, again):
        assert (
            "several copies of it: jobs 2 and 3; cancel it to end them all; Slurm also has job 5 of the same key, which"
            in (said[number].reason)
        )
    assert said[of_another_store].reason == "Slurm also has jobs 2 and 3 of the same key, which cancel does not end"
    assert not said[ended].reason and not said[submitted_other].reason
    rest.cancel(of_another_store)
    assert Scheduler.ended == ["5"]
    rest.cancel(ref)
    assert Scheduler.ended == ["5", "2", "3"]

    class Queue:
        ran: list[str] = []

        def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
            self.ran += argv[1:] if argv[0] == "scancel" else ()
            rows = [(1, "COMPLETED", "k"), (2, "RUNNING", "k"), (3, "PENDING", "k"), (4, "RUNNING", "other")]
            return CommandResult(
                0,
                "".join(
                    f"{number}|{state}|None|0|0|1795213461|1795213461|supercloud:{key}:{16 * 'a'}:{16 * 'b'}|\n"
                    for number, state, key in rows
                ),
            )

    by_commands = SlurmEngine(Connection(engine="slurm"), tmp_path, Queue())
    assert "several copies of it: jobs 2 and 3" in by_commands.poll(["2"])["2"].reason
    by_commands.cancel("2")
    assert Queue.ran == ["2", "3"]


@pytest.mark.parametrize("kept", [3, 2, 1], ids=["another record", "an earlier version", "without digests"])
@pytest.mark.parametrize("is_forgotten", [False, True], ids=["another store", "forgotten"])
def test_a_job_whose_answer_was_lost_is_not_the_job_of_another_record(
    address: str, plan: Plan, store: Store, tmp_path: Path, kept: int, is_forgotten: bool
) -> None:
    """Two records of one key and an equal spec: the second is looked for, and submitted itself in the end."""
    at = Connection(engine="slurm", via=address)
    with Store(tmp_path / "other") as other:
        api.submit(job(), plan, engine=at, key="k", store=store if is_forgotten else other)
    Scheduler.jobs[0]["comment"] = ":".join(Scheduler.jobs[0]["comment"].split(":")[: kept + 1])
    if is_forgotten:
        with store.transaction() as database:
            database.execute("DELETE FROM events")
            database.execute("DELETE FROM jobs")
    Scheduler.refusing, Scheduler.said = True, [LOST]
    with pytest.raises(SubmissionUnknownError):
        api.submit(job(), plan, engine=at, key="k", store=store)
    Scheduler.refusing = False
    assert not reconcile(store)
    [record] = store.select()
    assert (record.ref, record.state) == (None, State.SUBMITTING)
    said = "slurm has job 1 with key k, which was submitted for another record"
    assert said in record.reason and "it is not changed" in record.reason
    assert not reconcile(store, clock=lambda: time.monotonic() + SlurmEngine.late_arrival + 1)
    assert (store.get(record.id).ref, len(Scheduler.jobs), Scheduler.ended) == ("2", 2, [])
    assert [event.note for event in store.list_events(record.id) if said in event.note]


class Queue:
    """A controller and its commands: jobs as number -> state, all of one key; it forgets and ends what it is told."""

    def __init__(self, jobs: dict[int, str], comment: str = f"supercloud:k:{16 * 'a'}:{16 * 'b'}"):
        self.jobs, self.comment, self.forgotten = jobs, comment, dict[int, str]()
        self.begins: set[int] = set()

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
        if "scancel" in argv:
            number = int(argv[-1])
            self.jobs |= dict.fromkeys(self.begins, "RUNNING")
            if self.jobs.get(number) in (("PENDING",) if "--state=PENDING" in argv else ("PENDING", "RUNNING")):
                self.jobs[number] = "CANCELLED"
        if "squeue" in argv:
            return CommandResult(
                0,
                "".join(
                    f"{number}|{state}|None|0|0|1795213461|1795213461|{self.comment}|\n"
                    for number, state in self.jobs.items()
                ),
            )
        if any(word.startswith("--jobs=") for word in argv):
            return CommandResult(
                0,
                "".join(
                    f"{number}|{state}|0:0|1795213461|1795213461|None\n" for number, state in self.forgotten.items()
                ),
            )
        return CommandResult(0, "")


class Amnesiac:
    """Slurm without accounts, whose controller forgets at once; whoever runs sbatch is killed."""

    def run(self, argv: Sequence[str], stdin: IO[bytes] | None = None) -> CommandResult:
        if "sbatch" in argv:
            os._exit(9)
        if "sacct" in argv:
            return CommandResult(1, "", "Slurm accounting storage is disabled\n")
        return CommandResult(0, "MinJobAge               = 60 sec\n" if "scontrol" in argv else "")


@pytest.mark.slow
def test_the_record_of_a_job_whose_submitter_was_killed_says_what_is_known_of_it(
    tmp_path: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Also where Slurm never can say whether it has the job; time is counted from the end of its sbatch."""
    folder = tmp_path / "jobs"
    engine = SlurmEngine(Connection(engine="slurm"), folder, Amnesiac())
    for module in ("api", "reconcile", "futures"):
        monkeypatch.setattr(f"supercloud.jobs.{module}.open_engine", lambda *_: engine)
    monkeypatch.setattr(SlurmEngine, "require_reachable", lambda self: None)
    child = os.fork()
    if child == 0:
        try:
            api.submit(job(), plan, engine=Connection(engine="slurm"), key="k", store=Store(folder))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with Store(folder) as store:
        with open(folder / "slurm" / "k" / "script") as sbatch:
            fcntl.flock(sbatch, fcntl.LOCK_EX)
            assert not reconcile(store)
            assert "the submission to slurm has not" in store.get(1).reason
        futures.wait([api.get(1, store)], 0.0)
        assert (said := store.get(1).reason).startswith("submission unknown, looked up again until 20")
        assert [record.message for record in caplog.records] == [f"job 1 (job, key k) is SUBMITTING: {said}"]
        assert not reconcile(store, clock=lambda: time.monotonic() + SlurmEngine.late_arrival + 1)
        assert "slurm cannot determine whether it has the job, which" in store.get(1).reason
        assert store.get(1).state is State.SUBMITTING


def submitted_twice(address: str, plan: Plan, store: Store) -> Job:
    """A job whose first submission got no answer, and which was submitted again when its time was up."""
    Scheduler.refusing, Scheduler.said = True, [LOST]
    with pytest.raises(SubmissionUnknownError):
        api.submit(job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=store)
    Scheduler.refusing = False
    assert not reconcile(store, clock=lambda: time.monotonic() + SlurmEngine.late_arrival + 1)
    assert (store.get(1).ref, len(Scheduler.jobs)) == ("1", 1)
    return api.get(1, store)


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_job_that_ended_while_another_of_its_key_lives_says_so_and_cancel_ends_the_other(
    address: str, plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch, is_forgotten: bool
) -> None:
    """Whether the controller still lists the one that ended or only the accounts know it."""
    first = submitted_twice(address, plan, store)
    queue = Queue({1: "COMPLETED", 2: "RUNNING", 3: "PENDING"}, Scheduler.jobs[0]["comment"])
    if is_forgotten:
        queue.forgotten = {1: queue.jobs.pop(1)}
    engine = SlurmEngine(Connection(engine="slurm"), store.folder, queue)
    monkeypatch.setattr("supercloud.jobs.reconcile.open_engine", lambda *_: engine)
    monkeypatch.setattr("supercloud.jobs.job.open_engine", lambda *_: engine)
    assert first.wait(60) is State.COMPLETED
    assert "slurm still had jobs 2 and 3 of the same key; to cancel them: supercloud cancel 1" in first.record.reason
    assert first.cancel() is State.COMPLETED
    assert (queue.jobs[2], queue.jobs[3]) == ("CANCELLED", "CANCELLED")
    assert [event.note for event in first.list_events()][-1].startswith("cancellation of slurm job 3, a copy of job 1")
    queue.comment = f"supercloud:k:{16 * '0'}:{16 * '0'}"  # the jobs of somebody who used the key for another spec
    queue.jobs = {5: "RUNNING"}
    first.cancel()
    assert queue.jobs == {5: "RUNNING"}


@pytest.mark.slow
@pytest.mark.parametrize("kept", [3, 2], ids=["another store", "an earlier version"])
def test_cancel_ends_no_job_of_the_same_key_and_spec_that_it_did_not_submit(
    address: str,
    plan: Plan,
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    kept: int,
) -> None:
    """A runner of CI that is set up for every run has a store of its own, and may use the same key every night."""
    mine = submitted_twice(address, plan, store)
    with Store(tmp_path / "other") as other:
        theirs = api.submit(job(), plan, engine=Connection(engine="slurm", via=address), key="k", store=other)
        [own, comment] = [one["comment"] for one in Scheduler.jobs]
        assert own.split(":")[:3] == comment.split(":")[:3] and own != comment
        Scheduler.jobs[1]["comment"] = comment if kept == 3 else ":".join(comment.split(":")[:3])
        assert not reconcile(store)
        assert store.get(1).reason == "Slurm also has job 2 of the same key, which cancel does not end"
        Scheduler.jobs[0]["job_state"] = ["COMPLETED"]
        assert mine.wait(60) is State.COMPLETED
        assert "supercloud cancel" not in mine.record.reason
        assert "slurm still had job 2 of the same key, not ended by cancel" in mine.record.reason
        assert mine.cancel() is State.COMPLETED and not Scheduler.ended
        assert caplog.messages[-1].startswith("note: slurm has job 2 of the same key as job 1, which is not cancelled")
        theirs.cancel()
        assert Scheduler.ended == ["2"]


@pytest.mark.parametrize(
    "jobs, begins, left",
    [
        ({100: "PENDING", 101: "PENDING"}, set(), {100: "CANCELLED", 101: "CANCELLED"}),
        ({100: "RUNNING", 101: "PENDING"}, set(), {100: "RUNNING", 101: "PENDING"}),
        ({100: "PENDING", 101: "PENDING"}, {100}, {100: "RUNNING", 101: "PENDING"}),
        ({100: "PENDING", 101: "PENDING"}, {101}, {100: "CANCELLED", 101: "RUNNING"}),
        ({100: "CONFIGURING", 101: "PENDING"}, set(), {100: "CONFIGURING", 101: "PENDING"}),
        ({100: "REQUEUED", 101: "PENDING"}, set(), {100: "REQUEUED", 101: "PENDING"}),
    ],
)
def test_all_jobs_of_a_key_are_taken_back_or_none_is(
    tmp_path: Path, jobs: dict[int, str], begins: set[int], left: dict[int, str]
) -> None:
    """Also where one begins while they are asked back."""
    queue = Queue(dict(jobs))
    queue.begins = begins
    SlurmEngine(Connection(engine="slurm"), tmp_path, queue).recall("101")
    assert queue.jobs == left


# -- Kubernetes --------------------------------------------------------------------------------------------------------

ODD: list[tuple[int, Any]] = [
    (500, status(500, "InternalError", "etcdserver: request timed out")),
    (504, status(504, "Timeout", "Timeout: request did not complete within requested timeout")),
    (502, b"<html>"),
    (500, b""),
    (500, b"[]"),
    (500, status(500, "", "conversion webhook for jobsets failed")),
    (201, {}),
    (201, {"metadata": None}),
    (201, {"metadata": {"name": "zz"}}),
    (201, {"metadata": {}}),
    (201, b"[]"),
    (201, {"metadata": {"name": "zz", "creationTimestamp": "soon"}}),
    (200, b""),
    (201, {"items": []}),
    (201, {"metadata": {"name": "zz", "creationTimestamp": "0001-01-01T00:00:00Z"}}),
]


@pytest.fixture
def cluster(address: str, tmp_path: Path) -> KubernetesEngine:
    return KubernetesEngine(Connection(engine="kubernetes"), tmp_path)


@pytest.mark.parametrize("said", ODD, ids=range(len(ODD)))
def test_an_object_that_was_created_and_answered_badly_is_found(
    cluster: KubernetesEngine, said: tuple[int, Any]
) -> None:
    Scheduler.said = [said]
    with pytest.raises(SubmissionUnknownError):
        submitted(cluster)
    [ref] = cluster.find(["k"], time.time()).values()
    assert ref and submitted(cluster) == ref and len(Scheduler.objects) == 1


@pytest.mark.parametrize("first", [(200, NO_ANSWER), (503, b"busy")], ids=["broken", "busy"])
@pytest.mark.parametrize(
    "then",
    [
        (403, status(403, "Forbidden", "exceeded quota: count/jobsets.jobset.x-k8s.io=1")),
        (400, b"x"),
        (500, b"x"),
    ],
)
def test_a_refusal_after_a_try_that_broke_says_nothing_about_that_try(
    cluster: KubernetesEngine, first: tuple[int, Any], then: tuple[int, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def keep_then_refuse(handler: Scheduler) -> None:
        Scheduler.refusing = bool(Scheduler.objects)
        kept(handler)

    kept = Scheduler.do_POST
    monkeypatch.setattr(Scheduler, "do_POST", keep_then_refuse)
    Scheduler.said = [first, then]
    with pytest.raises(SubmissionUnknownError):
        submitted(cluster)
    assert cluster.find(["k"], time.time())["k"]


@pytest.mark.parametrize(
    "message",
    [
        'Internal error occurred: failed calling webhook "mjobset.kb.io": no endpoints available for service',
        'admission webhook "mjobset.kb.io" denied the request: it cannot be decoded',
    ],
)
def test_what_a_webhook_kept_from_being_stored_is_a_refusal(cluster: KubernetesEngine, message: str) -> None:
    Scheduler.refusing, Scheduler.said = True, [(500, status(500, "InternalError", message))]
    with pytest.raises(EngineError, match="refused the job.*webhook") as caught:
        submitted(cluster)
    assert not isinstance(caught.value, SubmissionUnknownError)


def fail_posts(monkeypatch: pytest.MonkeyPatch, answers: dict[str, tuple[int, Any]]) -> None:
    """Answer so in place of creating the objects whose names end so."""

    def send(engine_send: Callable[..., tuple[int, bytes]]) -> Callable[..., tuple[int, bytes]]:
        def sent(pools: Any, method: str, url: str, body: bytes | None, headers: Any) -> tuple[int, bytes]:
            name = json.loads(body)["metadata"]["name"] if method == "POST" and body else ""
            for ending, (code, said) in answers.items():
                if name.endswith(ending):
                    return code, json.dumps(said).encode()
            return engine_send(pools, method, url, body, headers)

        return sent

    monkeypatch.setattr(connection, "send", send(connection.send))


@pytest.mark.parametrize("refused", ["-0", "-1", "-2"])
def test_of_an_array_that_is_refused_nothing_is_left(
    cluster: KubernetesEngine, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    fail_posts(monkeypatch, {refused: (403, status(403, "Forbidden", "exceeded quota"))})
    with pytest.raises(EngineError, match="exceeded quota") as caught:
        submitted(cluster, array=3)
    assert not isinstance(caught.value, SubmissionUnknownError) and not Scheduler.objects


def test_the_last_object_of_an_array_is_there_only_with_all_others(
    cluster: KubernetesEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        fail_posts(broken, {"-0": (403, status(403, "Forbidden", "no")), "-1": (500, status(500, "", "timed out"))})
        with pytest.raises(SubmissionUnknownError, match="timed out"):
            submitted(cluster, array=4)
    assert cluster.find(["k"], time.time()) == {"k": None}
    ref = submitted(cluster, array=4)
    assert len(Scheduler.objects) == 4 and cluster.find(["k"], time.time()) == {"k": ref}


def test_an_object_of_another_record_is_not_that_of_a_job_whose_submitter_was_killed(
    cluster: KubernetesEngine, address: str
) -> None:
    """What lies here under the key is of a job that the store has forgotten."""
    submitted(cluster)
    again = replace(cluster.prepare(job(), KUBERNETES_AT, "k"), recorded=1795213999.5, spec=compute_spec_digest("{}"))
    [found] = cluster.find_submitted([again.identity], time.time()).values()
    assert found.ref is None and len(found.others) == 1 and found.others[0].startswith("llm/job-")
    with pytest.raises(EngineError, match="already exists, for another job"):
        cluster.submit(again)
    assert len(Scheduler.objects) == 1


def test_a_start_is_ended_only_where_its_objects_are_there(cluster: KubernetesEngine) -> None:
    ref = submitted(cluster)
    again = replace(cluster.prepare(job(), KUBERNETES_AT, "k"), recorded=1795213461.25, spec=compute_spec_digest("{}"))
    cluster.end_start(ref, replace(again, recorded=1795213999.5).identity)
    assert not Scheduler.ended
    cluster.end_start(ref, again.identity)
    assert len(Scheduler.ended) == 1 and not Scheduler.objects
    cluster.end_start(ref, again.identity)


# -- this machine ------------------------------------------------------------------------------------------------------


def test_a_job_in_the_queue_of_this_machine_is_not_refused_where_no_agent_can_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = local.LocalEngine(Connection(engine="local"), tmp_path)

    def no_process(*_: Any) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(local, "ensure_agent", no_process)
    with pytest.raises(SubmissionUnknownError, match="temporarily unavailable"):
        engine.submit(engine.prepare(job(image=None), SLURM_AT, "k"))
    assert engine.find(["k"], 0.0) == {"k": "1"}


# -- where the token goes ----------------------------------------------------------------------------------------------


def test_the_token_of_a_kubeconfig_goes_over_no_plain_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "kubeconfig"))
    write_kubeconfig(tmp_path / "kubeconfig", "http://192.0.2.1:8080")
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path)
    for ask in (engine.require_reachable, engine.list_nodes, lambda: submitted(engine)):
        with pytest.raises(
            EngineError, match="http://192.0.2.1:8080: plain http: the token is not sent in plain text.*https"
        ):
            ask()


def test_a_proxy_of_the_environment_is_not_used(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At an address where nobody answers: the stand-in would take the request as a proxy does."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, address)
    write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1")
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path)
    with pytest.raises(EngineError, match="unreachable.*proxy of the environment is not used.*proxy-url"):
        engine.list_nodes()
    assert not Scheduler.seen


@pytest.mark.parametrize("named", ["kubeconfig", "SUPERCLOUD_PROXY"])
def test_a_proxy_that_is_asked_for_is_used_but_sees_no_token(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    asked = {"proxy-url": address} if named == "kubeconfig" else {}
    if not asked:
        monkeypatch.setenv("SUPERCLOUD_PROXY", address)
    write_kubeconfig(tmp_path / "kubeconfig", "https://cluster.example", **asked)
    with pytest.raises(EngineError, match="Tunnel connection failed: 501"):  # what the stand-in says to CONNECT
        KubernetesEngine(Connection(engine="kubernetes"), tmp_path).list_nodes()
    write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:1" if asked else "http://192.0.2.1:1", **asked)
    with pytest.raises(EngineError, match="plain http through a proxy: the token is not sent"):
        KubernetesEngine(Connection(engine="kubernetes"), tmp_path).list_nodes()
    assert not Scheduler.seen


def test_a_proxy_that_refuses_a_tunnel_leaves_no_socket_open(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERCLOUD_PROXY", address)
    with pytest.raises(urllib.error.URLError, match="Tunnel connection failed: 501") as caught:
        web.send(urllib.request.Request("https://slurm.example"), 60)
    # every frame of the error is still there, as in a cycle of objects that is collected later: none holds a response
    frames = (frame for frame, _ in traceback.walk_tb(caught.value.reason.__cause__.__traceback__))  # type: ignore[union-attr]
    assert not [frame for frame in frames if "response" in frame.f_locals]


def test_a_proxy_of_the_variable_gets_nothing_that_is_for_this_machine(
    address: str, rest: SlurmEngine, cluster: KubernetesEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ssh tunnel ends here, and the token in it is in no network: a proxy elsewhere would read it."""
    monkeypatch.setenv("SUPERCLOUD_PROXY", "http://127.0.0.1:1")
    assert not rest.controller.read_jobs()
    with pytest.raises(EngineError, match="there is none"):
        cluster.list_nodes()
    assert any(place.startswith("/api/v1/") for place, _ in Scheduler.seen)


def test_a_token_goes_to_no_address_whose_host_is_not_certain(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Urllib takes what follows the sign @ for the host of this one, and urllib3 what stands before the backslash."""
    write_kubeconfig(tmp_path / "kubeconfig", address.replace("127.0.0.1", "localhost\\@127.0.0.1"))
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path)
    with pytest.raises(EngineError, match="plain http to an ambiguous host"):
        engine.list_nodes()
    assert not Scheduler.seen
    monkeypatch.setenv("SUPERCLOUD_PROXY", "http://proxy.example:3128")
    assert web.find_proxy("https://evil\\@127.0.0.1") and not web.find_proxy("https://127.0.0.1:1")


@pytest.mark.parametrize("server", ["{}", "//{}", "HTTP://{}"])
@pytest.mark.parametrize("field", [{}, {"insecure-skip-tls-verify": True}], ids=["", "insecure"])
def test_a_token_goes_to_no_address_without_https(
    address: str, tmp_path: Path, server: str, field: dict[str, Any]
) -> None:
    """An address without a scheme is plain http to the client. (0.0.0.0 is this machine, and not known as such.)"""
    write_kubeconfig(tmp_path / "kubeconfig", server.format(address.replace("http://127.0.0.1", "0.0.0.0")), **field)
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path)
    for ask in (engine.require_reachable, engine.list_nodes):
        with pytest.raises(EngineError, match="the token is not sent in plain text"):
            ask()
    assert not Scheduler.seen


@pytest.mark.parametrize(
    "there, proxy, plain",
    [
        ("https://a:1", "", False),
        ("HTTPS://a", "http://p", False),
        ("http://127.0.0.1:1", "", False),
        ("http://[::1]:1", "", False),
        ("http://localhost:1", "", False),
        ("http://127.0.0.1:1", "http://p", True),
        ("http://a", "", True),
        ("a:1", "", True),
        ("//a", "", True),
        ("127.0.0.1:1", "", True),
        ("", "", True),
        ("http://evil#@127.0.0.1", "", True),
        ("http:/\\127.0.0.1", "", True),
        ("http://[", "", True),
        ("httpsx://a", "", True),
        (" https://a", "", True),
        ("http://evil\\@127.0.0.1:1", "", True),
        ("http://127.0.0.1\\@evil", "", True),
        ("http://me@127.0.0.1", "", True),
        ("http://evil\\.127.0.0.1", "", True),
        ("http://127.0.0.1\n", "", True),
        ("http://127.0.\t0.1", "", True),
        ("http://evil?@127.0.0.1", "", True),
        ("http://127.0.0.1/a@b", "", False),
        ("HTTP://LocalHost/", "", False),
        ("http://127.0.0.1;a@evil", "", True),
    ],
)
def test_a_credential_is_read_on_its_way_unless_it_is_certain_that_it_is_not(
    there: str, proxy: str, plain: bool
) -> None:
    assert web.is_plaintext(there, proxy) is plain


@pytest.mark.parametrize("said", ["socks5://me:hidden@p:1", "http://", "http://p:99999", "http://p q:1", "http://["])
def test_a_proxy_that_is_none_is_named_by_its_variable(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("SUPERCLOUD_PROXY", said)
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, "https://slurm.example")
    write_kubeconfig(tmp_path / "kubeconfig", "https://cluster.example")
    for engine in (
        KubernetesEngine(Connection(engine="kubernetes"), tmp_path),
        SlurmEngine(Connection(engine="slurm", via="https://slurm.example"), tmp_path),
    ):
        with pytest.raises(EngineError, match="SUPERCLOUD_PROXY is .*not the address of a proxy") as caught:
            engine.require_reachable()
        assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("proxy", ["http://me:hidden@127.0.0.1:1", "127.0.0.1:1", "a stand-in that makes no tunnel"])
def test_a_proxy_that_is_not_reached_is_told_of_and_nothing_was_sent(
    tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("SUPERCLOUD_PROXY", address if " " in proxy else proxy)
    monkeypatch.setenv(tokens.ADDRESS_VARIABLE, "https://slurm.example")
    write_kubeconfig(tmp_path / "kubeconfig", "https://cluster.example")
    slurm = SlurmEngine(Connection(engine="slurm", via="https://slurm.example"), tmp_path)
    slurm._rest.__dict__["data_format"] = "v0.0.41"  # known before the proxy went away
    for engine in (KubernetesEngine(Connection(engine="kubernetes"), tmp_path), slurm):
        with pytest.raises(EngineError, match="is unreachable.*through the proxy .*127.0.0.1") as caught:
            submitted(engine)
        assert not isinstance(caught.value, SubmissionUnknownError) and "hidden" not in str(caught.value)
