"""JSON of slurmrestd, in both directions. Pure, except for times relative to now.

A submission is the same list of options as for sbatch, each translated by a row of ``_OPTION_FIELDS``: an option
without a row is an error, never ignored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ....errors import EngineError
from ...fleet.observations import NodeState, WaitingJobs
from ...store.status import Status
from ..batch import copies
from ..submission import JobIdentity
from . import older
from .commands import COMMENT_PREFIX
from .nodes import NON_NODE_REASONS, classify_state, count_accelerators
from .system import SLURM
from .texts import build_status, parse_comment

__all__ = [
    "iter_account_rows",
    "parse_accounts",
    "read_job_id",
    "is_owned_by",
    "has_key",
    "parse_jobs",
    "parse_nodes",
    "parse_queue",
    "build_submission",
    "parse_waiting_jobs",
]


def _wrap_number(value: int) -> dict[str, Any]:
    return {"set": True, "infinite": False, "number": value}


def _parse_minutes(text: str) -> dict[str, Any]:
    days, _, rest = text.partition("-")
    hours, minutes, seconds = (int(part) for part in rest.split(":"))
    return _wrap_number(int(days) * 1440 + hours * 60 + minutes + (seconds > 0))


def _parse_relative_time(text: str) -> int:
    """``now+90seconds`` as seconds since 1970: the service accepts no other format."""
    return int(time.time()) + int(text.removeprefix("now+").removesuffix("seconds"))


def _parse_switches(text: str) -> dict[str, Any]:
    count, _, wait = text.partition("@")
    minutes = _parse_minutes(wait)["number"]
    return {"required_switches": _wrap_number(int(count)), "wait_for_switch": minutes * 60}


# option -> its fields
_OPTION_FIELDS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "account": lambda value: {"account": value},
    "array": lambda value: {"array": value},
    "begin": lambda value: {"begin_time": _wrap_number(_parse_relative_time(value))},
    "chdir": lambda value: {"current_working_directory": value},
    "comment": lambda value: {"comment": value},
    "constraint": lambda value: {"constraints": value},
    "deadline": lambda value: {"deadline": _parse_relative_time(value)},
    "dependency": lambda value: {"dependency": value},
    "exclusive": lambda value: {"shared": ["none"]},
    "gpus-per-node": lambda value: {"tres_per_node": f"gres/gpu:{value}"},
    "gres": lambda value: {"tres_per_node": f"gres/{value}"},
    "job-name": lambda value: {"name": value},
    "kill-on-invalid-dep": lambda value: {"flags": ["KILL_INVALID_DEPENDENCY"]},
    "licenses": lambda value: {"licenses": value},
    "no-requeue": lambda value: {"requeue": False},
    "nodelist": lambda value: {"required_nodes": value.split(",")},
    "nodes": lambda value: {"nodes": value},
    "ntasks-per-node": lambda value: {"tasks_per_node": int(value)},
    "open-mode": lambda value: {"open_mode": [value.upper()]},
    "output": lambda value: {"standard_output": value},
    "parsable": lambda value: {},
    "partition": lambda value: {"partition": value},
    "qos": lambda value: {"qos": value},
    "requeue": lambda value: {"requeue": True},
    "segment": lambda value: {"segment_size": int(value)},
    "switches": _parse_switches,
    "time": lambda value: {"time_limit": _parse_minutes(value)},
}


def build_submission(argv: Sequence[str], script: str, data_format: str) -> dict[str, Any]:
    """The request body for the arguments of sbatch, in this data format.

    Raises :class:`EngineError` for an option that the service does not support.
    """
    if data_format == older.DATA_FORMAT:
        return older.build_submission(argv, script)
    job: dict[str, Any] = {"script": script, "environment": ["PATH=/usr/local/bin:/usr/bin:/bin"]}
    for option in argv[1:]:
        name, _, value = option.removeprefix("--").partition("=")
        if name not in _OPTION_FIELDS:
            raise EngineError(f"--{name} is not supported through slurmrestd; use --via ssh:HOST for this cluster")
        job |= _OPTION_FIELDS[name](value)
    if "tasks_per_node" in job:
        nodes = int(job["nodes"])
        job |= {"tasks": nodes * job["tasks_per_node"], "minimum_nodes": nodes, "maximum_nodes": nodes}
    if data_format < "v0.0.41":
        job.pop("segment_size", None)
    job.setdefault("current_working_directory", "/tmp")
    return {"job": job}


def has_key(job: Mapping[str, Any]) -> bool:
    """Whether it was submitted with a key, by any user: :func:`is_owned_by` checks the user."""
    return str(_unwrap_number(job.get("comment"))).startswith(COMMENT_PREFIX)


def is_owned_by(job: Mapping[str, Any], user: str, uid: int | None) -> bool:
    """Whether a job of the list or of the accounts belongs to a user, by name, or by UID if it has no name.

    Raises :class:`EngineError` if the answer does not state its user: to assume another user could cause a second
    submission.
    """
    if name := job.get("user_name") or job.get("user"):
        return bool(name == user)
    if job.get("user_id") is None or uid is None:
        raise EngineError(f"cannot determine the user of job {read_job_id(job)}: the answer has no user_name")
    return int(_format_whole_number(job["user_id"])) == uid


def parse_queue(jobs: Iterable[Mapping[str, Any]]) -> dict[str, list[Status]]:
    """The jobs of its list, tasks of an array together."""
    return copies.merge_copies(iter_rows(jobs), SLURM)


def iter_rows(jobs: Iterable[Mapping[str, Any]]) -> Iterator[copies.Row]:
    """The same, one by one, with the identities in the comments."""
    for job in jobs:
        state = _parse_job_state(job.get("job_state"))
        restarts = int(_unwrap_number(job.get("restart_cnt")) or 0)
        attempt = 0 if state == "COMPLETING" else restarts + 1
        status = build_status(
            state,
            str(job.get("state_reason", "")),
            _format_exit_code(job.get("exit_code")),
            _format_whole_number(job.get("start_time")),
            _format_whole_number(job.get("end_time")),
            attempt,
        )
        yield read_job_id(job), status, _parse_identity(job)


def parse_accounts(jobs: Iterable[Mapping[str, Any]]) -> dict[str, list[Status]]:
    """The jobs of the accounts."""
    found: dict[str, list[Status]] = {}
    for number, status, _ in iter_account_rows(jobs):
        found.setdefault(number, []).append(status)
    return found


def iter_account_rows(jobs: Iterable[Mapping[str, Any]]) -> Iterator[copies.Row]:
    """The same, one by one, with the identities in comments and submit lines."""
    for job in jobs:
        state, times = job.get("state") or {}, job.get("time") or {}
        word, code = _parse_job_state(state.get("current")), _format_exit_code(job.get("exit_code"))
        if word == "FAILED" and code == "0:0":  # v0.0.38 has 0 for all jobs that ended without a signal
            code = ""
        status = build_status(
            word,
            str(state.get("reason", "")),
            code,
            _format_whole_number(times.get("start")),
            _format_whole_number(times.get("end")),
            0,
        )
        yield read_job_id(job), status, _parse_identity(job)


def parse_jobs(jobs: Iterable[Mapping[str, Any]]) -> list[copies.ListedJob]:
    """The jobs that carry a key; the ID is empty if the response lacks it."""
    return [(read_job_id(job), identity) for job in jobs if (identity := _parse_identity(job))]


def _parse_identity(job: Mapping[str, Any]) -> JobIdentity | None:
    comment = job.get("comment")
    text = comment.get("job") if isinstance(comment, Mapping) and "job" in comment else _unwrap_number(comment)
    return parse_comment(f"{text or ''} {job.get('submit_line') or ''}")


def parse_nodes(items: Iterable[Mapping[str, Any]]) -> Iterator[NodeState]:
    """All nodes of its list."""
    for item in items:
        used = count_accelerators(str(item.get("tres_used") or ""))
        if not count_accelerators(str(item.get("tres") or "")):
            used = int(bool(item.get("alloc_cpus")))
        yield NodeState(str(item["name"]), classify_state(_parse_node_states(item)), used)


def _parse_node_states(node: Mapping[str, Any]) -> set[str]:
    """The words of a node's state: v0.0.38 has one in lower case, and a separate list of flags."""
    state = node.get("state") or ()
    words = [state] if isinstance(state, str) else state
    return {str(word).upper() for word in (*words, *(node.get("state_flags") or ()))}


