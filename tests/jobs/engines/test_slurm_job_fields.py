"""What else a job may request of Slurm: options, a script that is valid shell, and what Slurm lists."""

from __future__ import annotations

import shlex
import subprocess
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from supercloud.jobs.engines.batch.runner import CommandResult
from supercloud.jobs.engines.slurm import commands, nodes
from supercloud.jobs.engines.slurm.engine import SlurmEngine
from supercloud.jobs.engines.slurm.script import render_script
from supercloud.jobs.fleet.state import NodeState, WaitingJobs
from supercloud.jobs.placement.place import Placement
from supercloud.jobs.placement.requests.slurm import SlurmRequest
from supercloud.jobs.store.states import State
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

SHELLCHECK = Path(sysconfig.get_path("scripts")) / "shellcheck"
Make = Callable[..., JobSpec]
AT = Placement("c", "p", 2, 8, 8, "h100-sxm", request=SlurmRequest("h100"))


def build_argv(job: JobSpec, at: Placement = AT) -> tuple[str, ...]:
    return commands.build_sbatch(job, at, "k", "/state/k/log")


def test_job_fields_become_options_of_sbatch(job: Make) -> None:
    asked = job(array=4, after=["17", "9/4"], deadline="2 h")
    assert {
        "--array=0-3",
        "--dependency=afterok:17:9",
        "--kill-on-invalid-dep=yes",
        "--deadline=now+7200seconds",
    } <= set(build_argv(asked))
    part = Placement("c", "p", 1, 2, 8, "h100-sxm", slice="shard", request=SlurmRequest("shard"))
    assert "--gres=shard:2" in build_argv(job(), part) and not any("gpus" in item for item in build_argv(job(), part))
    cut = Placement("c", "p", 1, 2, 8, "h100-sxm", slice="mig", request=SlurmRequest("1g.10gb"))
    assert "--gpus-per-node=1g.10gb:2" in build_argv(job(), cut)
    assert "--begin=now+90seconds" in build_argv(job(), Placement("c", "p", 1, 0, begin=89.5))
    assert "--licenses=mesher:1,solver:2" in build_argv(
        job(), Placement("c", "p", 1, 0, request=SlurmRequest(licenses="mesher:1,solver:2"))
    )


