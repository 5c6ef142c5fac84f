"""The shapes of slurmrestd's answers, limited to the fields that are read: https://slurm.schedmd.com/rest_api.html.

Newer data formats wrap numbers in ``{"set": …, "infinite": …, "number": …}`` and have states as lists of words.
"""

from __future__ import annotations

from typing import Any

from ....primitives.responses import MAX_INT64, MAX_UINT32, TEXT, Required, Shape, ValueType, is_whole

__all__ = ["ACCOUNTS_RESPONSE", "JOBS_RESPONSE", "NODES_RESPONSE", "ERRORS_RESPONSE", "SUBMIT_RESPONSE"]


def _is_count(value: Any, maximum: int = MAX_UINT32) -> bool:
    if isinstance(value, dict):  # a number that is not set may have any value: it is not read
        return "number" in value and (
            not value.get("set") or value["number"] is None or is_whole(value["number"], 0, maximum)
        )
    if isinstance(value, str):
        return not value or (value.isascii() and value.isdigit() and len(value) < 20 and int(value) <= maximum)
    return is_whole(value, 0, maximum)


def _is_word(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value))


def _is_exit_code(value: Any) -> bool:
    if not isinstance(value, dict):
        return isinstance(value, str) or _is_count(value)
    signal = value.get("signal") or {}
    return (
        (value.get("return_code") is None or _is_count(value["return_code"]))
        and isinstance(signal, dict)
        and all(signal.get(name) is None or _is_count(signal[name]) for name in ("id", "signal_id"))
    )


_COUNT = ValueType(f"a whole number up to {MAX_UINT32}", _is_count)
# an impossible time is a problem of its job only, whose status is then unknown; Slurm's own times have 64 bits
_TIME = ValueType("a time in seconds", lambda value: _is_count(value, MAX_INT64))
_WORD = ValueType("a word or a list of words", _is_word)
_EXIT_CODE = ValueType("an exit code", _is_exit_code)
_COMMENT = ValueType("a string or an object", lambda value: isinstance(value, str | dict))
_ERRORS: list[Shape] = [{"error": TEXT, "description": TEXT}]
_JOB_ID: dict[str, Shape] = {
    "array_job_id": _COUNT,
    "array": ValueType(
        "a string or an object with the ID of a job",
        lambda value: (
            isinstance(value, str)
            or (isinstance(value, dict) and (value.get("job_id") is None or _is_count(value["job_id"])))
        ),
    ),
}

ERRORS_RESPONSE: Shape = {"errors": _ERRORS}
SUBMIT_RESPONSE: Shape = {"errors": _ERRORS, "job_id": _COUNT}
JOBS_RESPONSE: Shape = {
    "errors": _ERRORS,
    "jobs": Required(
        [
            {
                **_JOB_ID,
                "job_id": Required(_COUNT),
                "job_state": Required(_WORD),
                "state_reason": TEXT,
                "restart_cnt": _COUNT,
                "exit_code": _EXIT_CODE,
                "start_time": _TIME,
                "end_time": _TIME,
                "comment": _COMMENT,
                "submit_line": TEXT,
                "node_count": _COUNT,
                "partition": TEXT,
                "user_name": TEXT,
                "user_id": _COUNT,
            }
        ]
    ),
}
ACCOUNTS_RESPONSE: Shape = {
    "errors": _ERRORS,
    "jobs": Required(
        [
            {
                **_JOB_ID,
                "job_id": Required(_COUNT),
                "state": {"current": _WORD, "reason": TEXT},
                "time": {"start": _TIME, "end": _TIME},
                "exit_code": _EXIT_CODE,
                "comment": _COMMENT,
                "submit_line": TEXT,
                "user": TEXT,
            }
        ]
    ),
}
NODES_RESPONSE: Shape = {
    "errors": _ERRORS,
    "nodes": Required(
        [
            {
                "name": Required(TEXT),
                "state": _WORD,
                "state_flags": _WORD,
                "tres": TEXT,
                "tres_used": TEXT,
                "alloc_cpus": _COUNT,
            }
        ]
    ),
}
