"""What is said to Slurm: argv. Pure; every text of a job is an argument of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....primitives.quantity import Duration
    from ....spec import JobSpec
    from ...placement.answer import Placement
    from ..submission import JobIdentity

__all__ = [
    "COMMENT_PREFIX",
    "SHOW_CONFIG",
    "build_cancel",
    "build_sacct_history",
    "build_sacct",
    "build_squeue",
    "build_recall",
    "build_sbatch",
    "add_identity",
]

COMMENT_PREFIX = "supercloud:"
"""What a job's comment begins with. Its key follows, and finds it again; after colons come the digests of its spec and
of its record."""

# How long Slurm may look for nodes under few switches: as good as for ever where the job insists (the cluster's
# max_switch_wait is the real limit), else no longer than an idle leaf is worth.
_REQUIRED_SWITCH_WAIT = "30-00:00:00"
_PREFERRED_SWITCH_WAIT = "0-00:05:00"

_EPOCH_TIMES = ("env", "SLURM_TIME_FORMAT=%s")  # times that need no time zone

# Widths: squeue cuts what is longer. RestartCnt has no letter in the short format, so all go by name. The tasks of an
# array all have its ArrayJobID; of any other job it is its own id.
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
ACCOUNTING_FIELDS = ("JobID", "State", "ExitCode", "Start", "End", "Reason")


SHOW_CONFIG = ("scontrol", "show", "config")


def build_sbatch(job: JobSpec, placement: Placement, key: str, log: str) -> tuple[str, ...]:
    """The submission. The script comes on standard input."""
    return ("sbatch", *_iter_options(job, placement, key, log))


def add_identity(argv: Sequence[str], identity: JobIdentity) -> tuple[str, ...]:
    """A submission whose comment says the digests of the job's spec and record, too, where there are any."""
    comment = f"--comment={COMMENT_PREFIX}{identity.key}"
    digests = [digest for digest in (identity.spec, identity.record) if identity.spec and digest]
    return tuple(":".join([comment, *digests]) if word == comment else word for word in argv)


def _iter_options(job: JobSpec, placement: Placement, key: str, log: str) -> Iterator[str]:
    yield "--parsable"
    yield f"--job-name={job.name}"
    yield f"--comment={COMMENT_PREFIX}{key}"
    yield f"--nodes={placement.nodes}"
    yield f"--ntasks-per-node={job.tasks_per_node}"
    if placement.accelerators_per_node and placement.slice == "shard":
        yield f"--gres=shard:{placement.accelerators_per_node}"
    elif placement.accelerators_per_node:
        yield f"--gpus-per-node={placement.gres}:{placement.accelerators_per_node}"
    if placement.takes_whole_nodes:
        yield "--exclusive"
    if job.time_limit:
        yield f"--time={_format_time_limit(job.time_limit)}"
    if job.deadline:
        yield f"--deadline=now+{math.ceil(job.deadline.to('s'))}seconds"
    if placement.begin:
        yield f"--begin=now+{math.ceil(placement.begin)}seconds"
    if job.array:
        yield f"--array=0-{job.array - 1}"
    if job.after:  # what Slurm calls them; one that fails takes this one with it instead of leaving it in the queue
        yield f"--dependency=afterok:{':'.join(ref.partition('/')[0] for ref in job.after)}"
        yield "--kill-on-invalid-dep=yes"
    for name, value in (
        ("partition", placement.partition),
        ("account", placement.account),
        ("qos", placement.qos),
        ("constraint", placement.constraint),
        ("nodelist", ",".join(placement.hosts)),
        ("licenses", placement.licenses),
    ):
        if value:
            yield f"--{name}={value}"
    if job.workdir and log.startswith("/"):  # else the log is relative to where sbatch runs, and the script goes there
        yield f"--chdir={job.workdir}"
    if placement.near.segment:
        yield f"--segment={placement.near.segment}"
    elif placement.near.switches:
        wait = _REQUIRED_SWITCH_WAIT if placement.near.required else _PREFERRED_SWITCH_WAIT
        yield f"--switches={placement.near.switches}@{wait}"
    yield "--requeue" if job.retries else "--no-requeue"
    yield "--open-mode=append"
    yield f"--output={log.replace('%', '%%')}"


def _format_time_limit(limit: Duration) -> str:
    seconds = max(1, math.ceil(limit.to("s")))
    days, rest = divmod(seconds, 86_400)
    return f"{days}-{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"


def build_squeue() -> tuple[str, ...]:
    """All jobs of the user that the controller remembers, finished ones too (for its MinJobAge)."""
    fields = ",".join(f"{name}:{width}|" for name, width in QUEUE_FIELDS)
    return (*_EPOCH_TIMES, "squeue", "--noheader", "--all", "--me", "--states=all", f"--Format={fields}")


def build_sacct(refs: Sequence[str]) -> tuple[str, ...]:
    """Jobs that the controller has forgotten."""
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
    """Ids and comments of the user's jobs of the last seconds.

    The comment is only kept with AccountingStoreFlags=job_comment, the submission line always: the key is in both.
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
    """End a job; no error when it has ended."""
    return ("scancel", ref.partition("/")[0])


def build_recall(ref: str) -> tuple[str, ...]:
    """End a job if it has not begun; Slurm itself decides, so that none that begins this moment is hit."""
    return ("scancel", "--state=PENDING", ref.partition("/")[0])
