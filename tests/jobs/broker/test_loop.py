"""The broker as a service: outages, odd answers, a locked store and SIGTERM."""

from __future__ import annotations

import ast
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs.waiting import end_everything, wait_for

import supercloud
from supercloud.catalog import Catalog
from supercloud.errors import EngineError, StoreError
from supercloud.jobs.broker.loop import Reporter, run_broker
from supercloud.jobs.broker.unit import (
    list_variables,
    render_unit,
    select_environment,
)
from supercloud.jobs.engines.local.engine import _PASSED_VARIABLES
from supercloud.jobs.store.store import Store

FLEET = "name: company\nclusters: [{spec: own.yaml, connect: {engine: local}}]\n"
CLUSTER = """\
name: own
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "22.05"}
pools: [{name: train, machine: dgx-h100, nodes: 1}]
"""
STAMP = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d "


class Story:
    """A broker whose steps have these results."""

    def __init__(self, *steps: Callable[[], object]):
        self.steps = list(steps)
        self.ended = threading.Event()

    def step(self) -> int:
        happens = self.steps.pop(0)
        if not self.steps:
            self.ended.set()
        happens()
        return 0


def report_steps(
    *steps: Callable[[], object], reporter: Reporter | None = None, lines: list[str] | None = None
) -> list[str]:
    lines = [] if lines is None else lines
    story = Story(*steps)
    run_broker(story, 0.0, reporter or Reporter(lines.append), story.ended)
    assert not story.steps, "it went on to the end"
    assert all(re.match(STAMP, line) for line in lines), lines
    return [re.sub(STAMP, "", line) for line in lines]


def raise_in_step(error: Exception) -> Callable[[], object]:
    def step() -> None:
        raise error

    return step


def test_an_outage_and_its_end_are_reported_once() -> None:
    down = raise_in_step(StoreError("the store is locked"))
    assert report_steps(down, down, down, int, int, down) == [
        "warning: the store is locked",
        "over: the store is locked",
        "warning: the store is locked",
    ]


def test_warnings_of_one_engine_do_not_hide_those_of_another() -> None:
    lines: list[str] = []
    reporter = Reporter(lines.append)

    def step(*names: str) -> Callable[[], object]:
        return lambda: (
            [reporter.report(f"warning: {name} is silent") for name in names] and reporter.report("job 1 goes on")
        )

    assert report_steps(step("a"), step("a", "b"), step("b"), reporter=reporter, lines=lines) == [
        "warning: a is silent",
        "job 1 goes on",
        "warning: b is silent",
        "job 1 goes on",
        "job 1 goes on",
        "over: a is silent",
    ]


def test_a_lasting_problem_is_one_outage_whatever_its_text() -> None:
    lines: list[str] = []
    reporter = Reporter(lines.append)

    def report_warnings(*warnings: tuple[str, bool]) -> Callable[[], object]:
        return lambda: [reporter.warn(f"warning: a: {text}", "a", vague) for text, vague in warnings]

    hangs, refused, refused_later = ("no answer in 30 s", True), ("refused, try 1", False), ("refused, try 2", False)
    steps = [
        report_warnings(hangs),
        report_warnings(hangs, hangs),
        report_warnings(hangs, refused),
        report_warnings(refused_later, hangs),
        lambda: reporter.renew("a"),
        int,
        int,
        report_warnings(refused),
    ]
    assert report_steps(*steps, reporter=reporter, lines=lines) == [
        "warning: a: no answer in 30 s",
        "warning: a: refused, try 1",
        "over: a: no answer in 30 s",
        "warning: a: refused, try 1",
    ]


@pytest.mark.parametrize("error", [KeyError("jobs"), TypeError("odd"), EngineError("odd"), OSError(28, "full")])
def test_the_broker_continues_after_any_error(error: Exception) -> None:
    lines = report_steps(raise_in_step(error), raise_in_step(error), int)
    assert lines[0].startswith("warning: ") and lines[-1].startswith("over: ")
    assert sum(line.startswith("warning: ") for line in lines) == 1


