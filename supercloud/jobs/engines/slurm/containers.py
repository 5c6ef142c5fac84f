"""Running a job's program in an image, with what a cluster has for it. Pure: the batch script finds out when it runs.

In this order: an OCI bundle (a folder with a config.json) by Slurm itself, pyxis, apptainer or singularity, enroot. The
first two are options of srun (``container``), the others words before the program (``inside``).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..shebang import parse_shebang

if TYPE_CHECKING:
    from ....spec import JobSpec

__all__ = ["render_runtime_selection", "build_script_feed", "format_image"]

# Every task of a node finds the container that the first of them has made.
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
# A script comes in on standard input, which may be all that both sides of a container share.
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
    """Lines of bash that set ``container`` and ``inside``, or end the job where the cluster cannot run images.

    Seen inside as outside are the job's folder, its checkpoints, and ``home``, a word of bash: the folder of all jobs.
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
    # Slurm runs its TaskProlog inside the container, and ends the task where that is not there
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
    yield "    echo 'supercloud: there is neither pyxis, apptainer, singularity nor enroot here to run an image' >&2"
    yield "    exit 78"
    yield "fi"


def build_script_feed(script: str) -> tuple[tuple[str, ...], str]:
    """The program that runs a script it is fed, and the here-document that feeds it."""
    body = script if script.endswith("\n") else script + "\n"
    mark, lines = "END_OF_SCRIPT", set(body.splitlines())
    while mark in lines:
        mark += "_"
    return ("sh", "-c", _FEED_SCRIPT, "sh", *parse_shebang(script)), f"<<'{mark}'\n{body}{mark}\n"


def format_image(image: str) -> str:
    """An image as pyxis and enroot call it: ``#`` between the registry and the rest, a file as it is."""
    registry, slash, rest = image.partition("/")
    is_registry = "." in registry or ":" in registry or registry == "localhost"
    return f"{registry}#{rest}" if slash and registry and is_registry else image
