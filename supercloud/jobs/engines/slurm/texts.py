"""Parsing of Slurm's outputs. Pure; tested against recorded outputs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from ....errors import EngineError
from ....primitives.foreign_text import split_lines
from ....primitives.responses import MAX_TIMESTAMP, parse_number
from ...store.states import State
from ...store.status import Status
from ..batch import copies
from ..submission import JobIdentity
from .commands import COMMENT_PREFIX
from .listings import iter_rows
from .reasons import describe_state
from .system import SLURM

__all__ = [
    "parse_accounts",
    "parse_jobs",
    "parse_comment",
    "parse_min_job_age",
    "parse_queue",
    "iter_account_rows",
    "iter_queue_rows",
    "build_status",
    "parse_job_id",
]

# All states of all releases; other states are UNKNOWN.
_QUEUED_STATES = (
    "PENDING",
    "CONFIGURING",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESV_DEL_HOLD",
    "SPECIAL_EXIT",
    "POWER_UP_NODE",
    "EXPEDITED_REQUEUE",
)
_RUNNING_STATES = ("RUNNING", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED", "UPDATE_DB")
_STATES = (
    dict.fromkeys(_QUEUED_STATES, State.QUEUED)
    | dict.fromkeys(_RUNNING_STATES, State.RUNNING)
    | {
        "BOOT_FAIL": State.NODE_FAIL,
        "CANCELLED": State.CANCELLED,
        "COMPLETED": State.COMPLETED,
        "DEADLINE": State.TIMEOUT,
        "FAILED": State.FAILED,
        "LAUNCH_FAILED": State.FAILED,
        "NODE_FAIL": State.NODE_FAIL,
        "OUT_OF_MEMORY": State.FAILED,
        "PREEMPTED": State.NODE_FAIL,
        "RECONFIG_FAIL": State.FAILED,
        "REVOKED": State.FAILED,
        "TIMEOUT": State.TIMEOUT,
    }
)
# States in accounting of a requeued attempt: the job itself continues, or will.
_REQUEUED_STATES = ("REQUEUED", "RESIZING", "PENDING")

# The beginnings of rows. In the accounts a component of a heterogeneous job is 7+0, a task of an array 7_0.
_ACCOUNT_ID = r"[0-9]{1,19}(?:[_+.][^|\s]*)?\s*"
_QUEUE_ROW = re.compile(r"\s*[0-9]{1,19}\s*\|(?:[^|]*\|){6}")
_ACCOUNT_ROW = re.compile(_ACCOUNT_ID + r"\|(?:[^|]*\|){4}")
_HISTORY_ROW = re.compile(_ACCOUNT_ID + r"\|")


def parse_job_id(text: str) -> str | None:
    """The ID in the output of ``sbatch --parsable``: ``123`` or ``123;cluster``."""
    for line in reversed(split_lines(text)):
        if match := re.fullmatch(r"([0-9]{1,19})(;\S*)?", line.strip()):
            return match[1]
    return None


def parse_queue(text: str) -> dict[str, list[Status]]:
    """Jobs in the output of :func:`commands.build_squeue`; an array has one row per task that Slurm lists
    separately.
    """
    return copies.merge_copies(iter_queue_rows(text), SLURM)


def iter_queue_rows(text: str) -> Iterator[copies.Row]:
    """The same, row by row, with the identities in the comments."""
    for line in iter_rows(text, "squeue", _QUEUE_ROW):
        ref, state, reason, restarts, code, start, end, comment = (part.strip() for part in line.split("|", 7))
        # a requeued job counts its restart while its last attempt is still COMPLETING: the attempt is unknown
        attempt = 0 if state == "COMPLETING" else _parse_attempt(restarts)
        yield ref, build_status(state, reason, code, start, end, attempt), parse_comment(comment)


def parse_accounts(text: str) -> dict[str, list[Status]]:
    """Jobs in the output of :func:`commands.build_sacct`; of several rows of one job or task the last counts."""
    jobs: dict[str, list[Status]] = {}
    for ref, status, _ in iter_account_rows(text):
        jobs.setdefault(ref, []).append(status)
    return jobs


def iter_account_rows(text: str) -> list[copies.Row]:
    """The same, one row per task, with the identities in comments and submit lines."""
    rows: dict[str, copies.Row] = {}
    for line in iter_rows(text, "sacct", _ACCOUNT_ROW):
        ref, state, code, start, end, reason, *comment = line.split("|", 6)
        if re.fullmatch(r"[0-9]+(_\S+)?", ref):
            is_requeued = state.split()[0] in _REQUEUED_STATES if state else True
            # the attempt is not in the accounts: with 0 a known attempt is kept
            status = (
                Status(State.UNKNOWN, 0, "requeued by Slurm, not yet listed")
                if is_requeued
                else build_status(state, reason, code, start, end, 0)
            )
            rows[ref] = (ref.partition("_")[0], status, parse_comment("".join(comment)))
    return list(rows.values())


def parse_min_job_age(text: str) -> float:
    """Seconds after its end for which the controller lists a job, from :data:`commands.SHOW_CONFIG`; 0:
    unknown.
    """
    match = re.search(r"^MinJobAge\s*=\s*(\d+)", text, re.MULTILINE)
    return float(parse_number(match[1], "scontrol show config: MinJobAge")) if match else 0.0


def parse_comment(text: str) -> JobIdentity | None:
    """The identity in a comment or a submit line (:func:`commands.add_identity`); None: not a job of this package."""
    match = re.search(re.escape(COMMENT_PREFIX) + r"([A-Za-z0-9._-]+)(?::([0-9a-f]{16})(?::([0-9a-f]{16}))?)?", text)
    return JobIdentity(*(part or "" for part in match.groups())) if match else None


def parse_jobs(text: str) -> list[copies.ListedJob]:
    """Jobs with their identities in the output of :func:`commands.build_sacct_history`."""
    found = []
    for line in iter_rows(text, "sacct", _HISTORY_ROW):
        ref, _, rest = line.partition("|")
        number = ref.strip().partition("_")[0]
        if _is_job_id(number) and (identity := parse_comment(rest)):
            found.append((number, identity))
    return found


def build_status(state: str, reason: str, code: str, start: str, end: str, attempt: int) -> Status:
    """A status from Slurm's fields; times are seconds since 1970, or in Slurm's format.

    UNKNOWN if one of them is a number that the store cannot have: it is a problem of this job only.
    """
    try:
        return _build_valid_status(state, reason, code, start, end, attempt)
    except EngineError as error:
        return Status(State.UNKNOWN, reason=str(error))


def _build_valid_status(state: str, reason: str, code: str, start: str, end: str, attempt: int) -> Status:
    word = state.split(maxsplit=1)[0].rstrip("+") if state else ""
    ours = _STATES.get(word, State.UNKNOWN)
    exit_code = _parse_exit_code(code)
    return Status(
        ours,
        attempt,
        describe_state(word, reason, exit_code, attempt)
        if ours is not State.UNKNOWN
        else f"unknown Slurm state {state!r}",
        exit_code if ours in (State.COMPLETED, State.FAILED) else None,
        _parse_time(start) if ours is not State.QUEUED else None,
        _parse_time(end) if ours.is_final else None,
    )


def _is_job_id(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,19}", text) is not None


def _parse_attempt(restarts: str) -> int:
    """The attempt after this number of restarts; 0, not reported, for a number that no counter of Slurm holds."""
    if not restarts.isdigit():
        return 1
    try:
        return parse_number(restarts, "RestartCnt") + 1
    except EngineError:
        return 0


def _parse_exit_code(text: str) -> int | None:
    """An exit code as in a shell, from sacct's ``code:signal`` or squeue's status of wait(2).

    Out of memory and similar, which are encoded as invalid signals, have none.
    """
    match = re.fullmatch(r"(\d+):(\d+)|(\d+)", text.strip())
    if match is None:
        return None
    numbers = [parse_number(item, "Slurm: an exit code") for item in match.groups() if item]
    code, number = divmod(numbers[0], 256) if match[3] else numbers
    return code or (None if number > 64 else 128 + number if number else 0)


def _parse_time(text: str) -> float | None:
    """Seconds since 1970, as requested; or local time, if Slurm ignored the request."""
    if text.isdigit():
        return float(parse_number(text, "Slurm: a time", MAX_TIMESTAMP)) or None
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return None  # N/A, None, Unknown