@pytest.mark.slow
def test_the_broker_survives_a_locked_store_and_ends_at_sigterm(tmp_path: Path) -> None:
    for name, text in (("fleet", FLEET), ("own", CLUSTER), ("job", "{name: a, command: ['true'], time_limit: 1 min}")):
        (tmp_path / f"{name}.yaml").write_text(text)
    env = {**os.environ, "SUPERCLOUD_STATE": str(tmp_path / "state")}
    submit = [sys.executable, "-m", "supercloud", "submit", "job.yaml", "--on", "fleet.yaml"]
    assert subprocess.run(submit, cwd=tmp_path, env=env, capture_output=True).returncode == 0
    other = sqlite3.connect(tmp_path / "state/jobs.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # another process writes and does not end
    log = tmp_path / "log"
    program = (
        "from supercloud.jobs.store import database; database._LOCK_TIMEOUT = 0.05; from supercloud.cli import main; "
        "import sys; sys.argv[0] = 'supercloud'; main()"
    )
    with open(log, "wb") as out:
        served = subprocess.Popen(
            [sys.executable, "-c", program, "serve", "fleet.yaml", "--every", "0.05"],
            cwd=tmp_path,
            env=env,
            stdout=out,
            stderr=out,
        )
    try:
        wait_for(lambda: "is locked" in log.read_text(), 60)
        other.execute("ROLLBACK")
        other.close()
        wait_for(lambda: "submitted to own" in log.read_text() and "over:" in log.read_text(), 60)
        assert log.read_text().count("warning: ") == 1, "said once"
        assert served.poll() is None
        served.send_signal(signal.SIGTERM)
        assert served.wait(60) == 0, log.read_text()
        lines = log.read_text().splitlines()
        assert "Traceback" not in log.read_text() and all(re.match(STAMP, line) for line in lines)
        assert lines[-1].endswith("stopped on request")
    finally:
        served.kill()
        served.wait()
        end_everything(tmp_path / "state")


def write_fleet_of_slurm(folder: Path, squeue: str) -> dict[str, str]:
    """A fleet with one Slurm cluster, whose commands are shell scripts; returns the environment."""
    (folder / "fleet.yaml").write_text(FLEET.replace("engine: local", "engine: slurm"))
    (folder / "own.yaml").write_text(CLUSTER)
    (folder / "commands").mkdir()
    for name, script in (("squeue", squeue), ("scontrol", squeue), ("sbatch", "exit 1"), ("sacct", "exit 1")):
        (folder / "commands" / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / "commands" / name).chmod(0o755)
    return {
        **os.environ,
        "SUPERCLOUD_STATE": str(folder / "state"),
        "PATH": f"{folder / 'commands'}:{os.environ['PATH']}",
    }


SERVE = (
    "from supercloud.jobs.broker import loop; loop._GRACE_PERIOD = 0.3; from supercloud.cli import main; "
    "import sys; sys.argv[0] = 'supercloud'; main()"
)


@pytest.mark.slow
def test_a_broker_that_is_stopped_leaves_no_query_behind(tmp_path: Path) -> None:
    """It is aborted in a step in which Slurm does not respond."""
    env = write_fleet_of_slurm(
        tmp_path, f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; exec sleep 300"
    )
    with open(tmp_path / "log", "wb") as out:
        served = subprocess.Popen(
            [sys.executable, "-c", SERVE, "serve", "fleet.yaml"], cwd=tmp_path, env=env, stdout=out, stderr=out
        )
    try:
        wait_for((tmp_path / "pid").exists, 60)
        served.send_signal(signal.SIGTERM)
        assert served.wait(60) == 0, (tmp_path / "log").read_text()
        assert (tmp_path / "log").read_text().endswith("stopped on request\n")
        number = int((tmp_path / "pid").read_text())
        wait_for(lambda: not Path(f"/proc/{number}").exists() or "Z" in read_process_state(number), 10)
    finally:
        served.kill()
        served.wait()


def read_process_state(number: int) -> str:
    return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]


