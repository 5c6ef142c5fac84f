"""No job is lost and none runs twice, whichever process is killed at any time."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import pytest
from jobs.waiting import stop_agent, wait_for

from supercloud.jobs import api
from supercloud.jobs.placement.place import place
from supercloud.jobs.reconcile import reconcile
from supercloud.jobs.store.states import State
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]

TRIALS = 60


def submit_until_killed(folder: Path, plan: Plan, trial: int, ran: Path, returned: Path) -> None:
    """The child: submits one job after the other, and writes down which submissions have returned."""
    job = JobSpec.model_validate(
        {
            "name": "job",
            "command": ["sh", "-c", f'echo "$SUPERCLOUD_JOB_KEY" >>{ran}'],
            "accelerators": {"type": "h100", "count": 1},
        }
    )
    log = os.open(returned, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with Store(folder) as store:
        for number in range(1000):
            key = f"t{trial}-{number}"
            api.submit(job, plan, engine="local", store=store, key=key)
            os.write(log, f"{key}\n".encode())


def has_happened_enough(returned: Path, agents: int) -> bool:
    """Whether so much has happened that something could have gone wrong; a busy machine takes more trials."""
    return returned.exists() and len(returned.read_text().split()) > TRIALS and agents > TRIALS / 6


def test_killed_submitters_and_agents_lose_and_repeat_no_job(tmp_path: Path, plan: Plan) -> None:
    folder, ran, returned = tmp_path / "jobs", tmp_path / "ran", tmp_path / "returned"
    chance = random.Random(20261120)
    agents = trial = 0
    place(JobSpec.model_validate({"name": "job", "command": ["true"], "accelerators": {"count": 1}}), plan)  # warm
    while trial < TRIALS or (trial < 10 * TRIALS and not has_happened_enough(returned, agents)):
        trial += 1
        child = os.fork()  # the parent has no connection open: each child is a separate process to SQLite
        if child == 0:
            try:
                submit_until_killed(folder, plan, trial, ran, returned)
            finally:
                os._exit(1)
        time.sleep(chance.uniform(0, 0.08 * (1 + trial // TRIALS)))  # longer, where a busy machine needs more trials
        if chance.random() < 0.4:
            agents += stop_agent(folder)
            time.sleep(chance.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        if chance.random() < 0.3:
            time.sleep(chance.uniform(0, 0.05))
            agents += stop_agent(folder)
    with Store(folder) as store:
        try:
            wait_for(lambda: not reconcile(store) and not store.list_live(), 60)
            recorded = {record.key: record for record in store.select()}
            lines = Counter(ran.read_text().split())
            assert set(returned.read_text().split()) <= set(recorded), "a submission that returned is recorded"
            assert {record.state for record in recorded.values()} == {State.COMPLETED}
            assert lines == dict.fromkeys(recorded, 1), "each ran once"
            assert has_happened_enough(returned, agents), "the test has tested something"
        finally:
            stop_agent(folder)
