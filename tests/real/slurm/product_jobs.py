"""Jobs by the commands of supercloud, run by user lab on the controller's host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lab import Lab
from real.polling import PATIENCE


def submit(lab: Lab, spec: Path, text: str) -> int:
    """``supercloud submit`` with a job file of this text; return the job's number."""
    lab.put("/home/lab/job.yaml", text)
    return submit_file(lab, spec, "/home/lab/job.yaml")


def submit_file(lab: Lab, spec: Path, path: str | Path) -> int:
    """``supercloud submit`` with a job file; return the job's number."""
    done = lab.run_supercloud("submit", str(path), "--on", _copy_spec(lab, spec), "--engine", "slurm")
    return int(done.stdout)


def place(lab: Lab, spec: Path, text: str) -> tuple[int, str]:
    """``supercloud place``: exit code and output."""
    lab.put("/home/lab/job.yaml", text)
    done = lab.run_supercloud("place", "/home/lab/job.yaml", "--on", _copy_spec(lab, spec), check=False)
    return done.returncode, done.stdout


def get_record(lab: Lab, number: int) -> dict[str, Any]:
    """The row of a job in ``supercloud jobs``."""
    rows = json.loads(lab.run_supercloud("jobs", "--json").stdout)
    return next(row for row in rows if row["id"] == number)


def wait(lab: Lab, number: int, timeout: float = PATIENCE) -> tuple[int, str]:
    """``supercloud wait``: exit code and output."""
    done = lab.run_supercloud("wait", str(number), timeout=timeout, check=False)
    return done.returncode, done.stdout.strip()


def read_logs(lab: Lab, number: int) -> str:
    """``supercloud logs``."""
    return lab.run_supercloud("logs", str(number)).stdout


def _copy_spec(lab: Lab, spec: Path) -> str:
    """The path of a spec in the lab: the checkout is mounted, other files are copied."""
    if spec.is_relative_to(lab.product.checkout):
        return str(spec)
    lab.put("/home/lab/cluster.yaml", spec.read_text())
    return "/home/lab/cluster.yaml"
