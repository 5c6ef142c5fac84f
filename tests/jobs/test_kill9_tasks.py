"""The processes of running jobs, their wrappers and the agent are killed at random points: each start runs once."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from jobs.waiting import end_everything, stop_agent, wait_for

from supercloud.jobs import api
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.processes import find_by_environment
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

JOBS, KILLS, ENOUGH = 120, 120, 20


def test_killed_tasks_are_restarted_with_later_epochs(tmp_path: Path, plan: Plan) -> None:
    folder, ran, ended = tmp_path / "jobs", tmp_path / "ran", tmp_path / "ended"
    # one line when a start begins and one when it is through; how long it takes differs
    text = f'echo "$SUPERCLOUD_JOB_KEY $SUPERCLOUD_EPOCH" >>{ran}; sleep 0.$1; echo "$SUPERCLOUD_JOB_KEY" >>{ended}'
    chance = random.Random(20261122)
    kills = agents = 0
    with Store(folder) as store:

        def begin(number: int) -> None:
            job = JobSpec.model_validate(
                {
                    "name": "job",
                    "command": ["sh", "-c", text, "sh", str(number % 3 + 1)],
                    "retries": 1000,
                    "accelerators": {"type": "h100", "count": 1},
                }
            )
            api.submit(job, plan, engine="local", store=store, key=f"k{number}")

        try:
            for number in range(JOBS):
                begin(number)
            began, count = time.monotonic(), JOBS
            while kills < KILLS and (time.monotonic() < began + 30 or kills <= ENOUGH or not agents):
                if not store.list_live():
                    if kills > ENOUGH and agents:
                        break
                    begin(count)  # a slow machine: they ended before enough was killed
                    count += 1
                found = list(find_by_environment("SUPERCLOUD_RUN", f"{folder}/"))
                if found:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(chance.choice(found), signal.SIGKILL)
                        kills += 1
                if chance.random() < 0.1:
                    agents += stop_agent(folder)
                time.sleep(chance.uniform(0, 0.01))
                reconcile(store)
            wait_for(lambda: not reconcile(store) and not store.list_live(), 60)
            records = store.select()
            assert len(records) == count
            # a job whose program was killed, not its wrapper, has failed: that is its own exit code, 137
            assert {record.state for record in records} <= {State.COMPLETED, State.FAILED}
            assert all(record.exit_code == 137 for record in records if record.state is State.FAILED)
            starts = Counter(ran.read_text().splitlines())
            assert set(starts.values()) == {1}, "no start ran twice"
            through = Counter(ended.read_text().split())
            done = {record.key for record in records if record.state is State.COMPLETED}
            assert done <= set(through)
        finally:
            end_everything(folder)