WISHES: dict[str, dict[str, Any]] = {
    "plain": {},
    "secrets": {"secrets": [{"env": "TOKEN", "name": "hf-token"}]},
    "retries": {"retries": 3, "retry_rules": [{"exit_codes": [42, 43], "action": "retry"}]},
    "array": {"array": 3},
    "all": {
        "array": 3,
        "retries": 3,
        "retry_rules": [{"exit_codes": [42], "action": "retry"}],
        "secrets": [{"env": "TOKEN", "name": "hf-token"}],
        "checkpoint": {"path": "/s"},
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("wish", WISHES)
@pytest.mark.parametrize("home", ["/state/with space", "$HOME/.supercloud/slurm"])
def test_batch_scripts_pass_shellcheck(job: Make, wish: str, home: str) -> None:
    for asked in (job(["echo", "a"], **WISHES[wish]), job(script="echo a", **WISHES[wish])):
        text = render_script(asked, AT, "k", home, change_folder=True)
        for shell in ("bash", "sh"):
            command = [SHELLCHECK, "-s", shell, "-e", "SC2016,SC2034", "-"]
            done = subprocess.run(command, input=text, text=True, capture_output=True)
            assert done.returncode == 0, done.stdout


STANDS = """\
scontrol() { echo "$*" >>"$said"; [ "$1" != requeue ]; }
srun() {
    while [ "$1" != sh ]; do shift; done
    export SLURM_LOCALID=0 SLURM_NTASKS=2
    SLURM_PROCID=1 SLURM_NODEID=1 setsid "$@" & other=$!
    SLURM_PROCID=0 SLURM_NODEID=0 "$@"
    code=$?
    until kill -0 -- -$other 2>/dev/null; do :; done
    while kill -TERM -- -$other 2>/dev/null; do sleep 0.1; done
    wait $other; last=$?
    return $((code > last ? code : last))
}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "first, expected", [("exit 42", 42), ("exit 7", 7), ("kill -9 $$", 137), ("kill -USR1 $$", 138)]
)
def test_the_exit_code_of_the_first_failed_task_is_reported(
    job: Make, tmp_path: Path, first: str, expected: int
) -> None:
    """Slurm ends the others, and srun reports the highest code: that of the ended ones."""
    program = ["sh", "-c", f'[ "$RANK" = 1 ] || {{ {first}; }}; sleep 20']
    asked = job(program, retries=1, retry_rules=[{"exit_codes": [42], "action": "retry"}])
    (tmp_path / "k").mkdir()
    log = tmp_path / "said"
    text = STANDS + render_script(asked, AT, "k", str(tmp_path))
    env = {"PATH": "/usr/bin:/bin", "SLURM_JOB_ID": "5", "SLURM_JOB_NODELIST": "n", "said": str(log)}
    done = subprocess.run(["bash", "-c", text], env=env, capture_output=True, text=True, timeout=15)
    assert done.returncode == expected, done.stderr
    assert ("requeue 5" in log.read_text()) == (expected == 42)
    assert not list((tmp_path / "k").iterdir()), "nothing is left"


def test_a_terminated_task_leaves_no_exit_code(job: Make, tmp_path: Path) -> None:
    """It may continue after a signal, to write a checkpoint, and exit with any code."""
    asked = job(["sh", "-c", "trap 'sleep 0.2; echo saved; exit 5' TERM USR1; kill -TERM $PPID $$; sleep 1 & wait"])
    (tmp_path / "k").mkdir()
    task = shlex.split(
        render_script(asked, AT, "k", str(tmp_path)).partition("\nsrun")[2].partition('\ncode=$?\n[ "$code"')[0]
    )
    env = {"PATH": "/usr/bin:/bin", "SUPERCLOUD_FAILED": str(tmp_path / "code"), "SLURM_PROCID": "0"}
    done = subprocess.run(task[task.index("sh") :], env=env, capture_output=True, text=True, timeout=15)
    assert (done.returncode, done.stdout) == (5, "saved\n") and not (tmp_path / "code").exists()


def test_a_later_launch_has_later_epochs(job: Make) -> None:
    assert "SUPERCLOUD_EPOCH=$((${SLURM_RESTART_COUNT:-0} + 1))" in render_script(job(), AT, "k", "/s")
    assert "SUPERCLOUD_EPOCH=$((${SLURM_RESTART_COUNT:-0} + 20001))" in render_script(job(), AT, "k.e2", "/s")


@pytest.mark.parametrize("code, restarts, asked", [(0, 0, False), (42, 0, True), (42, 3, False), (41, 0, False)])
def test_a_job_is_requeued_by_exit_code(job: Make, tmp_path: Path, code: int, restarts: int, asked: bool) -> None:
    text = render_script(job(script=f"exit {code}", **WISHES["retries"]), AT, "k", str(tmp_path))
    stand_in = f'scontrol() {{ [ "$1" != requeue ] || echo "$2" >>{tmp_path}/asked; }}\nsleep() {{ :; }}\n'
    done = subprocess.run(
        ["bash", "-c", stand_in + text],
        env={"PATH": "/usr/bin:/bin", "SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": str(restarts)},
    )
    assert done.returncode == code and (tmp_path / "asked").exists() is asked


# as 22.05 prints them, shortened
SHOWN = """\
NodeName=t-0001 Arch=x86_64 CPUAlloc=224 CPUTot=224 Gres=gpu:h100:8(S:0-1) State=ALLOCATED ThreadsPerCore=2 CfgTRES=cpu=224,mem=2000000M,billing=224,gres/gpu=8,gres/gpu:h100=8 AllocTRES=cpu=224,mem=1875G,gres/gpu=8,gres/gpu:h100=8
NodeName=t-0002 CPUAlloc=14 State=MIXED+DRAIN ThreadsPerCore=2 CfgTRES=cpu=224,gres/gpu=8 AllocTRES=cpu=14,gres/gpu=1 Reason=NHC: check
NodeName=t-0003 CPUAlloc=0 State=DOWN*+NOT_RESPONDING ThreadsPerCore=2 CfgTRES=cpu=224,gres/gpu=8 AllocTRES=
NodeName=t-0004 CPUAlloc=0 State=IDLE+PLANNED ThreadsPerCore=2 CfgTRES=cpu=224,gres/gpu=8 AllocTRES=
NodeName=cpu-1 CPUAlloc=3 State=MIXED ThreadsPerCore=2 CfgTRES=cpu=96,mem=1G AllocTRES=cpu=3
"""  # noqa: E501


def test_free_nodes_and_end_times_are_parsed() -> None:
    until = nodes.parse_ends("1795213461|t-[0001-0002]\n1795213999|t-0002,cpu-1\nNONE|t-0004\n")
    assert until == {"t-0001": 1795213461.0, "t-0002": 1795213999.0, "cpu-1": 1795213999.0}
    assert list(nodes.parse_nodes(SHOWN, until)) == [
        NodeState("t-0001", "up", 8, 1795213461.0),
        NodeState("t-0002", "drained", 1, 1795213999.0),
        NodeState("t-0003", "down", 0),
        NodeState("t-0004", "up", 0),
        NodeState("cpu-1", "up", 1, 1795213999.0),
    ]


def test_waiting_jobs_are_parsed() -> None:
    text = "batch|4|Resources\nbatch,short|2|Priority\nbatch|9|Dependency\nbatch|9|JobHeldUser\n"
    assert nodes.parse_waiting_jobs(text) == [WaitingJobs("batch", 6, 2), WaitingJobs("short", 2, 1)]


class Lists:
    """A Slurm that lists rows."""

    def __init__(self, queue: str, accounts: str = ""):
        self.queue, self.accounts = queue, accounts

    def run(self, argv: tuple[str, ...], stdin: object = None) -> CommandResult:
        return CommandResult(0, self.queue if "squeue" in argv else self.accounts)


def format_row(ref: str, state: str, code: int = 0) -> str:
    return f"{ref}|{state}|None|0|{code}|1795213461|1795213462|supercloud:k|\n"


def test_an_array_has_one_state(tmp_path: Path) -> None:
    def poll(queue: str, accounts: str = "") -> State | None:
        engine = SlurmEngine(Connection(engine="slurm"), tmp_path, Lists(queue, accounts))  # type: ignore[arg-type]
        found = engine.poll(["9/3"])
        return found["9/3"].state if found else None

    assert poll(format_row("9", "PENDING")) is State.QUEUED
    assert poll(format_row("9", "RUNNING") + format_row("9", "PENDING")) is State.RUNNING
    assert poll(format_row("9", "COMPLETED") * 3) is State.COMPLETED
    assert poll(format_row("9", "COMPLETED") * 2 + format_row("9", "FAILED", 768)) is State.FAILED
    forgotten = "".join(f"9_{n}|COMPLETED|0:0|1795213461|1795213462|None\n" for n in range(3))
    assert poll(format_row("9", "COMPLETED"), forgotten) is State.COMPLETED, "the queue has forgotten two of them"
    assert poll(format_row("9", "COMPLETED")) is None, "and so have the accounts"


def test_only_a_waiting_job_is_recalled(tmp_path: Path) -> None:
    assert commands.build_recall("9/3") == ("scancel", "--state=PENDING", "9") and commands.build_cancel("9/3") == (
        "scancel",
        "9",
    )