@pytest.mark.slow
def test_a_broker_that_is_stopped_before_it_can_write_reports_that(tmp_path: Path) -> None:
    env = write_fleet_of_slurm(tmp_path, "exit 1")
    with Store(tmp_path / "state"):
        pass
    program = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); {SERVE}"
    with subprocess.Popen(
        [sys.executable, "-c", program, "serve", "fleet.yaml", "--every", "0.05"],
        cwd=tmp_path,
        env=env,
        stderr=subprocess.PIPE,
        text=True,
    ) as served:
        assert served.stderr is not None
        lines = [served.stderr.readline()]
        served.send_signal(signal.SIGTERM)
        lines += served.stderr.readlines()
        assert served.wait(60) == 0 and "the disk" in lines[0] and lines[-1].endswith("stopped on request\n"), lines


@pytest.mark.slow
def test_a_broker_whose_log_cannot_be_written_continues(tmp_path: Path) -> None:
    env = write_fleet_of_slurm(tmp_path, f"echo x >> {tmp_path}/calls; exit 1")
    with open("/dev/full", "wb") as full:
        served = subprocess.Popen(
            [sys.executable, "-c", SERVE, "serve", "fleet.yaml", "--every", "0.05"],
            cwd=tmp_path,
            env=env,
            stderr=full,
        )
    try:
        wait_for(lambda: (tmp_path / "calls").exists() and len((tmp_path / "calls").read_text()) > 8, 60)
        assert served.poll() is None
        served.send_signal(signal.SIGTERM)
        assert served.wait(60) == 0
    finally:
        served.kill()
        served.wait()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    folder = tmp_path / 'a "folder" of 100% $HOME'
    folder.mkdir()
    for name, text in (("fleet", FLEET), ("own", CLUSTER)):
        (folder / f"{name}.yaml").write_text(text)
    command = [sys.executable, "-m", "supercloud", "serve", str(folder / "fleet.yaml"), "--unit", "--every", "2"]
    env = {**os.environ, "SUPERCLOUD_PROXY": "http://proxy:3128", "SLURM_JWT": "hidden"}
    done = subprocess.run(command, capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "supercloud-company.service"
    path.write_text(done.stdout)
    verified = subprocess.run(
        ["systemd-analyze", "verify", str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "SYSTEMD_LOG_LEVEL": "warning"},
    )
    assert verified.returncode == 0 and not verified.stderr, verified.stderr
    assert "Environment=SUPERCLOUD_PROXY=http://proxy:3128" in done.stdout
    assert "EnvironmentFile=-%h/.config/supercloud/serve-company.env" in done.stdout
    assert "hidden" not in done.stdout + done.stderr and "warning: SLURM_JWT: secret" in done.stderr
    assert "--every 2.0" in done.stdout and "100%% $$HOME" in done.stdout


@pytest.mark.slow
def test_the_printed_command_writes_the_same_unit(tmp_path: Path) -> None:
    folder = tmp_path / "two words"
    folder.mkdir()
    for name, text in (("fleet", FLEET), ("own", CLUSTER)):
        (folder / f"{name}.yaml").write_text(text)
    for name, text in (("systemctl", "exit 0"), ("supercloud", f'exec {sys.executable} -m supercloud "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "HOME": str(tmp_path), "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = ["supercloud", "serve", str(folder / "fleet.yaml"), "--lost-after", "600", "--move-after", "30", "--unit"]
    first = subprocess.run(command, capture_output=True, text=True, env=env)
    assert first.returncode == 0 and "--lost-after 600.0" in first.stdout, first.stderr
    next_command = first.stderr.partition("next: ")[2].replace("\n", " ")
    second = subprocess.run(["bash", "-c", next_command], capture_output=True, text=True, env=env)
    assert second.returncode == 0, second.stderr
    assert (tmp_path / ".config/systemd/user/supercloud-company.service").read_text() == first.stdout


# set by systemd itself, by the engine for a job or for a helper, or of one session only
NOT_OF_A_SERVICE = {
    "BOOT_ROOT",
    "HOME",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "LOGNAME",
    "NO_COLOR",
    "RANK",
    "SHELL",
    "SUPERCLOUD_CALL",
    "SUPERCLOUD_CHECKPOINT",
    "SUPERCLOUD_EPOCH",
    "SUPERCLOUD_JOB_KEY",
    "SUPERCLOUD_READING",
    "SUPERCLOUD_RESULT",
    "SUPERCLOUD_STARTS",
    "SUPERCLOUD_RESULT_LOG",
    "SUPERCLOUD_STATE",
    "TMPDIR",
    "USER",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
}


def find_variables() -> set[str]:
    """All variables that the code reads: what it asks ``os.environ`` for, by name or by a constant of any module."""
    texts = [path.read_text() for path in Path(supercloud.__file__).parent.rglob("*.py")]
    trees = [ast.parse(text) for text in texts if "environ" in text]
    constants: dict[str, set[str]] = {}
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.Tuple):
                values = {part.value for part in ast.walk(node.value) if isinstance(part, ast.Constant)}
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        constants.setdefault(target.id, set()).update(map(str, values))
    asked: list[ast.expr] = []
    for node in (node for tree in trees for node in ast.walk(tree)):
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).startswith("os.environ."):
            asked.append(node.args[0])
        elif isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ":
            asked.append(node.slice)
        elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]) == "os.environ":
            asked.append(node.left)
    found = {expression.value for expression in asked if isinstance(expression, ast.Constant)}
    names = {expression.id for expression in asked if isinstance(expression, ast.Name)}
    return {str(one) for one in found}.union(
        *(constants.get(name, set()) for name in names - {"name"}), _PASSED_VARIABLES
    )


