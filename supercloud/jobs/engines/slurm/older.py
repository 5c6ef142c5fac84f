"""Submissions in the data format v0.0.38, the newest of Slurm 22.05 and 23.02.

Its fields have the texts of sbatch's options, which slurmrestd parses as sbatch does; later formats have typed fields
(:mod:`.bodies`). Source: src/slurmrestd/plugins/openapi/v0.0.38/jobs.c (``job_params``), github.com/SchedMD/slurm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....errors import EngineError

__all__ = ["DATA_FORMAT", "build_submission"]

DATA_FORMAT = "v0.0.38"

# option -> field; the value of the option is the value of the field
_TEXT_FIELDS: Mapping[str, str] = {
    "account": "account",
    "array": "array",
    "begin": "begin_time",
    "chdir": "current_working_directory",
    "comment": "comment",
    "constraint": "constraints",
    "deadline": "deadline",
    "dependency": "dependency",
    "gpus-per-node": "gpus_per_node",
    "gres": "gres",
    "job-name": "name",
    "licenses": "licenses",
    "nodelist": "nodelist",
    "nodes": "nodes",
    "ntasks-per-node": "tasks_per_node",
    "open-mode": "open_mode",
    "output": "standard_output",
    "partition": "partition",
    "qos": "qos",
    "time": "time_limit",
}
# options without a value, or with a constant one
_FIXED_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "exclusive": {"exclusive": "exclusive"},
    "kill-on-invalid-dep": {"kill_on_invalid_dependency": True},
    "no-requeue": {"no_requeue": True},
    "parsable": {},
    "requeue": {"requeue": True},
}


def build_submission(argv: Sequence[str], script: str) -> dict[str, Any]:
    """The request body for the arguments of sbatch.

    Raises:
        EngineError: for an option without a field in the format, such as --switches.
    """
    job: dict[str, Any] = {"environment": {"PATH": "/usr/local/bin:/usr/bin:/bin"}}
    for option in argv[1:]:
        name, _, value = option.removeprefix("--").partition("=")
        if name in _TEXT_FIELDS:
            job[_TEXT_FIELDS[name]] = value
        elif name in _FIXED_FIELDS:
            job |= _FIXED_FIELDS[name]
        else:
            raise EngineError(
                f"slurmrestd of this release (format {DATA_FORMAT}) does not support --{name}; use "
                "--via ssh:HOST for this cluster"
            )
    if "tasks_per_node" in job:
        job["tasks"] = int(job["nodes"]) * int(job["tasks_per_node"])
    job.setdefault("current_working_directory", "/tmp")
    return {"script": script, "job": job}
