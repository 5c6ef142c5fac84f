"""The verbs that follow a job, from a shell."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from jobs.waiting import end_everything

pytestmark = pytest.mark.slow

FLEET = """\
name: company
clusters:
  - {spec: own.yaml, connect: {engine: local}, prices: {train: 10 USD/h}}
budgets: [{tenant: llm, per: day, limit: 1 USD}]
"""
CLUSTER = """\
name: own
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "22.05"}
pools: [{name: train, machine: dgx-h100, nodes: 1}]
tenants: [{name: llm}]
"""


class Shell:
    def __init__(self, folder: Path):
        self.folder = folder
        self.env = {**os.environ, "SUPERCLOUD_STATE": str(folder / "state")}
        for name, text in (("fleet", FLEET), ("own", CLUSTER)):
            (folder / f"{name}.yaml").write_text(text)

    def __call__(self, *words: str, code: int = 0) -> str:
        command = [str(Path(sys.executable).with_name("supercloud")), *words]
        done = subprocess.run(command, capture_output=True, text=True, env=self.env, cwd=self.folder)
        assert done.returncode == code, done.stderr
        return done.stderr if code else done.stdout

    def job(self, text: str) -> str:
        (self.folder / "job.yaml").write_text(text)
        return "job.yaml"


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    yield Shell(tmp_path)
    end_everything(tmp_path / "state")


def test_a_held_job_is_served_waited_for_and_accounted(shell: Shell) -> None:
    text = "{name: a, command: [sh, -c, 'exit 0'], accelerators: {count: 8}, tenant: llm, time_limit: 1 min}"
    first, second = (shell("submit", shell.job(text), "--on", "fleet.yaml").strip() for _ in range(2))
    listed = shell("jobs")
    assert "HELD" in listed and "fleet company" in listed and "supercloud serve SPEC" in listed
    shell("serve", "fleet.yaml", "--once")
    states = {row["id"]: row["state"] for row in json.loads(shell("jobs", "--json"))}
    assert states[2] == "HELD" and states[1] != "HELD", "there is one node"
    shell("wait", first)
    shell("serve", "fleet.yaml", "--once")
    assert [line.split()[:2] for line in shell("wait", first, second).splitlines()] == [
        ["1", "COMPLETED:"],
        ["2", "COMPLETED:"],
    ]
    [row] = [row for row in json.loads(shell("jobs", "--json")) if row["id"] == 2]
    assert row["energy_kwh"] == round(row["energy_kwh"], 6), "to a milliwatt-hour"
    assert row["energy_kwh"] > 0 and row["cost_usd"] > 0 and row["cluster"] == "own"
    assert shell("jobs", "--usage").splitlines()[0].split()[6:9] == ["hours", "kWh", "USD"]
    assert "own: 1 node of pool train" in shell("jobs", "--history", "2")


def test_a_cycle_in_which_a_cluster_does_not_respond_has_an_exit_code(shell: Shell) -> None:
    other = "  - {spec: other.yaml, connect: {engine: slurm, via: 'http://127.0.0.1:9'}}\nbudgets"
    (shell.folder / "other.yaml").write_text(CLUSTER.replace("name: own", "name: other"))
    (shell.folder / "fleet.yaml").write_text(FLEET.replace("budgets", other))
    shell("submit", shell.job("{name: a, command: ['true'], accelerators: {count: 8}}"), "--on", "fleet.yaml")
    message = shell("serve", "fleet.yaml", "--once", code=1)
    assert "warning: other: " in message and "job 1 (a) submitted to own" in message, "others are served"


def test_commands_have_exit_codes_for_scripts(shell: Shell) -> None:
    bad = shell("submit", shell.job("{name: bad, command: ['false']}"), "--on", "own.yaml", "--engine", "local").strip()
    assert "next: supercloud logs" in shell("wait", bad, code=1)
    long = shell(
        "submit", shell.job("{name: long, command: [sleep, '60']}"), "--on", "own.yaml", "--engine", "local"
    ).strip()
    assert "it continues" in shell("wait", long, "--timeout", "0.2", code=1)
    assert "1 job" not in shell("cancel", long)
    dear = "{name: dear, command: [a], tenant: llm, accelerators: {count: 8}, time_limit: 8 h}"
    assert "of its 1 USD left this day" in shell("submit", shell.job(dear), "--on", "fleet.yaml", code=2)
    assert "has a connection" in shell(
        "submit", shell.job("{name: a, command: [a], time_limit: 1 min}"), "--on", write_unconnected_plan(shell), code=2
    )


def write_unconnected_plan(shell: Shell) -> str:
    (shell.folder / "plain.yaml").write_text("name: plain\nclusters: [{spec: own.yaml}]\n")
    return "plain.yaml"


def test_the_engine_follows_from_the_connection(shell: Shell) -> None:
    job = shell.job("{name: a, command: ['true'], time_limit: 1 min}")
    assert "sbatch" in shell("submit", job, "--on", "own.yaml", "--via", "ssh:nowhere.example", "--dry-run")
    assert "sbatch" in shell("submit", job, "--on", "own.yaml", "--dry-run"), "the scheduler of the cluster"
    assert "sbatch" not in shell("submit", job, "--on", "own.yaml", "--engine", "local", "--dry-run")
    output = shell("submit", job, "--on", "fleet.yaml", "--engine", "slurm", code=2)
    assert "under connect:" in output and "COMPLETED" not in shell("jobs"), (
        "a fleet is never submitted to in another way"
    )


def test_jobs_are_filtered(shell: Shell) -> None:
    for name, more in (("a", "tenant: llm"), ("b", "tenant: llm"), ("a", "priority: low")):
        shell(
            "submit",
            shell.job(f"{{name: {name}, command: [sh, -c, 'exit 3'], {more}}}"),
            "--on",
            "own.yaml",
            "--engine",
            "local",
        )
    shell("wait", "1", "2", "3", code=1)

    def list_ids(*words: str) -> list[int]:
        return [row["id"] for row in json.loads(shell("jobs", "--json", *words))]

    assert list_ids() == [3, 2, 1] and list_ids("--limit", "2") == [3, 2]
    assert list_ids("--state", "failed") == [3, 2, 1] and list_ids("--state", "COMPLETED", "--state", "held") == []
    assert list_ids("--tenant", "llm") == [2, 1] and list_ids("--name", "a") == [3, 1]
    assert list_ids("--name", "a", "--tenant", "llm") == [1] and list_ids("--live", "--state", "failed") == []
    assert "did you mean FAILED" in shell("jobs", "--state", "fialed", code=2)
    assert shell("jobs", "--tenant", "nobody") == ""
