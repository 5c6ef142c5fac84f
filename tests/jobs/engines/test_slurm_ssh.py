"""Slurm through ssh, with an ``ssh`` that does what sshd does: gives one text to a login shell."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs.engines.test_slurm_commands import NASTY

from supercloud.errors import EngineError, EngineUnreachableError
from supercloud.jobs import api
from supercloud.jobs.engines.base import SubmissionUnknownError, SubmittedJob
from supercloud.jobs.engines.batch.runner import CommandResult, SshRunner
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.engines.slurm.system import SLURM
from supercloud.jobs.engines.submission import compute_spec_digest
from supercloud.jobs.maintenance import prune
from supercloud.jobs.placement.place import Placement
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.states import State
from supercloud.jobs.store.status import Status
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

AT = Placement("pod", "train", 1, 8, 8, "h100-sxm", request=SlurmRequest("h100"))
Make = Callable[..., JobSpec]

SSH = """\
#!/bin/sh
# what is before -- is for ssh; the host comes next; the rest is joined and read by the user's shell, in the home
while [ "$1" != -- ]; do shift; done
echo "$2" >>"$HOME/hosts"
[ "$2" != down ] || { echo 'ssh: connect to host down port 22: Connection refused' >&2; exit 255; }
[ "$2" != broken ] || { cat >/dev/null; echo 'client_loop: send disconnect: Broken pipe' >&2; exit 255; }
shift 2
cd "$HOME" && exec ${LOGIN_SHELL:-sh} -c "$*"
"""
SBATCH = """\
#!/bin/sh
[ "$1" != --version ] || exit 0
echo "$@" >>"$HOME/submitted"
cat >"$HOME/got"
sleep ${SLOW:-0}
echo $(($(wc -l <"$HOME/submitted") + 40))
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home on the login node."""
    programs, home = tmp_path / "bin", tmp_path / "home"
    programs.mkdir(), home.mkdir()
    for name, text in (
        ("ssh", SSH),
        ("sbatch", SBATCH),
        ("squeue", "#!/bin/sh\n"),
        ("sacct", "#!/bin/sh\nexit 1\n"),
        ("scontrol", "#!/bin/sh\necho 'MinJobAge = 300 sec'\n"),
    ):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(home))
    return home


def open_engine(folder: Path, via: str = "ssh:login") -> SlurmEngine:
    return SlurmEngine(Connection(engine="slurm", via=via), folder / "state")


def test_a_job_is_submitted_over_ssh_and_its_log_is_read(home: Path, tmp_path: Path, job: Make) -> None:
    far = open_engine(tmp_path)
    asked = job(["echo", "it's $(here)"], workdir="/scratch/a", checkpoint={"path": "/scratch/c"})
    prepared = far.prepare(asked, AT, "k")
    assert "--output=.supercloud/slurm/k/log" in prepared.argv and not any("chdir" in item for item in prepared.argv)
    assert "cd /scratch/a || exit" in prepared.stdin
    assert 'export SUPERCLOUD_COMMIT="$HOME"/.supercloud/slurm/.checkpoint' in prepared.stdin
    assert not (tmp_path / "state").exists(), "preparing asks nobody"
    assert far.submit(prepared) == "41"
    assert (home / "got").read_text() == prepared.stdin, "the script arrived as it is"
    folder = home / ".supercloud/slurm"
    assert os.access(folder / ".checkpoint", os.X_OK) and oct((folder / "k").stat().st_mode)[-3:] == "700"
    (folder / "k/log").write_bytes(b"x" * 2_000_000 + b"end")
    assert len(far.read_log("k", 0)) == 2**20 and far.read_log("k", 2_000_000) == b"end"
    assert far.read_log("k", 2_000_003) == far.read_log("other", 0) == far.read_result("k", 0) == b""


def test_output_of_start_up_files_is_not_part_of_a_log(home: Path, tmp_path: Path, job: Make) -> None:
    far = open_engine(tmp_path)
    far.submit(far.prepare(job(["true"]), AT, "k"))
    program = home.parent / "bin/ssh"
    program.write_text(program.read_text().replace("#!/bin/sh\n", "#!/bin/sh\necho Welcome to login\n", 1))
    assert far.read_log("k", 0) == b""
    (home / ".supercloud/slurm/k/log").write_bytes(b"step 1\n")
    assert far.read_log("k", 0) == b"step 1\n" and far.read_log("k", 7) == far.read_result("k", 0) == b""
    program.write_text("#!/bin/sh\necho This account is locked\n")
    with pytest.raises(EngineError, match="instead of it the host printed 'This account is locked"):
        far.read_log("k", 0)


def test_a_key_is_submitted_once(home: Path, tmp_path: Path, job: Make) -> None:
    far = open_engine(tmp_path)
    prepared = far.prepare(job(), AT, "k")
    assert far.submit(prepared) == far.submit(prepared) == "41"
    assert far.find(["k", "other"], time.time()) == {"k": "41", "other": None}
    assert (home / "submitted").read_text().count("\n") == 1


def test_a_stored_answer_belongs_to_one_record(home: Path, tmp_path: Path, job: Make) -> None:
    """Two stores may reach one home, and use one key."""
    far = open_engine(tmp_path)
    mine = replace(far.prepare(job(), AT, "k"), recorded=time.time(), spec=compute_spec_digest("{}"))
    other = replace(mine, recorded=mine.recorded + 1)
    far.submit(mine)
    assert far.find_submitted([mine.identity], time.time()) == {"k": SubmittedJob("41")}
    assert far.find_submitted([other.identity], time.time()) == {"k": SubmittedJob(None, ("41",))}
    (home / ".supercloud/slurm/k/digest").unlink()  # as an earlier version left it
    assert far.find_submitted([mine.identity], time.time()) == {"k": SubmittedJob(None, ("41",))}
    with pytest.raises(EngineError, match="key 'k' is already used by Slurm job 41 on login"):
        far.submit(other)


@pytest.mark.slow
def test_a_lost_answer_of_sbatch_is_looked_up_before_a_retry(home: Path, tmp_path: Path, job: Make) -> None:
    """For any submission with the key, also from another store; a refused job can be resubmitted immediately."""
    far = open_engine(tmp_path)
    prepared, sbatch = far.prepare(job(), AT, "k"), tmp_path / "bin/sbatch"
    failed = "#!/bin/sh\necho x >>~/submitted; echo 'sbatch: error: Batch job submission failed: {}' >&2; exit 1\n"
    sbatch.write_text(failed.format("Socket timed out on send/recv operation"))
    for _ in range(2):
        with pytest.raises(SubmissionUnknownError):
            far.submit(prepared)
    assert (home / "submitted").read_text().count("\n") == 1
    assert far.find(["k"], time.time()) == {"k": None}
    sbatch.write_text(failed.format("Invalid qos specification"))
    for _ in range(2):
        with pytest.raises(EngineError, match="Invalid qos"):
            far.submit(prepared)
    assert (home / "submitted").read_text().count("\n") == 3


@pytest.mark.slow
def test_a_key_of_another_job_is_rejected(home: Path, tmp_path: Path, job: Make) -> None:
    far = open_engine(tmp_path)
    far.submit(monday := far.prepare(job(["monday"]), AT, "nightly"))
    tuesday = far.prepare(job(["tuesday"]), AT, "nightly")
    longer = far.prepare(job(["monday"], time_limit="2 h"), AT, "nightly")
    later = replace(monday, recorded=1.7e9)  # the same job again, after its store had forgotten the first
    for other in (tuesday, longer, later):
        with pytest.raises(
            EngineError, match="'nightly' is already used by Slurm job 41 on login.*another key.*remove"
        ) as caught:
            far.submit(other)
        assert not isinstance(caught.value, SubmissionUnknownError)
    assert far.submit(monday) == "41" and (home / "submitted").read_text().count("\n") == 1
    shutil.rmtree(home / ".supercloud/slurm/nightly")
    assert far.submit(tuesday) == "42" and (home / "got").read_text() == tuesday.stdin


def test_a_pruned_key_never_shows_the_result_of_the_earlier_job(
    home: Path, plan: Plan, store: Store, job: Make
) -> None:
    there = Connection(engine="slurm", via="ssh:login")
    first = api.submit(job(["monday"]), plan, engine=there, key="nightly", store=store)
    store.record_statuses({first.id: Status(State.COMPLETED, 1, "", 0, 1.0, 2.0)})
    assert prune(store, ended_before=3.0).pruned_jobs == 1
    for command in ("tuesday", "monday"):
        with pytest.raises(EngineError, match="is already used by Slurm job 41"):
            api.submit(job([command]), plan, engine=there, key="nightly", store=store)
        [record] = store.select()
        assert record.state is State.FAILED and record.ref is None
        prune(store, ended_before=time.time() + 1)


@pytest.mark.slow
def test_a_job_is_not_found_by_the_id_of_an_earlier_job_with_its_key(
    home: Path, tmp_path: Path, plan: Plan, store: Store, job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The submitter dies before anything is sent: what the key has there, also in the queue, is the job of before."""
    there = Connection(engine="slurm", via="ssh:login")
    first = api.submit(job(["monday"]), plan, engine=there, key="nightly", store=store)
    store.record_statuses({first.id: Status(State.COMPLETED, 1, "", 0, 1.0, 2.0)})
    prune(store, ended_before=3.0)
    (tmp_path / "bin/squeue").write_text("#!/bin/sh\necho '41|COMPLETED|None|0|0|1|2|supercloud:nightly|'\n")

    def raise_unknown(self: SlurmEngine, submission: object) -> str:
        raise SubmissionUnknownError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(SlurmEngine, "submit", raise_unknown)
        with pytest.raises(SubmissionUnknownError):
            api.submit(job(["tuesday"]), plan, engine=there, key="nightly", store=store)
    over = time.monotonic() + SlurmEngine.late_arrival + 1  # else it may still arrive
    assert "is already used by Slurm job 41" in "".join(map(str, reconcile(store, clock=lambda: over)))
    [record] = store.select()
    assert record.state is State.FAILED and record.ref is None


