"""What else a job may request of this machine: arrays, order, retries, a deadline, secrets, an image."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jobs.waiting import wait_for

from supercloud.errors import EngineError, InputError
from supercloud.jobs import api
from supercloud.jobs.engines.local.agent import Agent
from supercloud.jobs.engines.local.bell import open_pipe
from supercloud.jobs.engines.local.engine import LocalEngine
from supercloud.jobs.engines.local.queue import Task
from supercloud.jobs.engines.retries import list_retried_exit_codes
from supercloud.jobs.engines.submission import Submission
from supercloud.jobs.store.private_files import create_private_folder
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

pytestmark = pytest.mark.slow

Make = Callable[..., JobSpec]


@pytest.fixture
def submit(job: Make, plan: Plan, store: Store) -> Callable[..., api.Job]:
    return lambda text, **fields: api.submit(job(["sh", "-c", text], **fields), plan, engine="local", store=store)


def read_log_lines(held: api.Job) -> list[str]:
    return sorted("".join(held.logs()).split("\n")[:-1])


def test_an_array_runs_each_task_once(submit: Callable[..., api.Job]) -> None:
    held = submit('echo "$SUPERCLOUD_ARRAY_INDEX of $SUPERCLOUD_ARRAY_COUNT at $MASTER_PORT"', array=5)
    assert held.result(30).exit_code == 0
    lines = read_log_lines(held)
    assert [line.split(" at ")[0] for line in lines] == [f"{index} of 5" for index in range(5)]
    assert len({line.split(" at ")[1] for line in lines}) == 5, "each has a port of its own"
    bad = submit("exit $SUPERCLOUD_ARRAY_INDEX", array=3)
    assert bad.wait(30) is State.FAILED and bad.record.reason.startswith("2 of 3 tasks: ended with exit code")


def test_all_tasks_of_an_array_are_cancelled(submit: Callable[..., api.Job], store: Store) -> None:
    held = submit("sleep 60", array=30)
    wait_for(lambda: held.get_state() is State.RUNNING)
    held.cancel()
    assert held.wait(30) is State.CANCELLED


def test_the_size_of_an_array_is_limited(submit: Callable[..., api.Job]) -> None:
    with pytest.raises(EngineError, match="at most 10000"):
        submit("true", array=10_001)


def test_dependent_jobs_run_in_order(submit: Callable[..., api.Job], tmp_path: Path) -> None:
    first = submit(f"sleep 0.3; echo one >>{tmp_path}/order", name="first")
    array = submit(f"echo many >>{tmp_path}/order", array=3, after=["first"], name="array")
    last = submit(f"echo last >>{tmp_path}/order", after=["array", str(first.id)])
    assert last.wait(30) is State.COMPLETED and array.get_state() is State.COMPLETED
    assert (tmp_path / "order").read_text().split() == ["one", "many", "many", "many", "last"]


def test_a_job_that_depends_on_a_failed_job_never_starts(submit: Callable[..., api.Job], tmp_path: Path) -> None:
    submit("sleep 0.3; exit 1", name="bad")
    never = submit(f"touch {tmp_path}/began", after=["bad"])
    further = submit(f"touch {tmp_path}/began", after=[str(never.id)])
    assert further.wait(30) is State.FAILED and never.get_state() is State.FAILED
    assert "did not complete" in never.record.reason and not (tmp_path / "began").exists()
    with pytest.raises(InputError, match="can never start"):
        submit("true", after=["bad"])
    with pytest.raises(InputError, match="ID, key or name 'nobody'"):
        submit("true", after=["nobody"])


def test_a_dependency_on_a_job_of_another_engine_is_rejected(
    submit: Callable[..., api.Job], job: Make, plan: Plan, store: Store
) -> None:
    here = submit("sleep 5", name="here")
    with pytest.raises(InputError, match="on another engine.*submit both to a fleet"):
        api.submit(job(after=["here"]), plan, engine="fake", store=store)
    here.cancel()


def test_jobs_are_retried_by_exit_code(submit: Callable[..., api.Job]) -> None:
    rules = [{"exit_codes": [7], "action": "fail"}, {"exit_codes": [7, 42], "action": "retry"}]
    text = 'echo $SUPERCLOUD_EPOCH; [ "$SUPERCLOUD_EPOCH" -ge 3 ] || exit 42; exit 7'
    held = submit(text, retries=9, retry_rules=rules)
    assert held.wait(30) is State.FAILED and held.record.exit_code == 7 and held.record.attempt == 3
    assert read_log_lines(held) == ["1", "2", "3"]
    tired = submit("exit 42", retries=2, retry_rules=rules)
    assert tired.wait(30) is State.FAILED and tired.record.attempt == 3


def test_a_deadline_ends_running_and_waiting_jobs(submit: Callable[..., api.Job]) -> None:
    start = time.monotonic()
    running = submit("sleep 60", deadline="3 s", accelerators={"count": 8})
    waiting = submit("true", deadline="1 s", accelerators={"count": 8})
    for held, seconds in ((running, 3), (waiting, 1)):
        assert held.wait(20) is State.TIMEOUT and f"deadline of {seconds} s" in held.record.reason
    assert time.monotonic() - start < 15


def test_secrets_are_read_at_start_and_never_stored(
    submit: Callable[..., api.Job], store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir()
    monkeypatch.setenv("SUPERCLOUD_SECRETS", str(folder))
    for name, mode in (("token", 0o600), ("loose", 0o644)):
        (folder / name).write_text("hunter2\n")
        (folder / name).chmod(mode)
    held = submit('printf %s "${TOKEN%ter2}"', secrets=[{"env": "TOKEN", "name": "token"}])
    assert held.wait(20) is State.COMPLETED and "".join(held.logs()) == "hun"
    for path in store.folder.rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes(), path
    for name, problem in (("loose", "is readable by other users"), ("none", "secret")):
        held = submit("true", secrets=[{"env": "TOKEN", "name": name}])
        assert held.wait(20) is State.FAILED and problem in held.record.reason and "chmod 600" in held.record.reason


def test_each_job_gets_the_secrets_of_its_submitter(
    submit: Callable[..., api.Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are run by the agent that the first submission started."""
    shown = {}
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.setenv("SUPERCLOUD_SECRETS", str(folder))
        (folder / "token").write_text(name)
        (folder / "token").chmod(0o600)
        shown[name] = submit("printf %s $TOKEN", secrets=[{"env": "TOKEN", "name": "token"}])
    for name, held in shown.items():
        assert held.wait(30) is State.COMPLETED and "".join(held.logs()) == name


