"""Parsers of the output of Slurm's commands, and queries that many tests use."""

from __future__ import annotations

import re

from lab import Lab
from real.polling import PATIENCE
from rendered import expand

PAIR = re.compile(r"(\w+)=(\S*)")


def parse_records(text: str) -> list[dict[str, str]]:
    """The ``Key=value`` pairs of each line with some, as in the output of ``scontrol -o``."""
    return [dict(pairs) for line in text.splitlines() if (pairs := PAIR.findall(line))]


def list_by_name(lab: Lab, what: str, key: str) -> dict[str, dict[str, str]]:
    """All records of a kind by name: ``list_by_name(lab, "node", "NodeName")``."""
    return {record[key]: record for record in parse_records(lab.run(f"scontrol -o show {what}").stdout)}


def read_topology(lab: Lab, name: str = "") -> list[dict[str, str]]:
    """The lines of ``scontrol show topology``."""
    return parse_records(lab.run(f"scontrol show topology {name}").stdout)


def submit_batch(lab: Lab, *arguments: str) -> str:
    """Submit a job as user lab; return its number."""
    return lab.run(["sbatch", "--parsable", *arguments], user="lab").stdout.strip()


def get_refusal(lab: Lab, *arguments: str) -> str:
    """Submit a job that must be refused; return the error of sbatch."""
    done = lab.run(["sbatch", *arguments, "--wrap", "true"], user="lab", check=False)
    assert done.returncode == 1, f"accepted: {arguments}\n{done.stdout}{done.stderr}"
    return done.stderr


def get_job(lab: Lab, number: str) -> dict[str, str]:
    """The record of a job in the controller."""
    return parse_records(lab.run(["scontrol", "-o", "show", "job", number]).stdout)[0]


def wait_job(lab: Lab, number: str, state: str, *, reason: str = "", timeout: float = PATIENCE) -> dict[str, str]:
    """Wait until a job is in a state, with this text in its reason."""
    seen: dict[str, str] = {}

    def is_reached() -> bool:
        seen.update(get_job(lab, number))
        return seen["JobState"] == state and reason in seen["Reason"]

    lab.wait_for(f"job {number} is {state} {reason}", is_reached, timeout=timeout)
    return seen


def get_accounted_state(lab: Lab, number: str) -> str:
    """The state of a job in the accounts."""
    rows = lab.run(["sacct", "-n", "-P", "-X", "-j", number, "-o", "State"], user="lab").stdout.split("\n")
    return rows[0]


def list_hosts(text: str) -> set[str]:
    """The names of a host list."""
    return set(expand(text))


def clear(lab: Lab) -> None:
    """Cancel all jobs and wait until no node has one."""
    lab.run("scancel -u lab")
    lab.wait_for("an empty queue", lambda: not lab.run("squeue -h -o %A").stdout)
    lab.wait_for("nodes without jobs", lambda: not lab.run("sinfo -h -N -t alloc,mix,comp -o %N").stdout)
