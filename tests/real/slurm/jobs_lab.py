"""A lab for jobs: a small cluster with a login node, where user lab runs supercloud."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bundles import declare_text
from installed import Slurm
from lab import Lab
from real.polling import PATIENCE

__all__ = ["NODES", "Jobs", "start_cluster_lab", "run_contract", "build_spec"]

SPEC = """\
name: NAME
site: {kind: onprem, location: stockholm}
scheduler: {kind: slurm, version: "VERSION", options: {Licenses: "solver:3"}}
pools: [{name: train, machine: dgx-h100, nodes: 4}]
tenants: [{name: llm, users: [lab]}]
"""
NODES = "train-[0001-0004]"
# a lost node is detected and its job requeued within seconds; Slurm schedules every two seconds
QUICK = (
    "SlurmdTimeout=6",
    "AuthInfo=cred_expire=5",
    "KillWait=2",
    "MinJobAge=60",
    "SchedulerParameters=sched_interval=2,bf_interval=2",
)


def build_spec(slurm: Slurm, name: str = "pod") -> str:
    """The spec of four DGX H100 under this Slurm's release."""
    release = ".".join(f"{part:02d}" for part in slurm.release)
    return SPEC.replace("VERSION", release).replace("NAME", name)


@contextlib.contextmanager
def start_cluster_lab(slurm: Slurm, folder: Path, name: str = "pod", overlay: tuple[str, ...] = ()) -> Iterator[Lab]:
    """Start a lab of this cluster; its spec is /home/lab/NAME.yaml."""
    cluster = declare_text(build_spec(slurm, name), folder)
    with Lab(cluster.folder, slurm.rootfs, (*QUICK, *overlay)) as lab:
        lab.put(f"/home/lab/{name}.yaml", cluster.spec.read_text())
        yield lab


class Jobs:
    """Commands for jobs of user lab, with the environment ``env``."""

    def __init__(self, lab: Lab, env: dict[str, str] | None = None):
        self.lab, self.env = lab, env or {}

    def submit(self, text: str, *words: str, on: str = "pod") -> int:
        """Submit a job file with this text; return its number."""
        self.lab.put("/home/lab/job.yaml", text)
        words = ("submit", "/home/lab/job.yaml", "--on", f"/home/lab/{on}.yaml", *words)
        return int(self.lab.run_supercloud(*words, env=self.env).stdout)

    def wait(self, *numbers: int, timeout: float = PATIENCE) -> dict[int, str]:
        """Wait for jobs with one command; return the result of each."""
        words = ["wait", *map(str, numbers)]
        done = self.lab.run_supercloud(*words, timeout=timeout, check=False, env=self.env)
        lines = done.stdout.splitlines()
        assert len(lines) == len(numbers), done.stdout + done.stderr
        values = [line.strip() if len(numbers) == 1 else line.partition("  ")[2].strip() for line in lines]
        return dict(zip(numbers, values, strict=True))

    def read_logs(self, number: int) -> str:
        """The output of a job."""
        return self.lab.run_supercloud("logs", str(number), env=self.env).stdout

    def list_rows(self) -> list[dict[str, Any]]:
        """All jobs, as ``supercloud jobs --json`` shows them."""
        rows: list[dict[str, Any]] = json.loads(
            self.lab.run_supercloud("jobs", "--json", "--limit", "1000", timeout=120, env=self.env).stdout
        )
        return rows

    def get_record(self, number: int) -> dict[str, Any]:
        """The row of one job."""
        return next(row for row in self.list_rows() if row["id"] == number)


def run_contract(lab: Lab, *engines: str, env: dict[str, str] | None = None) -> None:
    """Run the contract of engines in the lab, as user lab, with these engines in parallel."""
    python, checkout = lab.product.venv / "bin" / "python", lab.product.checkout

    def run_one(number: int) -> str:
        variables = {"SUPERCLOUD_TEST_ENGINES": engines[number], "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
        words = [
            str(python),
            "-m",
            "pytest",
            str(checkout / "tests/jobs/engines/test_contract.py"),
            "-p",
            "no:cacheprovider",
            f"--basetemp=/home/lab/contract-{number}",
        ]
        done = lab.run(words, user="lab", timeout=300, env=variables, check=False, cwd=str(checkout))
        return "" if done.returncode == 0 and "passed" in done.stdout else f"{engines[number]}:\n{done.stdout[-6000:]}"

    with ThreadPoolExecutor(len(engines)) as pool:
        failed = [message for message in pool.map(run_one, range(len(engines))) if message]
    assert not failed, "\n".join(failed)