def test_a_secret_with_a_nul_byte_fails_its_job_only(
    submit: Callable[..., api.Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUPERCLOUD_SECRETS", str(tmp_path))
    (tmp_path / "token").write_bytes(b"a\0b")
    (tmp_path / "token").chmod(0o600)
    bad, good = submit("true", secrets=[{"env": "TOKEN", "name": "token"}]), submit("true")
    assert bad.wait(30) is State.FAILED and "has a NUL byte" in bad.record.reason
    assert good.wait(30) is State.COMPLETED


def test_a_job_that_breaks_the_agent_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "local"
    agent = Agent(folder, open_pipe_in(folder), idle=0.0)
    refs = [agent.queue.add(Submission(key, ("true",), settings={"nodes": 1, "tasks_per_node": 1})) for key in "ab"]
    for ref in refs:
        agent.queue.record_start(int(ref), (), False)

    def update(task: Task) -> bool:
        if task.key == "a":
            raise ZeroDivisionError("no such number")
        agent.unrecorded_ends.append((task.ref, State.COMPLETED, "", 0))
        return False

    monkeypatch.setattr(agent, "update_task", update)
    agent.serve()
    found = agent.queue.read_statuses(refs)
    agent.queue.close()
    assert [found[ref].state for ref in refs] == [State.FAILED, State.COMPLETED]
    assert "cannot run it: ZeroDivisionError: no such number" in found[refs[0]].reason


def test_text_that_cannot_be_an_argument_fails_its_job(tmp_path: Path) -> None:
    folder = tmp_path / "local"
    agent = Agent(folder, open_pipe_in(folder), idle=0.0)
    settings = {"nodes": 1, "tasks_per_node": 1, "port": 1, "workdir": "/"}
    ref = agent.queue.add(Submission("a", ("a\0b",), settings=settings))
    agent.serve()
    status = agent.queue.read_statuses([ref])[ref]
    agent.queue.close()
    assert status.state is State.FAILED and "null byte" in status.reason


def open_pipe_in(folder: Path) -> int:
    create_private_folder(folder)
    return open_pipe(folder)


def test_an_image_needs_a_container_runtime(
    submit: Callable[..., api.Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(EngineError, match="neither apptainer nor singularity"):
        submit("true", image="pytorch:26.01")
    program = tmp_path / "apptainer"
    skip = 'while [ "$1" != docker://nvcr.io/pytorch:26.01 ]; do shift; done; shift'
    program.write_text(f'#!/bin/sh\necho "$@"\n{skip}\nexec "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    held = submit("echo inside", image="nvcr.io/pytorch:26.01")
    assert held.wait(20) is State.COMPLETED
    assert read_log_lines(held)[1] == "inside" and read_log_lines(held)[0].startswith("exec --bind ")


def test_a_job_is_recalled_only_before_it_starts(job: Make, tmp_path: Path) -> None:
    from supercloud.jobs.engines.local.queue import Queue
    from supercloud.jobs.placement.place import Placement

    engine = LocalEngine(Connection(engine="local"), tmp_path)
    at = Placement("pod", "train", 1, 8, 8)
    queue = Queue(tmp_path / "local")
    waiting, running = (int(queue.add(engine.prepare(job(), at, key))) for key in ("waiting", "running"))
    queue.record_start(running, [], False)
    engine.recall(str(waiting))
    engine.recall(str(running))
    statuses = queue.read_statuses([str(waiting), str(running)])
    assert statuses[str(waiting)].state is State.CANCELLED and statuses[str(waiting)].started is None
    assert statuses[str(running)].state is State.RUNNING
    queue.record_start(waiting, [], False)
    assert queue.read_statuses([str(waiting)])[str(waiting)].state is State.CANCELLED, "an agent that is late"
    array = queue.add(engine.prepare(job(array=3), at, "array"))
    queue.record_start(int(array.split("/")[0]) + 1, [], False)
    engine.recall(array)
    assert queue.read_statuses([array])[array].state is State.RUNNING, "an array that has begun anywhere stays whole"
    queue.close()


@pytest.mark.parametrize("field, value", [("checkpoint", {"path": "/tmp/c"}), ("time_limit", "1 h")])
def test_the_checkpoint_helper_is_available_if_needed(
    submit: Callable[..., api.Job], tmp_path: Path, field: str, value: Any
) -> None:
    held = submit('[ -x "${SUPERCLOUD_COMMIT:-/nowhere}" ] && echo yes || echo no', **{field: value})
    assert held.wait(20) is State.COMPLETED
    assert read_log_lines(held) == (["yes"] if field == "checkpoint" else ["no"])
    assert os.path.exists(tmp_path)


def test_exit_code_0_is_not_retried(job: Make) -> None:
    rules = [{"exit_codes": [0, 42], "action": "retry"}]
    assert list_retried_exit_codes(job(retries=2, retry_rules=rules)) == (42,)
