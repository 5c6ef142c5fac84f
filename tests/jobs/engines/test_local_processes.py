"""The processes of a job of this machine, also those that hide."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from jobs.waiting import wait_for

from supercloud.jobs import api
from supercloud.jobs.engines.local.agent import Agent
from supercloud.jobs.engines.local.bell import AGENT_VARIABLE, open_pipe
from supercloud.jobs.engines.local.engine import LocalEngine
from supercloud.jobs.engines.local.runs import Run, signal_all
from supercloud.jobs.engines.submission import Submission
from supercloud.jobs.store.private_files import create_private_folder
from supercloud.jobs.store.processes import ProcessId, find_related
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec

pytestmark = pytest.mark.slow

Make = Callable[..., JobSpec]
CLEARED = {
    "cleared": ["env", "-i", "sleep", "62"],
    "in another group": ["env", "-i", "bash", "-c", "set -m; sleep 62 & wait"],
    "in another session": ["env", "-i", "sh", "-c", "setsid sleep 62 & wait"],
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalEngine, "grace_period", 0.3)


def is_sleep(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes() == b"sleep\x0062\x00"
    except OSError:
        return False


def find_sleep(run: Run) -> list[int]:
    wrapper = run.read_process()
    return [pid for pid in find_related([wrapper], []) if is_sleep(pid)] if wrapper else []


@pytest.mark.parametrize("how", CLEARED)
def test_a_program_without_its_environment_is_cancelled(job: Make, plan: Plan, store: Store, how: str) -> None:
    held = api.submit(job(CLEARED[how]), plan, engine="local", store=store)
    sleeping = wait_for(lambda: find_sleep(Run(store.folder / "local", held.key, 1, 0)))
    held.cancel()
    assert held.wait(30) is State.CANCELLED
    wait_for(lambda: not any(map(is_sleep, sleeping)))


@pytest.mark.parametrize("limit", ["time_limit", "deadline"])
def test_limits_end_a_program_without_its_environment(job: Make, plan: Plan, store: Store, limit: str) -> None:
    held = api.submit(job(CLEARED["cleared"], **{limit: "1 s"}), plan, engine="local", store=store)
    assert held.wait(30) is State.TIMEOUT


def test_a_wrapper_that_waits_for_a_lost_program_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "local"
    create_private_folder(folder)
    agent = Agent(folder, open_pipe(folder), idle=0.0)
    settings = {"nodes": 1, "tasks_per_node": 1, "port": 1, "workdir": "/"}
    ref = agent.queue.add(Submission("a", ("sleep", "62"), env={"PATH": os.environ["PATH"]}, settings=settings))
    (task,) = agent.start_tasks([])
    (run,) = agent.list_runs(task)
    wait_for(lambda: find_sleep(run))
    monkeypatch.setattr(agent, "signal_task", lambda task, number: 0)  # as if its program could not be found
    agent.queue.cancel(ref)
    agent.queue.record_termination(task.ref, State.CANCELLED, "cancelled")
    agent.kill_deadlines[task.ref] = time.monotonic() - 3600
    agent.serve()
    status = agent.queue.read_statuses([ref])[ref]
    agent.queue.close()
    assert status.state is State.CANCELLED and not find_sleep(run)


def test_remaining_processes_of_a_session_are_found_but_not_agents(tmp_path: Path) -> None:
    """An agent that a job has started runs the jobs of others."""
    text = "sleep 62 & env SUPERCLOUD_AGENT=x sh -c 'sleep 62 & echo $! $$; exec sleep 62' & wait"
    env = {name: value for name, value in os.environ.items() if name != AGENT_VARIABLE}
    leader = subprocess.Popen(["sh", "-c", text], stdout=subprocess.PIPE, text=True, start_new_session=True, env=env)
    assert leader.stdout
    separate = {int(word) for word in leader.stdout.readline().split()}
    stat = Path(f"/proc/{leader.pid}/stat").read_text().rpartition(")")[2].split()
    here = ProcessId.get_current()
    process = ProcessId(leader.pid, stat[19], here.boot_id, here.namespace)
    folder = Run(tmp_path, "a", 1, 0).task_folder
    folder.mkdir(parents=True)
    (folder / "started").write_text(str(process))
    try:
        other = ProcessId(leader.pid, "1", here.boot_id, here.namespace)
        assert find_related([other], []) == set(), "another process had its number"
        leader.kill()
        leader.wait()
        assert len(find_related([process], []) - separate) == 1
        assert signal_all(tmp_path, "a", 1, signal.SIGKILL) == 1
        wait_for(lambda: find_related([process], []) == separate)
    finally:
        for pid in find_related([process], []):
            os.kill(pid, signal.SIGKILL)
        leader.stdout.close()
