from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jobs.namespaces import are_allowed
from jobs.waiting import stop_agent, wait_for

from supercloud.errors import EngineError, JobFailedError, StoreError
from supercloud.jobs import api
from supercloud.jobs.engines import local
from supercloud.jobs.engines.local import runs, slots
from supercloud.jobs.engines.local.engine import LocalEngine
from supercloud.jobs.engines.local.queue import Queue, Task
from supercloud.jobs.engines.local.verdicts import compute_time_left, find_exceeded_limit
from supercloud.jobs.engines.submission import Submission
from supercloud.jobs.placement.place import Placement
from supercloud.jobs.store.processes import ProcessId
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec
from supercloud.spec.fleet import Connection

pytestmark = pytest.mark.slow

Make = Callable[..., JobSpec]
SHOW = ["sh", "-c", 'echo "$NODE_RANK $RANK/$WORLD_SIZE $CUDA_VISIBLE_DEVICES $MASTER_ADDR:$MASTER_PORT $NNODES"']


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs that are asked to end get less time than in earnest."""
    monkeypatch.setattr(LocalEngine, "grace_period", 0.3)
    monkeypatch.delenv("SUPERCLOUD_ACCELERATORS", raising=False)


def run(job: JobSpec, plan: Plan, store: Store) -> api.Job:
    held = api.submit(job, plan, engine="local", store=store)
    held.wait(20)
    return held


def get_place(held: api.Job, store: Store, attempt: int = 1, rank: int = 0) -> runs.Run:
    return runs.Run(store.folder / "local", held.key, attempt, rank)


def get_process(held: api.Job, store: Store, attempt: int = 1) -> ProcessId:
    process = wait_for(get_place(held, store, attempt).read_process)
    assert isinstance(process, ProcessId)
    return process


def test_arguments_are_passed_unchanged(job: Make, plan: Plan, store: Store, tmp_path: Path) -> None:
    nasty = ["$(touch x)", "`touch x`", "a b", "'", '"', ";touch x", "\n", "*", "\\", "", "-n", "é"]
    show = "import sys, json, os; print(json.dumps(sys.argv[1:] + [os.environ['A']]))"
    command = [sys.executable, "-c", show, *nasty]
    held = run(job(command, env={"A": "$(touch x)\n'"}, workdir=str(tmp_path)), plan, store)
    assert json.loads("".join(held.logs())) == [*nasty, "$(touch x)\n'"]
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("builtin", ["eval", "exit", "cd", ":", "trap"])
def test_shell_builtins_are_not_programs(job: Make, plan: Plan, store: Store, builtin: str) -> None:
    held = run(job([builtin, "touch x"]), plan, store)
    assert (held.record.state, held.record.exit_code) == (State.FAILED, 127)
    assert "not found" in "".join(held.logs())


def test_two_nodes_are_two_processes(job: Make, plan: Plan, store: Store) -> None:
    held = run(job(SHOW, accelerators={"type": "h100", "count": 16}), plan, store)
    lines = sorted("".join(held.logs()).splitlines())
    port = lines[0].rpartition(":")[2].split()[0]
    assert lines == [f"{n} {n}/2 0,1,2,3,4,5,6,7 127.0.0.1:{port} 2" for n in (0, 1)]
    assert "simulated" in held.record.reason


def test_a_script_runs_once(job: Make, plan: Plan, store: Store) -> None:
    script = "#!/bin/bash\necho $((1 + 1)) $0 | cut -c1-1\n"
    held = run(job(script=script, accelerators={"type": "h100", "count": 16}), plan, store)
    assert "".join(held.logs()) == "2\n"


def test_one_task_that_fails_ends_the_others(job: Make, plan: Plan, store: Store) -> None:
    command = ["sh", "-c", 'test "$RANK" = 0 || exec sleep 60; exit 4']
    held = api.submit(job(command, accelerators={"type": "h100", "count": 32}), plan, engine="local", store=store)
    with pytest.raises(JobFailedError, match="one of its 4 tasks ended with exit code 4"):
        held.result(20)


def test_a_time_limit_ends_all_processes(job: Make, plan: Plan, store: Store) -> None:
    stubborn = "trap '' TERM; (setsid sleep 61 &) ; sleep 61"
    held = run(job(["sh", "-c", stubborn], time_limit="300 ms"), plan, store)
    assert (held.record.state, held.record.exit_code) == (State.TIMEOUT, None)
    place = get_place(held, store)
    wait_for(lambda: not runs.signal_all(place.folder, held.key, 1, 0))  # not even what left the session is there


def test_cancel_ends_all_processes(job: Make, plan: Plan, store: Store) -> None:
    held = api.submit(job(["sh", "-c", "sleep 62 & sleep 62"]), plan, engine="local", store=store)
    get_process(held, store)
    held.cancel()
    assert held.wait(10) is State.CANCELLED
    wait_for(lambda: not runs.signal_all(store.folder / "local", held.key, 1, 0))


def test_remaining_processes_of_a_program_are_ended(job: Make, plan: Plan, store: Store) -> None:
    held = run(job(["sh", "-c", "sleep 63 & exit 0"]), plan, store)
    assert held.record.state is State.COMPLETED
    wait_for(lambda: not runs.signal_all(store.folder / "local", held.key, 1, 0))  # the kernel takes a moment


def test_a_waiting_job_is_cancelled_without_having_run(job: Make, plan: Plan, store: Store) -> None:
    whole = {"type": "h100", "count": 8}
    first = api.submit(job(["sleep", "64"], accelerators=whole), plan, engine="local", store=store)
    get_process(first, store)
    second = api.submit(job(accelerators=whole), plan, engine="local", store=store)
    assert second.get_state() is State.QUEUED
    second.cancel()
    assert second.wait(10) is State.CANCELLED and "before it started" in second.record.reason
    assert not get_place(second, store).task_folder.exists()
    first.cancel()


def test_a_killed_agent_does_not_affect_running_jobs(job: Make, plan: Plan, store: Store, tmp_path: Path) -> None:
    held = api.submit(job(["sh", "-c", "echo begun; sleep 0.5; echo done"]), plan, engine="local", store=store)
    get_process(held, store)
    assert stop_agent(store.folder)
    assert held.wait(10) is State.COMPLETED
    assert "".join(held.logs()) == "begun\ndone\n"


def test_a_job_that_ended_without_an_agent_has_its_exit_code(job: Make, plan: Plan, store: Store) -> None:
    held = api.submit(job(["sh", "-c", "sleep 0.2; exit 5"]), plan, engine="local", store=store)
    process = get_process(held, store)
    assert stop_agent(store.folder)
    wait_for(lambda: not process.is_alive)
    assert held.wait(10) is State.FAILED and held.record.exit_code == 5


@pytest.mark.parametrize("agent", ["lives", "was killed"])
@pytest.mark.parametrize("retries, end, attempts", [(0, State.NODE_FAIL, 1), (1, State.COMPLETED, 2)])
def test_a_lost_job_is_restarted_or_fails(
    job: Make, plan: Plan, store: Store, retries: int, end: State, attempts: int, agent: str
) -> None:
    text = 'echo $SUPERCLOUD_EPOCH; test "$SUPERCLOUD_EPOCH" = 2 || sleep 65'
    held = api.submit(job(["sh", "-c", text], retries=retries), plan, engine="local", store=store)
    process = get_process(held, store)
    if agent == "was killed":
        stop_agent(store.folder)
    os.kill(
        process.pid, signal.SIGKILL
    )  # its wrapper: the program itself is left, and must not run together with the next
    assert held.wait(10) is end
    assert held.record.attempt == attempts
    assert not runs.signal_all(store.folder / "local", held.key, 1, 0)


def test_a_claim_has_one_owner(tmp_path: Path) -> None:
    run = runs.Run(tmp_path, "k", 1, 0)
    out = tmp_path / "out"
    children = [run.spawn(["sh", "-c", f"echo x >>{out}"], "/", dict(os.environ)) for _ in range(8)]
    for child in children:
        child.wait()
    assert out.read_text() == "x\n" and run.read_exit_code() == 0


def test_a_blocked_task_is_never_started(tmp_path: Path) -> None:
    run = runs.Run(tmp_path, "k", 1, 0)
    run.block_start()
    run.spawn(["touch", str(tmp_path / "x")], "/", dict(os.environ)).wait()
    assert not (tmp_path / "x").exists() and run.read_exit_code() is None
    assert (process := run.read_process()) and not process.is_alive
    assert not runs.has_leftover_processes([run])


def test_a_missing_work_folder_fails_the_job(job: Make, plan: Plan, store: Store) -> None:
    held = run(job(workdir="/nowhere/at/all"), plan, store)
    assert (held.record.state, held.record.exit_code) == (State.FAILED, 126)
    assert "/nowhere/at/all" in "".join(held.logs())


def test_arguments_beyond_the_limit_of_a_command_line_fail_the_job(job: Make, plan: Plan, store: Store) -> None:
    held = run(job(["true", *["x" * 100_000] * 40]), plan, store)
    assert held.record.state is State.FAILED and "could not be started" in held.record.reason


def test_an_idle_agent_exits(job: Make, plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalEngine, "idle_timeout", 0.1)
    run(job(), plan, store)
    wait_for(lambda: not stop_agent(store.folder, 0))
    assert run(job(), plan, store).record.state is State.COMPLETED, "the next job finds another"


def test_only_one_agent_runs(job: Make, plan: Plan, store: Store) -> None:
    program = f"""
