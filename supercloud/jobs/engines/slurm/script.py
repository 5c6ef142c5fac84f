"""The batch script. Pure; every text of a job is quoted, or an argument that no shell reads.

What runs differently per step is constant text in ``_TASK``; the rest is a short list of sections, each empty where
the job does not ask for it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ....spec import JobSpec
from ...environment import job_env, port_of
from ...epochs import epoch_before
from ...placement import Placement
from ...retries import retried
from ...secrets import DEFAULT, VARIABLE

__all__ = ["image_of", "script"]

# Reads what only the step knows. It is the same for all jobs: the program comes in as "$@".
_TASK = """\
export RANK="$SLURM_PROCID" LOCAL_RANK="$SLURM_LOCALID" NODE_RANK="$SLURM_NODEID" WORLD_SIZE="$SLURM_NTASKS"
export SUPERCLOUD_NODE_RANK="$SLURM_NODEID"
exec "$@"
"""

_SECRET = """\
supercloud_secret() {
    if [ -z "$(find -L "$1" -prune -type f ! -perm /077 2>/dev/null)" ] || [ ! -r "$1" ]; then
        echo "supercloud: there is no secret $1 that only its user can read" >&2
        exit 78
    fi
}
"""


def script(job: JobSpec, placement: Placement, key: str, home: str, move: bool = False) -> str:
    """The job's variables, then its program on every task, or its own script on the first node.

    ``home`` is where jobs have their folders; with ``move`` the script goes to the job's folder itself.
    """
    first, body = "#!/bin/bash", job.script or ""
    if body.startswith("#!"):
        first, _, body = body.partition("\n")
    lines = [first, f"# job {job.name}, key {key}; made by supercloud"]
    lines += _shape(job, placement, key, home)
    lines += [f"export {name}={shlex.quote(value)}" for name, value in sorted(job_env(job, placement, key).items())]
    lines += _secrets(job)
    if move and job.workdir:
        lines += [f"cd {shlex.quote(job.workdir)} || exit"]
    if job.command:
        body = shlex.join(_step(job, placement)) + "\n"
    body = body if body.endswith("\n") else body + "\n"
    return "\n".join(lines) + "\n" + "".join(_guarded(job, body))


def _shape(job: JobSpec, placement: Placement, key: str, home: str) -> Iterator[str]:
    port = str(port_of(key))
    if job.array:
        yield f'export SUPERCLOUD_ARRAY_INDEX="$SLURM_ARRAY_TASK_ID" SUPERCLOUD_ARRAY_COUNT={job.array}'
        port = f"$(({port_of(key)} + SLURM_ARRAY_TASK_ID % 500))"
    yield f"export MASTER_PORT={port} NNODES={placement.nodes} LOCAL_WORLD_SIZE={job.tasks_per_node}"
    yield 'MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
    yield "export MASTER_ADDR"
    yield f"export SUPERCLOUD_EPOCH=$((${{SLURM_RESTART_COUNT:-0}} + {epoch_before(key) + 1}))"
    yield f"export SUPERCLOUD_RESULT={_path(home, f'{key}/result')}"
    if job.checkpoint:
        yield f"export SUPERCLOUD_COMMIT={_path(home, 'checkpoint')}"


def _path(home: str, name: str) -> str:
    """A path for a shell; only a leading ``$HOME`` of ours is left for it to fill in."""
    if home.startswith("$HOME/"):
        return f'"$HOME"/{shlex.quote(home.removeprefix("$HOME/") + "/" + name)}'
    return shlex.quote(f"{home}/{name}")


def _secrets(job: JobSpec) -> Iterator[str]:
    """Read where the job runs, from files of the user: no value passes through Slurm, the store or a script."""
    if not job.secrets:
        return
    yield _SECRET.rstrip()
    folder = f'"${{{VARIABLE}:-$HOME/{DEFAULT}}}"'
    for secret in job.secrets:
        path = f"{folder}/{shlex.quote(secret.name)}"
        yield f"supercloud_secret {path}"
        yield f"{secret.env}=$(cat {path})"
        yield f"export {secret.env}"


def _step(job: JobSpec, placement: Placement) -> tuple[str, ...]:
    container: tuple[str, ...] = ()
    if job.image:  # pyxis, which enroot serves
        shared = [path for path in (job.workdir, job.checkpoint.path if job.checkpoint else None) if path]
        container = (f"--container-image={image_of(job.image)}", "--no-container-mount-home")
        if shared:
            container += (f"--container-mounts={','.join(f'{path}:{path}' for path in dict.fromkeys(shared))}",)
        if job.workdir:
            container += (f"--container-workdir={job.workdir}",)
    return ("srun", f"--nodes={placement.nodes}", f"--ntasks-per-node={job.tasks_per_node}", "--kill-on-bad-exit=1",
            *container, "sh", "-c", _TASK, "sh", *(job.command or ()))  # fmt: skip


def image_of(image: str) -> str:
    """An image as pyxis calls it: ``#`` between the registry and the rest, a file as it is."""
    registry, slash, rest = image.partition("/")
    is_registry = "." in registry or ":" in registry or registry == "localhost"
    return f"{registry}#{rest}" if slash and registry and is_registry else image


def _guarded(job: JobSpec, body: str) -> Iterator[str]:
    """The program; after an exit code that is to be tried again, Slurm is asked to put the job back."""
    codes = retried(job)
    if not codes or not job.retries:
        yield body
        return
    yield f"(\n{body})\ncode=$?\n"
    yield f"case $code in\n{'|'.join(map(str, codes))})\n"
    yield f'    if [ "${{SLURM_RESTART_COUNT:-0}}" -lt {job.retries} ]; then\n'
    task = '"${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}"'
    yield f"        scontrol requeue {task} && sleep 600  # it is ended meanwhile\n"
    yield "    fi ;;\nesac\nexit $code\n"
