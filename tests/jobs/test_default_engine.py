"""A job for a cluster goes to that cluster; to simulate it on this machine is asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from jobs.waiting import end_everything

from supercloud.errors import EngineError, InputError
from supercloud.jobs import Executor, api
from supercloud.jobs.store.store import Store
from supercloud.plan.model.plan import Plan
from supercloud.spec import JobSpec

pytestmark = pytest.mark.slow

KINDS = {"slurm": "{kind: slurm, version: '22.05'}", "kubernetes": "{kind: kubernetes, version: '1.35'}"}
CLUSTER = """
name: own
site: {{kind: onprem, location: stockholm}}
scheduler: {}
pools: [{{name: train, machine: dgx-h100, nodes: 1}}]
tenants: [{{name: llm}}]
"""
JOB = "{name: hello, command: [echo, hello], tenant: llm}"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """The command line on a machine that has neither Slurm nor a kubeconfig."""
    for name, text in KINDS.items():
        (tmp_path / f"{name}.yaml").write_text(CLUSTER.format(text))
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "bin").mkdir()
    env = {**os.environ, "SUPERCLOUD_STATE": str(tmp_path / "state"), "HOME": str(tmp_path), "PATH": f"{tmp_path}/bin"}
    env.pop("KUBECONFIG", None)

    def call(*words: str, path: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "supercloud", *words]
        return subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env={**env, "PATH": path or env["PATH"]}
        )

    yield call
    end_everything(tmp_path / "state")


@pytest.mark.parametrize("kind, how", [("slurm", "--via ssh:LOGIN_HOST"), ("kubernetes", "--via context:NAME")])
def test_an_unreachable_cluster_is_an_error_with_the_options_to_reach_it(run: Run, kind: str, how: str) -> None:
    refused = run("submit", "job.yaml", "--on", f"{kind}.yaml", "--key", "once")
    assert refused.returncode == 1 and how in refused.stderr and "--engine local" in refused.stderr
    assert "connect:" in refused.stderr and "Traceback" not in refused.stderr
    assert json.loads(run("jobs", "--json").stdout) == [], "nothing is recorded, and its key is free"


def test_the_default_engine_is_the_scheduler_of_the_cluster(run: Run, tmp_path: Path) -> None:
    program = tmp_path / "bin/sbatch"
    program.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/asked\n/bin/cat >/dev/null\necho 41\n')
    program.chmod(0o755)
    done = run("submit", "job.yaml", "--on", "slurm.yaml", "--json")
    assert done.returncode == 0, done.stderr
    assert "--comment=supercloud:" in (tmp_path / "asked").read_text()
    assert json.loads(done.stdout)["state"] == "QUEUED"


def test_simulated_jobs_are_reported_as_simulated(run: Run) -> None:
    done = run("submit", "job.yaml", "--on", "slurm.yaml", "--engine", "local", path=os.environ["PATH"])
    assert done.returncode == 0 and "simulated on this machine: nothing is sent to own" in done.stderr
    assert "simulated on this machine" in run("wait", "1", path=os.environ["PATH"]).stderr


def test_the_default_engine_in_python_is_the_scheduler_of_the_cluster(
    plan: Plan, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    job = JobSpec(name="hello", command=("true",))
    assert "sbatch" in api.prepare(job, plan, store=store)[1].argv
    with pytest.raises(EngineError, match="--via ssh:LOGIN_HOST"):
        api.submit(job, plan, store=store)
    with pytest.raises(EngineError, match="--via ssh:LOGIN_HOST"), Executor(plan, store=store) as executor:
        executor.submit(os.getpid)
    assert not store.select()


def test_a_path_instead_of_a_plan_is_reported_with_the_code_to_create_one(store: Store) -> None:
    with pytest.raises(InputError, match=r"not the str 'cluster.yaml'; create a plan: resolve\(load"):
        api.submit(JobSpec(name="hello", command=("true",)), "cluster.yaml", store=store)  # type: ignore[arg-type]
