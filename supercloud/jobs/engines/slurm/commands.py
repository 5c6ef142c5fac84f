"""The commands for Slurm, as argv. Pure; every text of a job is a separate argument."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .request import get_slurm_request

if TYPE_CHECKING:
    from ....primitives.quantity import Duration
    from ....spec import JobSpec
    from ...placement.answer import Placement
    from ..submission import JobIdentity

__all__ = [
    "COMMENT_PREFIX",
    "SHOW_CONFIG",
    "SHOW_VERSION",
    "build_cancel",
    "build_sacct_history",
    "build_sacct",
    "build_squeue",
    "build_recall",
    "build_sbatch",
    "add_identity",
]

COMMENT_PREFIX = "supercloud:"
"""Prefix of a job's comment. It is followed by the key, by which the job is found, and, after colons, by the digests of
its spec and record."""

# How long Slurm may wait for nodes under few switches: practically forever if required by the job (the cluster's
# max_switch_wait is the actual limit), else no longer than an idle leaf is worth.
_REQUIRED_SWITCH_WAIT = "30-00:00:00"
_PREFERRED_SWITCH_WAIT = "0-00:05:00"

_EPOCH_TIMES = ("env", "SLURM_TIME_FORMAT=%s")  # times that need no time zone

# Widths: squeue truncates longer values. RestartCnt has no letter in the short format, so all are given by name. All
# tasks of an array have its ArrayJobID; for other jobs it is the job's own ID.
QUEUE_FIELDS = (
    ("ArrayJobID", 24),
    ("State", 24),
    ("Reason", 64),
    ("RestartCnt", 12),
    ("exit_code", 16),
    ("StartTime", 24),
    ("EndTime", 24),
    ("Comment", 128),
)
ACCOUNTING_FIELDS = ("JobID", "State", "ExitCode", "Start", "End", "Reason", "Comment", "SubmitLine")


SHOW_VERSION = ("sbatch", "--version")
"""Reads slurm.conf, and asks no controller."""
SHOW_CONFIG = ("scontrol", "show", "config")


def build_sbatch(job: JobSpec, placement: Placement, key: str, log: str) -> tuple[str, ...]:
    """The submission. The script comes on standard input."""
    return ("sbatch", *_iter_options(job, placement, key, log))


def add_identity(argv: Sequence[str], identity: JobIdentity) -> tuple[str, ...]:
    """A submission whose comment also has the digests of the job's spec and record, if any."""
    comment = f"--comment={COMMENT_PREFIX}{identity.key}"
    digests = [digest for digest in (identity.spec, identity.record) if identity.spec and digest]
    return tuple(":".join([comment, *digests]) if word == comment else word for word in argv)


def _iter_options(job: JobSpec, placement: Placement, key: str, log: str) -> Iterator[str]:
    yield "--parsable"
    yield f"--job-name={job.name}"
    yield f"--comment={COMMENT_PREFIX}{key}"
    yield f"--nodes={placement.nodes}"
    yield f"--ntasks-per-node={job.tasks_per_node}"
    yield from _iter_accelerator_options(placement)
    yield from _iter_time_options(job, placement)
    if job.array:
        yield f"--array=0-{job.array - 1}"
    if job.after:  # by job ID; if one fails, this job is cancelled instead of remaining in the queue
        yield f"--dependency=afterok:{':'.join(ref.partition('/')[0] for ref in job.after)}"
        yield "--kill-on-invalid-dep=yes"
    yield from _iter_request_options(placement)
    if job.workdir and log.startswith(
        "/"
    ):  # else the log is relative to the folder of sbatch, and the script changes the folder
        yield f"--chdir={job.workdir}"
    yield from _iter_locality_options(placement)
    yield "--requeue" if job.retries else "--no-requeue"
    yield "--open-mode=append"
    yield f"--output={log.replace('%', '%%')}"


def _iter_accelerator_options(placement: Placement) -> Iterator[str]:
    if placement.accelerators_per_node and placement.slice == "shard":
        yield f"--gres=shard:{placement.accelerators_per_node}"
    elif placement.accelerators_per_node:
        yield f"--gpus-per-node={get_slurm_request(placement).gres}:{placement.accelerators_per_node}"
    if placement.takes_whole_nodes:
        yield "--exclusive"


def _iter_time_options(job: JobSpec, placement: Placement) -> Iterator[str]:
    if job.time_limit:
        yield f"--time={_format_time_limit(job.time_limit)}"
    if job.deadline:
        yield f"--deadline=now+{math.ceil(job.deadline.to('s'))}seconds"
    if placement.begin:
        yield f"--begin=now+{math.ceil(placement.begin)}seconds"


def _iter_request_options(placement: Placement) -> Iterator[str]:
    """What placement requests of Slurm by name."""
    request = get_slurm_request(placement)
    for name, value in (
        ("partition", request.partition),
        ("account", request.account),
        ("qos", request.qos),
        ("constraint", request.constraint),
        ("nodelist", ",".join(placement.hosts)),
        ("licenses", request.licenses),
    ):
        if value:
            yield f"--{name}={value}"


def _iter_locality_options(placement: Placement) -> Iterator[str]:
    locality = placement.locality
    if locality.segment:
        yield f"--segment={locality.segment}"
    elif locality.switches:
        wait = _REQUIRED_SWITCH_WAIT if locality.required else _PREFERRED_SWITCH_WAIT
        yield f"--switches={locality.switches}@{wait}"


def _format_time_limit(limit: Duration) -> str:
    seconds = max(1, math.ceil(limit.to("s")))
    days, rest = divmod(seconds, 86_400)
    return f"{days}-{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"


def build_squeue() -> tuple[str, ...]:
    """All jobs of the user that the controller has, including finished ones (for its MinJobAge)."""
    fields = ",".join(f"{name}:{width}|" for name, width in QUEUE_FIELDS)
    return (*_EPOCH_TIMES, "squeue", "--noheader", "--all", "--me", "--states=all", f"--Format={fields}")


def build_sacct(refs: Sequence[str]) -> tuple[str, ...]:
    """Jobs that the controller has purged."""
    return (
        *_EPOCH_TIMES,
        "sacct",
        "--noheader",
        "--parsable2",
        "--allocations",
        f"--jobs={','.join(refs)}",
        f"--format={','.join(ACCOUNTING_FIELDS)}",
    )


def build_sacct_history(seconds: int) -> tuple[str, ...]:
    """IDs and comments of the user's jobs of the last seconds.

    The comment is stored only with AccountingStoreFlags=job_comment, the submit line always: both have the key.
    """
    return (
        "sacct",
        "--noheader",
        "--parsable2",
        "--allocations",
        "--duplicates",
        f"--starttime=now-{seconds}seconds",
        "--format=JobID,Comment,SubmitLine",
    )


def build_cancel(ref: str) -> tuple[str, ...]:
    """Cancel a job; not an error if it has ended."""
    return ("scancel", ref.partition("/")[0])


def build_recall(ref: str) -> tuple[str, ...]:
    """Cancel a job if it is pending; Slurm decides, so that a job that starts now is not cancelled."""
    return ("scancel", "--state=PENDING", ref.partition("/")[0])