@pytest.mark.slow
def test_the_unit_has_all_variables_that_the_code_reads_but_secrets() -> None:
    read = {name for name in find_variables() if re.fullmatch(r"[A-Z][A-Z_]+", name)}
    assert {"SUPERCLOUD_PROXY", "SUPERCLOUD_SECRETS", "SUPERCLOUD_ACCELERATORS", "SLURM_JWT", "KUBECONFIG"} <= read
    catalog = Catalog()
    known = list_variables(catalog)
    unknown = read - {*known.settings, *known.paths, *known.secrets} - NOT_OF_A_SERVICE
    assert not unknown, f"{unknown}: add them to the variables of the service, or to NOT_OF_A_SERVICE"
    given = {name: f"here/{name.lower()}" for name in (*known.settings, *known.paths, *known.secrets)}
    given |= {"SUPERCLOUD_PROXY": "me:pass@proxy:3128", "PATH": "/bin:own"}
    passed, secret = select_environment(given, catalog)
    assert passed["PATH"] == f"/bin:{os.getcwd()}/own" and passed["KUBECONFIG"] == f"{os.getcwd()}/here/kubeconfig"
    assert passed["AWS_PROFILE"] == "here/aws_profile" and set(secret) == {*known.secrets, "SUPERCLOUD_PROXY"}
    assert not set(secret) & set(passed)
    assert select_environment({"SUPERCLOUD_PROXY": "http://proxy:3128"}, catalog) == (
        {"SUPERCLOUD_PROXY": "http://proxy:3128"},
        [],
    )


def test_systemd_reads_the_words_of_a_unit_unchanged() -> None:
    text = render_unit("a", ["/bin/x", "a b", 'say "hi"', "100%", "$HOME", "back\\slash"], {"A": "b c$"})
    assert 'ExecStart=/bin/x "a b" "say \\"hi\\"" 100%% $$HOME "back\\\\slash"' in text
    assert 'Environment="A=b c$"' in text