def test_an_incomplete_script_is_not_submitted(home: Path, tmp_path: Path, job: Make) -> None:
    far = open_engine(tmp_path)
    assert isinstance(far.runner, SshRunner)
    whole, cut = far.runner.run, [True]

    def run(argv: tuple[str, ...], stdin: io.BufferedIOBase | None = None) -> CommandResult:
        if stdin is None or not cut[0]:
            return whole(argv, stdin)  # type: ignore[arg-type]
        with tempfile.TemporaryFile() as part:
            part.write(stdin.read()[:-5])
            part.seek(0)
            return whole(argv, part)  # type: ignore[arg-type]

    far.runner.run = run  # type: ignore[method-assign, assignment]
    with pytest.raises(SubmissionUnknownError, match="did not arrive whole"):
        far.submit(far.prepare(job(), AT, "k"))
    assert not (home / "submitted").exists()
    cut[0] = False
    assert far.find(["k"], time.time()) == {"k": None}
    assert far.submit(far.prepare(job(), AT, "k")) == "41"


@pytest.mark.slow
def test_a_submission_in_progress_is_waited_for(
    home: Path, tmp_path: Path, job: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The submitter and its ssh are killed while sbatch runs there: it is not repeated, and its answer is kept."""
    monkeypatch.setenv("SLOW", "1")
    prepared = open_engine(tmp_path).prepare(job(), AT, "k")
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        open_engine(tmp_path).submit(prepared)
        os._exit(0)
    while not (home / "submitted").exists():
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    far = open_engine(tmp_path)
    assert far.find(["k"], time.time()) == {}, "who knows"
    end = time.monotonic() + 10
    while not (found := far.find(["k"], time.time())) and time.monotonic() < end:
        time.sleep(0.05)
    assert found == {"k": "41"} and far.submit(prepared) == "41"


@pytest.mark.slow
def test_an_interrupted_submission_is_looked_up_before_a_retry(home: Path, tmp_path: Path, job: Make) -> None:
    far = open_engine(tmp_path)
    prepared = far.prepare(job(), AT, "k")
    far.submit(prepared)
    folder = home / ".supercloud/slurm/k"
    (folder / "ref").unlink()  # the login node went down between the two steps
    with pytest.raises(SubmissionUnknownError, match="broke off"):
        far.submit(prepared)
    assert far.find(["k"], time.time() - 9999) == {}, "without accounts nobody can say"
    assert far.find(["k"], time.time()) == {"k": None}, "the queue does not have it"
    assert far.submit(prepared) == "42"


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(words=st.lists(NASTY, min_size=1, max_size=4))
def test_no_argument_is_read_by_the_remote_shell(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    folder = tmp_path_factory.mktemp("there")
    argv = SshRunner("login", folder, SLURM).build_argv(
        [sys.executable, "-c", "import sys; print(sys.argv[1:])", *words]
    )
    assert argv[0] == "ssh" and argv[argv.index("--") + 1] == "login" and len(argv) == argv.index("--") + 3
    for shell in ("sh", "bash"):
        done = subprocess.run(
            [shell, "-c", argv[-1]],
            capture_output=True,
            cwd=folder,
            text=True,
            env={"PATH": "/usr/bin:/bin", "PYTHONUTF8": "1"},
        )
        assert done.stdout == f"{words}\n" and not list(folder.iterdir())


def test_one_connection_is_used_for_many_commands(home: Path, tmp_path: Path) -> None:
    argv = SshRunner("me@login:2222", tmp_path / "ssh", SLURM).build_argv(["true"])
    text = " ".join(argv)
    for option in ("BatchMode=yes", "ControlMaster=auto", "ControlPersist=60", "-p 2222", "-- me@login"):
        assert option in text
    path = next(item for item in argv if item.startswith("ControlPath=")).removeprefix("ControlPath=")
    assert path.endswith("/%C") and len(path) < 60


@pytest.mark.parametrize("host, error", [("down", EngineUnreachableError), ("broken", SubmissionUnknownError)])
def test_an_unreachable_host_is_not_an_unknown_submission(
    home: Path, tmp_path: Path, job: Make, host: str, error: type[EngineError]
) -> None:
    far = open_engine(tmp_path, f"ssh:{host}")
    with pytest.raises(error, match=f"try: ssh {host} true") as caught:
        far.submit(far.prepare(job(), AT, "k"))
    assert type(caught.value) is error


def test_hosts_that_look_like_options_are_refused(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="is not a host"):
        open_engine(tmp_path, "ssh:-oX")


def test_scripts_for_the_login_node_are_valid_shell() -> None:
    from supercloud.jobs.engines.batch import spool

    for text in (spool._SUBMIT_SCRIPT, spool._LIST_SCRIPT, spool._DISCARD_SCRIPT, spool._READ_SCRIPT):
        assert subprocess.run(["sh", "-n", "-c", text]).returncode == 0
