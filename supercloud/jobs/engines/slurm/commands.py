"""What is said to Slurm: argv and the batch script. Pure; every text of a job is an argument or quoted, never shell."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from ....primitives.quantity import Duration
from ....spec import JobSpec
from ...environment import job_env, port_of
from ...placement import Placement

__all__ = ["COMMENT", "cancel", "found_in_accounting", "in_accounting", "in_queue", "sbatch", "script"]

COMMENT = "supercloud:"
"""What a job's comment begins with; its key follows, and finds it again."""

# How long Slurm may look for nodes under few switches: as good as for ever where the job insists (the cluster's
# max_switch_wait is the real limit), else no longer than an idle leaf is worth.
_INSIST = "30-00:00:00"
_PREFER = "0-00:05:00"

# Reads what only the step knows. It is the same for all jobs: the program comes in as "$@".
_TASK = """\
export RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID" NODE_RANK="$SLURM_NODEID" WORLD_SIZE="$SLURM_NTASKS"
export SUPERCLOUD_NODE_RANK="$SLURM_NODEID"
exec "$@"
"""

_IN_SECONDS = ("env", "SLURM_TIME_FORMAT=%s")  # times that need no time zone

# Widths: squeue cuts what is longer. RestartCnt has no letter in the short format, so all go by name.
QUEUE_FIELDS = (("JobID", 24), ("State", 24), ("Reason", 64), ("RestartCnt", 12), ("exit_code", 16), ("StartTime", 24),
                ("EndTime", 24), ("Comment", 128))  # fmt: skip
ACCOUNTING_FIELDS = ("JobIDRaw", "State", "ExitCode", "Start", "End", "Reason")


def sbatch(job: JobSpec, placement: Placement, key: str, log: Path) -> tuple[str, ...]:
    """The submission. The script comes on standard input."""
    return ("sbatch", *_options(job, placement, key, log))


def _options(job: JobSpec, at: Placement, key: str, log: Path) -> Iterator[str]:
    yield "--parsable"
    yield f"--job-name={job.name}"
    yield f"--comment={COMMENT}{key}"
    yield f"--nodes={at.nodes}"
    yield f"--ntasks-per-node={job.tasks_per_node}"
    if at.accelerators_per_node:
        yield f"--gpus-per-node={at.gres}:{at.accelerators_per_node}"
    if at.whole_nodes:
        yield "--exclusive"
    if job.time_limit:
        yield f"--time={_time(job.time_limit)}"
    for name, value in (("partition", at.partition), ("account", at.account), ("qos", at.qos),
                        ("constraint", at.constraint), ("nodelist", ",".join(at.hosts)),
                        ("chdir", job.workdir or "")):  # fmt: skip
        if value:
            yield f"--{name}={value}"
    if at.near.segment:
        yield f"--segment={at.near.segment}"
    elif at.near.switches:
        yield f"--switches={at.near.switches}@{_INSIST if at.near.required else _PREFER}"
    yield "--requeue" if job.retries else "--no-requeue"
    yield "--open-mode=append"
    yield f"--output={str(log).replace('%', '%%')}"


def _time(limit: Duration) -> str:
    seconds = max(1, math.ceil(limit.to("s")))
    days, rest = divmod(seconds, 86_400)
    return f"{days}-{rest // 3600:02d}:{rest // 60 % 60:02d}:{rest % 60:02d}"


def script(job: JobSpec, placement: Placement, key: str) -> str:
    """The batch script: the job's variables, then its program on every task, or its own script on the first node."""
    first, body = "#!/bin/bash", job.script or ""
    if body.startswith("#!"):
        first, _, body = body.partition("\n")
    lines = [first, f"# job {job.name}, key {key}; made by supercloud"]
    lines += [f"export MASTER_PORT={port_of(key)} NNODES={placement.nodes} LOCAL_WORLD_SIZE={job.tasks_per_node}"]
    lines += ['MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)', "export MASTER_ADDR"]
    lines += ["export SUPERCLOUD_EPOCH=$((${SLURM_RESTART_COUNT:-0} + 1))"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in sorted(job_env(job, placement, key).items())]
    if job.command:
        step = ("srun", f"--nodes={placement.nodes}", f"--ntasks-per-node={job.tasks_per_node}",
                "--kill-on-bad-exit=1", "sh", "-c", _TASK, "sh", *job.command)  # fmt: skip
        body = shlex.join(step) + "\n"
    return "\n".join(lines) + "\n" + body + ("" if body.endswith("\n") else "\n")


def in_queue() -> tuple[str, ...]:
    """All jobs of the user that the controller remembers, finished ones too (for its MinJobAge)."""
    fields = ",".join(f"{name}:{width}|" for name, width in QUEUE_FIELDS)
    return (*_IN_SECONDS, "squeue", "--noheader", "--all", "--me", "--states=all", f"--Format={fields}")


def in_accounting(refs: Sequence[str]) -> tuple[str, ...]:
    """Jobs that the controller has forgotten."""
    return (*_IN_SECONDS, "sacct", "--noheader", "--parsable2", "--allocations", f"--jobs={','.join(refs)}",
            f"--format={','.join(ACCOUNTING_FIELDS)}")  # fmt: skip


def found_in_accounting(seconds: int) -> tuple[str, ...]:
    """Ids and comments of the user's jobs of the last seconds.

    The comment is only kept with AccountingStoreFlags=job_comment, the submission line always: the key is in both.
    """
    return ("sacct", "--noheader", "--parsable2", "--allocations", "--duplicates", f"--starttime=now-{seconds}seconds",
            "--format=JobIDRaw,Comment,SubmitLine")  # fmt: skip


def cancel(ref: str) -> tuple[str, ...]:
    """End a job; no error when it has ended."""
    return ("scancel", ref)
