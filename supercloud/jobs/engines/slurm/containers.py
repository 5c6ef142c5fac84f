"""Running a job's program in an image. Pure: the batch script detects the container runtime when it runs.

The order is: an OCI bundle (a folder with a config.json) by Slurm itself, pyxis, apptainer or singularity, enroot. The
first two are options of srun (``container``), the others are a prefix of the program (``inside``).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..shebang import parse_shebang

if TYPE_CHECKING:
    from ....spec import JobSpec

__all__ = ["render_runtime_selection", "build_script_feed", "format_image"]

# All tasks of a node use the container that the first of them creates.
_ENROOT_SCRIPT = """\
image=$1 mounts=$2 workdir=$3
shift 3
name=supercloud-$SLURM_JOB_ID
place=${TMPDIR:-/tmp}/supercloud-$(id -u)
mkdir -m 700 "$place" 2>/dev/null || [ -O "$place" ] && [ ! -L "$place" ] || exit 74
exec 9>"$place/$name.lock" && flock 9 || exit 74
if ! grep -qx "$name" <<LIST
$(enroot list)
LIST
then
    case $image in
    /*) file=$image ;;
    *) file=$place/$name.sqsh && enroot import --output "$file" "docker://$image" >&2 9>&- || exit 75 ;;
    esac
    enroot create --name "$name" "$file" >&2 9>&- || exit 75
fi
exec 9>&-
set -- "$name" sh -c 'cd "$0" && exec "$@"' "$workdir" "$@"
IFS=,
for mount in $mounts; do set -- --mount "$mount" "$@"; done
exec enroot start --rw "$@"
"""
# A script is passed on standard input, which may be the only thing that both sides of a container share.
_FEED_SCRIPT = """\
file=${TMPDIR:-/tmp}/supercloud-script.${SLURM_JOB_ID-}.${SLURM_RESTART_COUNT-}.${SLURM_PROCID-}.$$
# noclobber takes no file that is there: small images have no mktemp
(umask 077 && set -C && cat >"$file") || exit 74
[ $# -gt 0 ] || set -- "$(command -v bash || echo sh)"
"$@" "$file" </dev/null
code=$?
rm -f "$file"
exit "$code"
"""


def render_runtime_selection(job: JobSpec, home: str) -> Iterator[str]:
    """Lines of bash that set ``container`` and ``inside``, or end the job if the cluster cannot run images.

    Mounted are the job's folder, its checkpoints, and ``home``, a word of bash: the folder of all jobs.
    """
    assert job.image is not None
    paths = [path for path in (job.workdir, job.checkpoint.path if job.checkpoint else None) if path]
    workdir = shlex.quote(job.workdir) if job.workdir else ""
    source = job.image if job.image.startswith(("/", ".")) or "://" in job.image else f"docker://{job.image}"
    named = shlex.quote(format_image(job.image.removeprefix("docker://")))
    shared = [*map(shlex.quote, dict.fromkeys(paths)), home]
    yield f"container=() inside=() mounts={','.join(f'{path}:{path}' for path in shared)}"
    if job.image.startswith("/"):
        yield f"if [ -e {shlex.quote(job.image + '/config.json')} ]; then"
        yield f"    container=(--container={shlex.quote(job.image)})"
    test = "elif" if job.image.startswith("/") else "if"
    yield f"{test} [[ $(srun --help 2>/dev/null) == *--container-image* ]]; then"
    # Slurm runs its TaskProlog inside the container, and ends the task if that is missing
    yield "    prolog=$(scontrol show config | sed -n 's/^TaskProlog *= *//p')"
    yield '    [ ! -f "$prolog" ] || mounts+=,$prolog:$prolog'
    yield f'    container=(--container-image={named} --no-container-mount-home --container-mounts="$mounts")'
    if workdir:
        yield f"    container+=(--container-workdir={workdir})"
    yield "elif program=$(command -v apptainer || command -v singularity); then"
    yield '    inside=("$program" exec --bind "$mounts")'
    yield "    [ ! -e /dev/nvidiactl ] || inside+=(--nv)"
    yield "    [ ! -e /dev/kfd ] || inside+=(--rocm)"
    yield f"    inside+=({f'--pwd {workdir} ' if workdir else ''}{shlex.quote(source)})"
    yield "elif command -v enroot >/dev/null; then"
    yield f'    inside=(sh -c {shlex.quote(_ENROOT_SCRIPT)} sh {named} "$mounts" {workdir or "/"})'
    yield "else"
    yield "    echo 'supercloud: no pyxis, apptainer, singularity or enroot found to run an image' >&2"
    yield "    exit 78"
    yield "fi"


def build_script_feed(script: str) -> tuple[tuple[str, ...], str]:
    """The program that runs a script from standard input, and the here-document with the script."""
    body = script if script.endswith("\n") else script + "\n"
    mark, lines = "END_OF_SCRIPT", set(body.splitlines())
    while mark in lines:
        mark += "_"
    return ("sh", "-c", _FEED_SCRIPT, "sh", *parse_shebang(script)), f"<<'{mark}'\n{body}{mark}\n"


def format_image(image: str) -> str:
    """An image name for pyxis and enroot: ``#`` after the registry; a file is unchanged."""
    registry, slash, rest = image.partition("/")
    is_registry = "." in registry or ":" in registry or registry == "localhost"
    return f"{registry}#{rest}" if slash and registry and is_registry else image