import sys
from pathlib import Path
from supercloud.jobs.engines.local.bell import ensure_agent
ensure_agent(Path({str(store.folder / "local")!r}), 5.0)
"""
    (store.folder / "local").mkdir()
    children = [subprocess.Popen([sys.executable, "-c", program]) for _ in range(6)]
    assert [child.wait() for child in children] == [0] * 6
    argument = str(store.folder / "local").encode()
    agents = [entry for entry in Path("/proc").glob("[0-9]*/cmdline") if argument in _read(entry).split(b"\0")]
    assert len(agents) == 1


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_a_job_larger_than_the_machine_is_rejected(job: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = LocalEngine(Connection(engine="local"), tmp_path)
    with pytest.raises(EngineError, match="at most 256"):
        engine.prepare(job(), Placement("c", "p", 300, 8, 8), "k")
    monkeypatch.setenv("SUPERCLOUD_ACCELERATORS", "4")
    with pytest.raises(EngineError, match="has 4"):
        engine.prepare(job(), Placement("c", "p", 1, 8, 8), "k")


def build_task(ref: int, nodes: int = 1, each: int = 0, held: tuple[int, ...] = (), **more: Any) -> Task:
    settings = {"nodes": nodes, "accelerators_per_node": each, "node_accelerators": 8}
    return Task(
        ref,
        f"k{ref}",
        Submission(f"k{ref}", ("x",), settings=settings),
        State.QUEUED,
        1,
        held,
        False,
        "",
        more.get("cancelled", False),
        "",
        None,
        "",
        None,
        None,
    )


def test_slots_are_leased_in_order_of_submission() -> None:
    places = slots.Capacity(8, False, 4)
    running = [build_task(1, 1, 4, (0, 1, 2, 3))]
    waiting = [build_task(2, 1, 2), build_task(3, 1, 4), build_task(4, 1, 1), build_task(5)]
    leases, hopeless = slots.lease_slots(running, waiting, places)
    assert [(task.ref, given) for task, given in leases] == [(2, [4, 5]), (5, [])], "4 must not overtake 3 for ever"
    assert not hopeless
    assert [task.ref for task, _ in slots.lease_slots([], [build_task(6, 1, 16), build_task(7, 4, 8)], places)[1]] == [
        6
    ]
    assert slots.lease_slots([], [build_task(7, 4, 8)], places)[0][0][1] == list(range(8)), (
        "four nodes share what there is"
    )


def test_real_accelerators_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "listdir", lambda path: ["nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "null"])
    assert slots.count_real_accelerators() == 2
    monkeypatch.setenv("SUPERCLOUD_ACCELERATORS", "5")
    assert slots.count_real_accelerators() == 5
    assert slots.compute_capacity([build_task(1, 2, 8)]) == slots.Capacity(5, False, max(4, 2 * (os.cpu_count() or 1)))


def test_real_accelerators_are_leased(job: Make, plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUPERCLOUD_ACCELERATORS", "4")
    asked = job(["sh", "-c", "echo $CUDA_VISIBLE_DEVICES; sleep 0.3"], accelerators={"type": "h100", "count": 2})
    held = [api.submit(asked, plan, engine="local", store=store) for _ in range(3)]
    for one in held:
        assert one.wait(10) is State.COMPLETED and not one.record.reason
    assert sorted("".join(one.logs()) for one in held) in (["0,1\n", "0,1\n", "2,3\n"], ["0,1\n", "2,3\n", "2,3\n"])


def test_a_queue_accepts_a_key_once(tmp_path: Path) -> None:
    queue = Queue(tmp_path)
    assert queue.add(Submission("k", ("x",))) == queue.add(Submission("k", ("x",))) == "1"
    for other in (Submission("k", ("y",)), Submission("k", ("x",), recorded=1.0)):
        with pytest.raises(EngineError, match="key 'k' is already used by job 1 of this machine"):
            queue.add(other)
    assert queue.list_waiting(9)[0].submission.argv == ("x",)
    queue.close()


def test_the_wrapper_passes_shellcheck() -> None:
    shellcheck = Path(sysconfig.get_path("scripts")) / "shellcheck"
    done = subprocess.run([shellcheck, runs._WRAPPER_SCRIPT], text=True, capture_output=True)
    assert done.returncode == 0, done.stdout


def test_processes_are_distinguished() -> None:
    child = subprocess.Popen(["sleep", "66"])
    me = ProcessId.get_current()
    assert me.is_alive and ProcessId.parse(str(me)) == me
    assert not ProcessId(me.pid, "1", me.boot_id).is_alive and not ProcessId(me.pid, me.start_time, "x").is_alive
    child.kill()
    time.sleep(0.05)
    assert not ProcessId(child.pid, "1", me.boot_id).is_alive, "its remains do not count"
    child.wait()
    assert ProcessId.parse("nonsense") is None


def test_a_time_limit_is_independent_of_the_wall_clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    queue = Queue(tmp_path)
    ref = int(queue.add(Submission("k", ("true",), settings={"time_limit": 60})))
    queue.record_start(ref, (), False)
    [task] = queue.list_running()
    now = time.time()
    for jump in (-1e6, 1e6):
        monkeypatch.setattr(time, "time", lambda jump=jump: now + jump)
        assert not find_exceeded_limit(task) and 50 < compute_time_left(task) <= 60
        queue.record_end(ref, State.COMPLETED, "", 0)
        status = queue.read_statuses([str(ref)])[str(ref)]
        assert status.started is not None and status.ended is not None and 0 <= status.ended - status.started < 60
    queue.close()


def test_a_deadline_is_independent_of_the_wall_clock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    queue = Queue(tmp_path)
    queue.record_start(int(queue.add(Submission("k", ("true",), settings={"deadline": 60}))), (), False)
    [task] = queue.list_running()
    queue.close()
    now, later = time.time(), time.monotonic() + 61
    for jump in (-1e6, 1e6):
        monkeypatch.setattr(time, "time", lambda jump=jump: now + jump)
        assert not find_exceeded_limit(task) and 50 < compute_time_left(task) <= 60
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert "its deadline of 60 s" in find_exceeded_limit(task)


@pytest.mark.parametrize("boot_id", ["", "of an earlier boot"])
def test_after_a_restart_of_the_machine_a_deadline_is_counted_by_the_date(
    boot_id: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    queue = Queue(tmp_path)
    queue.record_start(int(queue.add(Submission("k", ("true",), settings={"deadline": 60}))), (), False)
    task = replace(queue.list_running()[0], queued_boot_id=boot_id)
    queue.close()
    assert not find_exceeded_limit(task)
    later = time.time() + 61
    monkeypatch.setattr(time, "time", lambda: later)
    assert "its deadline of 60 s" in find_exceeded_limit(task)


@pytest.mark.skipif(not are_allowed(), reason="this system gives no namespaces")
def test_the_exit_code_of_a_program_is_recorded_on_a_full_disk(tmp_path: Path) -> None:
    """In a separate small file system, which the program fills before it ends."""
    script = """
    mount -t tmpfs -o size=64k tmpfs "$1" && mkdir "$1/task" || exit 99
    sh "$2" "$1/task" "$1/log" "$1" - sh -c 'cat /dev/zero >fill 2>/dev/null; exit 3' </dev/null
    cat "$1/task/exit"
    """
    wrapper = str(Path(local.__file__).with_name("run.sh"))
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", str(tmp_path), wrapper],
        capture_output=True,
        text=True,
    )
    assert (done.stdout.split(), done.stderr) == (["3"], "")


def test_a_queue_that_could_not_be_written_is_reopened_at_the_next_poll(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine is kept for as long as its process lives: one that was opened on a full disk does not stay so."""
    folder = tmp_path / "local"
    made = Queue(folder)
    ref = made.add(Submission("k", ("true",)))
    made.close()
    monkeypatch.setattr("supercloud.jobs.engines.local.engine.ensure_agent", lambda *_: None)
    engine, before = LocalEngine(Connection(engine="local"), tmp_path), resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))  # no file of this process can grow
        assert engine.poll([ref])[ref].state is State.QUEUED
        with pytest.raises(StoreError, match="disk"):
            engine.cancel(ref)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    agent = sqlite3.connect(folder / "queue.db", timeout=0, isolation_level=None)
    assert agent.execute("SELECT count(*) FROM tasks").fetchone() == (1,), "the file is kept from nobody"
    agent.close()
    assert engine.poll([ref])[ref].state is State.QUEUED
    engine.cancel(ref)
    engine._queue.close()