def parse_waiting_jobs(jobs: Iterable[Mapping[str, Any]]) -> list[WaitingJobs]:
    """Jobs that wait for nodes, by partition."""
    sums: dict[str, tuple[int, int]] = {}
    for job in jobs:
        if _parse_job_state(job.get("job_state")) == "PENDING" and job.get("state_reason") not in NON_NODE_REASONS:
            count = int(_unwrap_number(job.get("node_count")) or 1)
            for name in str(job.get("partition", "")).split(","):
                total, number = sums.get(name, (0, 0))
                sums[name] = total + count, number + 1
    return [WaitingJobs(name, total, number) for name, (total, number) in sorted(sums.items())]


def read_job_id(job: Mapping[str, Any]) -> str:
    """The ID of a job, or of the array it is a task of; empty if the answer lacks it."""
    array = job.get("array")
    ids = (job.get("array_job_id"), array.get("job_id") if isinstance(array, Mapping) else 0, job.get("job_id"))
    return next((number for item in ids if (number := _format_whole_number(item)) != "0"), "")


def _format_whole_number(value: Any) -> str:
    """A number in the format of a command; 0 if there is none."""
    return str(int(_unwrap_number(value) or 0))


def _unwrap_number(value: Any) -> Any:
    """A plain number: newer formats wrap it in ``{"set": …, "infinite": …, "number": …}``."""
    if isinstance(value, Mapping) and "number" in value:
        return value["number"] if value.get("set") else 0
    return value


def _parse_job_state(value: Any) -> str:
    """A state: newer formats have a list of the base state and its flags."""
    if isinstance(value, str):
        return value
    words = [str(word) for word in value or ()]
    return "COMPLETING" if "COMPLETING" in words else words[0] if words else ""


def _format_exit_code(value: Any) -> str:
    """An exit code in the format of sacct."""
    if not isinstance(value, Mapping):
        return str(value if value is not None else "")
    signal = value.get("signal") or {}
    number = _unwrap_number(signal.get("id", signal.get("signal_id"))) or 0
    return f"{_format_whole_number(value.get('return_code'))}:{int(number)}"
