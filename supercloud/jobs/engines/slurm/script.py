"""The batch script. Pure; every text of a job is quoted, or an argument that no shell reads.

What runs differently per step is constant text in ``_TASK_ENVIRONMENT``; the rest is a short list of sections, each
empty where the job does not ask for it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...runtime import checkpoint_helper as helper
from ...runtime.epochs import compute_previous_epoch
from ..environment import build_job_environment, compute_rendezvous_port
from ..retries import list_retried_exit_codes
from ..secrets import DEFAULT_FOLDER, FOLDER_VARIABLE
from .containers import build_script_feed, render_runtime_selection

if TYPE_CHECKING:
    from ....spec import JobSpec
    from ...placement.answer import Placement

__all__ = ["render_script"]

# Reads what only the step knows. It is the same for all jobs: the program comes in as "$@".
_TASK_ENVIRONMENT = """\
export RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID" NODE_RANK="$SLURM_NODEID" WORLD_SIZE="$SLURM_NTASKS"
export SUPERCLOUD_NODE_RANK="$SLURM_NODEID"
"""
_RUN_SINGLE_TASK = 'exec "$@"\n'
# srun tells the highest code, which is that of the tasks it ends when one fails: the first to fail leaves its own.
_RECORD_FIRST_FAILURE = """\
trap ended=1 HUP INT TERM
trap : USR1 USR2
"$@" && exit
code=$?
[ -n "${ended-}" ] || (set -C && echo "$code" >"$SUPERCLOUD_FAILED") 2>/dev/null
exit "$code"
"""
# A name that nobody has looked up before: NFS remembers for a while what was not there.
_FAILURE_FILE = 'SUPERCLOUD_FAILED="$SUPERCLOUD_FAILED-$SLURM_JOB_ID-${SLURM_RESTART_COUNT:-0}"\n'
_EXIT_WITH_FIRST_FAILURE = """\
code=$?
[ "$code" = 0 ] || read -r code 2>/dev/null <"$SUPERCLOUD_FAILED"
rm -f "$SUPERCLOUD_FAILED"
exit "$code"
"""

_CHECK_SECRET_FUNCTION = """\
supercloud_secret() {
    if [ -z "$(find -L "$1" -prune -type f ! -perm /077 2>/dev/null)" ] || [ ! -r "$1" ]; then
        echo "supercloud: there is no secret $1 that only its user can read" >&2
        exit 78
    fi
}
"""


def render_script(job: JobSpec, placement: Placement, key: str, home: str, change_folder: bool = False) -> str:
    """The job's variables, then its program on every task, or its own script on the first node.

    ``home`` is where jobs have their folders; with ``change_folder`` the script goes to the job's folder itself.
    """
    first, body = "#!/bin/bash", job.script if job.script and job.image is None else ""
    if body.startswith("#!"):
        first, _, body = body.partition("\n")
    lines = [first, f"# job {job.name}, key {key}; made by supercloud"]
    lines += _render_environment(job, placement, key, home)
    lines += [
        f"export {name}={shlex.quote(value)}"
        for name, value in sorted(build_job_environment(job, placement, key).items())
    ]
    lines += _render_secrets(job)
    if change_folder and job.workdir:
        lines += [f"cd {shlex.quote(job.workdir)} || exit"]
    if job.image:
        body = "\n".join((*render_runtime_selection(job, _quote_path(home)), _render_container_step(job, placement)))
    elif job.command:
        body = shlex.join((*_build_srun(job, placement), *_build_task_prefix(job, placement), *job.command))
    body = body if body.endswith("\n") else body + "\n"
    if _has_several_tasks(job, placement):
        failed = _quote_path(home, f"{key}/failed")
        body = f"export SUPERCLOUD_FAILED={failed}\n{_FAILURE_FILE}{body}{_EXIT_WITH_FIRST_FAILURE}"
    return "\n".join(lines) + "\n" + "".join(_render_retries(job, body))


def _render_environment(job: JobSpec, placement: Placement, key: str, home: str) -> Iterator[str]:
    port = str(compute_rendezvous_port(key))
    if job.array:
        yield f'export SUPERCLOUD_ARRAY_INDEX="$SLURM_ARRAY_TASK_ID" SUPERCLOUD_ARRAY_COUNT={job.array}'
        port = f"$(({compute_rendezvous_port(key)} + SLURM_ARRAY_TASK_ID % 500))"
    yield f"export MASTER_PORT={port} NNODES={placement.nodes} LOCAL_WORLD_SIZE={job.tasks_per_node}"
    yield 'MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n 1p)'
    yield "export MASTER_ADDR"
    yield f"export SUPERCLOUD_EPOCH=$((${{SLURM_RESTART_COUNT:-0}} + {compute_previous_epoch(key) + 1}))"
    yield f"export SUPERCLOUD_RESULT={_quote_path(home, f'{key}/result')}"
    if job.checkpoint:
        yield f"export SUPERCLOUD_COMMIT={_quote_path(home, helper.FILE_NAME)}"


def _quote_path(home: str, name: str = "") -> str:
    """A path for a shell; only a leading ``$HOME`` of ours is left for it to fill in."""
    path = f"{home}/{name}" if name else home
    if path.startswith("$HOME/"):
        return f'"$HOME"/{shlex.quote(path.removeprefix("$HOME/"))}'
    return shlex.quote(path)


def _render_secrets(job: JobSpec) -> Iterator[str]:
    """Read where the job runs, from files of the user: no value passes through Slurm, the store or a script."""
    if not job.secrets:
        return
    yield _CHECK_SECRET_FUNCTION.rstrip()
    folder = f'"${{{FOLDER_VARIABLE}:-$HOME/{DEFAULT_FOLDER}}}"'
    for secret in job.secrets:
        path = f"{folder}/{shlex.quote(secret.name)}"
        yield f"supercloud_secret {path}"
        yield f"{secret.env}=$(cat {path})"
        yield f"export {secret.env}"


def _render_container_step(job: JobSpec, placement: Placement) -> str:
    """In the image: the program on every task, or the script once, as a batch script is."""
    srun, program, feed = _build_srun(job, placement), job.command or (), ""
    if job.script:
        srun = ("srun", "--nodes=1", "--ntasks=1")
        program, feed = build_script_feed(job.script)
    task = shlex.join(_build_task_prefix(job, placement))
    words = f'{shlex.join(srun)} "${{container[@]}}" {task} "${{inside[@]}}" {shlex.join(program)}'
    return f"{words} {feed}" if feed else words


def _has_several_tasks(job: JobSpec, placement: Placement) -> bool:
    return not job.script and placement.nodes * job.tasks_per_node > 1


def _build_task_prefix(job: JobSpec, placement: Placement) -> tuple[str, ...]:
    """The words before the program of each task."""
    return (
        "sh",
        "-c",
        _TASK_ENVIRONMENT + (_RECORD_FIRST_FAILURE if _has_several_tasks(job, placement) else _RUN_SINGLE_TASK),
        "sh",
    )


def _build_srun(job: JobSpec, placement: Placement) -> tuple[str, ...]:
    return ("srun", f"--nodes={placement.nodes}", f"--ntasks-per-node={job.tasks_per_node}", "--kill-on-bad-exit=1")


def _render_retries(job: JobSpec, body: str) -> Iterator[str]:
    """The program; after an exit code that is to be tried again, Slurm is asked to put the job back."""
    codes = list_retried_exit_codes(job)
    if not codes or not job.retries:
        yield body
        return
    yield f"(\n{body})\ncode=$?\n"
    yield f"case $code in\n{'|'.join(map(str, codes))})\n"
    yield f'    if [ "${{SLURM_RESTART_COUNT:-0}}" -lt {job.retries} ]; then\n'
    task = '"${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}"'
    yield f"        scontrol requeue {task} && sleep 600  # it is ended meanwhile\n"
    yield "    fi ;;\nesac\nexit $code\n"
