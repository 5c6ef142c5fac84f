from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs import called

import supercloud
from supercloud.errors import InputError, JobFailedError
from supercloud.jobs import api
from supercloud.jobs.engines.local.runs import build_result_path
from supercloud.jobs.executor import Executor, RemoteTracebackError
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan

pytestmark = pytest.mark.slow


@pytest.fixture
def executor(plan: Plan, store: Store) -> Iterator[Executor]:
    with Executor(plan, engine="local", store=store, accelerators={"type": "h100", "count": 1}) as opened:
        yield opened


def test_a_future_has_the_return_value_of_its_function(executor: Executor) -> None:
    future = executor.submit(called.add, 40)
    assert future.result(30) == 42 and future.done() and future.exception() is None
    assert future.record.name == "add" and "adding on rank 0" in "".join(future.logs())
    assert list(executor.map(called.add, [1, 2, 3], [10, 20, 30])) == [11, 22, 33]


def test_exceptions_of_a_function_are_raised_with_their_traceback(executor: Executor) -> None:
    future = executor.submit(called.fail, "missing")
    with pytest.raises(KeyError, match="missing") as caught:
        future.result(30)
    assert isinstance(caught.value.__cause__, RemoteTracebackError)
    shown = "".join(traceback.format_exception(caught.value))
    assert 'called.py", line' in shown and "raise KeyError(text)" in shown
    assert isinstance(future.exception(), KeyError)


def test_functions_that_cannot_be_transferred_are_reported(executor: Executor) -> None:
    with pytest.raises(JobFailedError, match="raise OnlyHere"):
        executor.submit(called.fail_oddly).result(30)
    with pytest.raises(JobFailedError, match="exit code 7"):
        executor.submit(called.end).result(30)
    with pytest.raises(InputError, match="at the top level of a module"):
        executor.submit(lambda: 1)
    with pytest.raises(InputError, match="pass its path"):
        executor.submit(called.add, json.dumps([n * n for n in range(60_000)]))


@pytest.mark.parametrize(
    "data, reason",
    [
        (pickle.dumps(("returned", list(range(99))))[:-20], "pickle data was truncated"),
        (b"cmodule_of_there\nThing\n.", "No module named 'module_of_there'"),
        (b"cjobs.called\nGone\n.", "Gone"),
        (pickle.dumps(("raised", "text", "text")), "not the result of a function"),
        (pickle.dumps(("raised", None, 5)), "not the result of a function"),
        (pickle.dumps(["returned"]), "not the result of a function"),
        (pickle.dumps(5), "not the result of a function"),
        (pickle.dumps(("raised", called.OnlyHere(1, 2), "text")), "missing 1 required positional argument"),
        (pickle.dumps(("returned", called.Unreadable())), "bad state"),
    ],
    ids=range(9),
)
def test_an_unreadable_result_is_reported_with_its_file(
    executor: Executor, store: Store, data: bytes, reason: str
) -> None:
    future = executor.submit(called.add, 40)
    assert future.wait(30) == "COMPLETED"
    path = build_result_path(store.folder / "local", future.record.engine_key)
    path.write_bytes(data)
    with pytest.raises(JobFailedError, match=f"job {future.id} .add. ended as COMPLETED, and its result in ") as caught:
        future.result()
    assert re.search(f"in {re.escape(str(path))} cannot be read here: [A-Za-z]+: .*{reason}", str(caught.value))
    assert caught.value.state == "COMPLETED" and caught.value.__cause__ is not None


def test_an_exception_that_cannot_be_pickled_is_reported(executor: Executor) -> None:
    with pytest.raises(JobFailedError, match="raise Unpicklable"):
        executor.submit(called.fail_unpicklable).result(30)


def test_a_failed_task_fails_the_function_that_has_returned(plan: Plan, store: Store) -> None:
    with Executor(plan, engine="local", store=store, nodes=2) as executor:
        future = executor.submit(called.fail_on_rank_1)
        with pytest.raises(JobFailedError, match="ended as FAILED"):
            future.result(60)
        assert isinstance(future.exception(), JobFailedError)


def test_an_exception_of_an_earlier_attempt_is_not_that_of_the_job(plan: Plan, store: Store) -> None:
    rules = [{"exit_codes": [1], "action": "retry"}]
    with Executor(plan, engine="local", store=store, retries=1, retry_rules=rules) as executor:
        future = executor.submit(called.raise_then_exit)
        with pytest.raises(JobFailedError, match="exit code 77$"):
            future.result(60)
    # an engine that kept the answer of the first attempt
    path = build_result_path(store.folder / "local", future.record.engine_key)
    path.write_bytes(pickle.dumps(("raised", ValueError("attempt 1"), "its traceback", 1)))
    with pytest.raises(JobFailedError, match="exit code 77\na previous attempt raised:\nits traceback"):
        future.result()
    path.write_bytes(pickle.dumps(("raised", ValueError("attempt 2"), "its traceback", 2)))
    with pytest.raises(ValueError, match="attempt 2"):
        future.result()


def test_a_function_that_exits_does_not_end_the_caller(executor: Executor) -> None:
    with pytest.raises(JobFailedError, match="SystemExit: 3"):
        executor.submit(called.leave, 3).result(30)


def test_arrays_of_functions_are_refused(plan: Plan, store: Store) -> None:
    with pytest.raises(InputError, match="executor.map"):
        Executor(plan, engine="local", store=store, array=4)


def test_a_closed_executor_rejects_calls(plan: Plan, store: Store) -> None:
    with Executor(plan, engine="local", store=store) as executor:
        call = executor.submit(called.add, 1)
    assert call.record.state == "COMPLETED", "leaving the block waits"
    with pytest.raises(RuntimeError):
        executor.submit(called.add, 1)


def test_futures_of_both_kinds_are_waited_for(executor: Executor, store: Store) -> None:
    calls = [executor.submit(called.add, number) for number in range(3)]
    assert sorted(call.result() for call in api.as_completed(calls, 30) if hasattr(call, "result")) == [2, 3, 4]


SCRIPT = """
import sys
from dataclasses import dataclass
import supercloud as sc

@dataclass
class Pair:
    one: int
    other: int

def swap(pair):
    assert isinstance(pair, Pair)
    return Pair(pair.other, pair.one)

{guard}
    with sc.Executor(sc.resolve(sc.load("c.yaml")), engine="local") as executor:
        print(executor.submit(swap, Pair(1, 2)).result(60))
"""


@pytest.mark.parametrize(
    "guard, message",
    [
        ('if __name__ == "__main__":', "Pair(one=2, other=1)"),
        ("if True:", "move the submission of jobs under"),  # it would submit itself without end
    ],
)
def test_functions_of_the_main_script_can_be_called(tmp_path: Path, guard: str, message: str) -> None:
    (tmp_path / "c.yaml").write_text(
        'name: c\nsite: {kind: onprem, location: stockholm}\nscheduler: {kind: slurm, version: "25.11"}\n'
        "pools: [{name: train, machine: dgx-h100, nodes: 2}]\n"
    )
    (tmp_path / "script.py").write_text(SCRIPT.replace("{guard}", guard))
    state = tmp_path / "state"
    env = os.environ | {"XDG_STATE_HOME": str(state), "PYTHONPATH": str(Path(supercloud.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
    )
    assert message in done.stdout + done.stderr, done
    jobs = subprocess.run(
        [sys.executable, "-m", "supercloud", "jobs", "--json"], env=env, capture_output=True, text=True
    )
    assert len(json.loads(jobs.stdout)) == 1
