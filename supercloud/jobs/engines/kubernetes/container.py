"""The container of a job's pods: program, variables, file systems and secrets.

No text of a job is read by a shell that the job did not request, nor expanded by the kubelet: every ``$`` in it is
doubled, which is Kubernetes' escape for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ....errors import EngineError
from ....plan.build.kubernetes.names import ARRAY_INDEX_LABEL, OBJECT_LABEL, SECRETS_NAME
from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.requests.kubernetes import KubernetesRequest
from ...runtime import checkpoint_helper as helper
from ...runtime.epochs import compute_previous_epoch
from ...runtime.remote_call import LOG_VARIABLE
from ..environment import build_job_environment, compute_rendezvous_port

__all__ = ["CHANNEL_CLAIM", "MAIN_CONTAINER", "PodFields", "build_container", "escape_dollars", "build_volumes"]

Json = dict[str, Any]

MAIN_CONTAINER = "main"
CHANNEL_CLAIM = "channel"
"""Name of a pod's claim of the channel to its scale-up domain."""
_MAX_SCRIPT_BYTES = 120_000  # bytes: Linux limits one argument to 128 KiB
# Sets the variables that depend on the pod. It is the same for all jobs: the program is passed as "$@".
_START_SCRIPT = """\
export SUPERCLOUD_EPOCH="$((SUPERCLOUD_EPOCH_BEFORE + SUPERCLOUD_RESTART + ${SUPERCLOUD_STARTS:-1}))"
if [ -n "${SUPERCLOUD_COMMIT-}" ]; then
    printf '%s' "$SUPERCLOUD_COMMIT_TEXT" >"$SUPERCLOUD_COMMIT" && chmod 755 "$SUPERCLOUD_COMMIT"
    unset SUPERCLOUD_COMMIT_TEXT
fi
"""
_SHARED_MEMORY = "/dev/shm"
_SINGLE_TASK_SCRIPT = """\
export RANK="$NODE_RANK" JAX_PROCESS_ID="$NODE_RANK" LOCAL_RANK=0
exec "$@"
"""
# Several tasks in one pod; when one fails the others are terminated. A signal to a child that the shell has just forked
# is lost, as the child inherits the trap: signals are sent a second after the last fork, and remaining tasks are killed
# after a failure. When a pod is terminated, its tasks have the grace period of the kubelet: none is killed here.
_MULTI_TASK_SCRIPT = """\
pids= n=0 failed=0 asked= signaled=
trap 'asked=1' TERM
while [ "$n" -lt "$LOCAL_WORLD_SIZE" ]; do
    export LOCAL_RANK="$n" RANK="$((NODE_RANK * LOCAL_WORLD_SIZE + n))"
    JAX_PROCESS_ID="$RANK" "$@" &
    pids="$pids $!"
    n=$((n + 1))
done
while [ -n "$pids" ]; do
    sleep 1
    if [ "$failed" -ne 0 ] && [ -z "$asked" ]; then
        kill -9 $pids 2>/dev/null
        exit "$failed"
    fi
    if [ -n "$asked" ] && [ -z "$signaled" ]; then
        signaled=1
        kill $pids 2>/dev/null
    fi
    left=
    for pid in $pids; do
        if kill -0 "$pid" 2>/dev/null; then
            left="$left $pid"
            continue
        fi
        code=0
        wait "$pid" || code=$?
        [ "$failed" -ne 0 ] || failed=$code
    done
    pids=$left
    if [ "$failed" -ne 0 ] && [ -n "$pids" ] && [ -z "$signaled" ]; then
        signaled=1
        kill $pids 2>/dev/null
    fi
done
exit "$failed"
"""


@dataclass(frozen=True)
class PodFields:
    """The pod fields with the values of a kind of object."""

    rank: str
    """Field with the index of the pod."""
    restart: str
    """Field with the number of restarts of the job."""
    first_host: str
    """Host name of the first pod."""
    starts: str = ""
    """Field with the number of admissions by its queue, if not included in ``restart``; without a value: 1."""


def escape_dollars(text: str) -> str:
    """A text that the kubelet does not expand."""
    return text.replace("$", "$$")


def build_container(
    job: JobSpec, placement: Placement, request: KubernetesRequest, key: str, fields: PodFields
) -> Json:
    """The one container; raises :class:`EngineError` for jobs that a container does not support."""
    body: Json = {
        "name": MAIN_CONTAINER,
        "image": job.image,  # placement requires one
        "command": _build_command(job, placement),
        "env": list(_build_environment(job, placement, key, fields)),
    }
    if job.workdir:
        body["workingDir"] = job.workdir
    links = request.links
    if links.settings:  # variables of the job take precedence
        body["envFrom"] = [{"configMapRef": {"name": links.settings}}]
    if resources := _build_resources(placement, request):
        body["resources"] = resources
    capabilities = {"add": ["IPC_LOCK"]} if links.locked else {}
    if links.host_network:  # raw sockets on the host network could impersonate the host
        capabilities["drop"] = ["NET_RAW"]
    if capabilities:
        body["securityContext"] = {"capabilities": capabilities}
    mounts = [{"name": f"fs-{claim}", "mountPath": mount} for claim, mount in request.volumes]
    if links.settings and links.settings_file:
        file = links.settings_file
        mounts.append({"name": "nccl", "mountPath": f"/etc/{file}", "subPath": file})
    body["volumeMounts"] = [*mounts, {"name": "shm", "mountPath": _SHARED_MEMORY}]
    return body


def _build_resources(placement: Placement, request: KubernetesRequest) -> Json:
    limits = {request.resource: str(placement.accelerators_per_node)} if request.resource else {}
    limits |= {name: str(number) for name, number in request.links.resources}
    found: Json = {"limits": limits} if limits else {}
    if request.cpus and not request.resource:
        found["requests"] = {"cpu": str(request.cpus)}
    if request.links.channel:
        found["claims"] = [{"name": CHANNEL_CLAIM}]
    return found


def build_volumes(request: KubernetesRequest) -> list[Json]:
    """The volumes of the container: claims of the namespace, NCCL's settings, unlimited shared memory."""
    found: list[Json] = [
        {"name": f"fs-{claim}", "persistentVolumeClaim": {"claimName": claim}} for claim, _ in request.volumes
    ]
    if request.links.settings and request.links.settings_file:
        one = [{"key": request.links.settings_file, "path": request.links.settings_file}]
        found.append({"name": "nccl", "configMap": {"name": request.links.settings, "items": one}})
    return [*found, {"name": "shm", "emptyDir": {"medium": "Memory"}}]


def _build_command(job: JobSpec, placement: Placement) -> list[str]:
    start = _START_SCRIPT + (_SINGLE_TASK_SCRIPT if job.tasks_per_node == 1 else _MULTI_TASK_SCRIPT)
    return ["sh", "-c", escape_dollars(start), "sh", *map(escape_dollars, _build_program(job, placement))]


def _build_program(job: JobSpec, placement: Placement) -> tuple[str, ...]:
    if job.script is None:
        return job.command or ()
    if placement.nodes > 1 or job.tasks_per_node > 1:
        raise EngineError(
            f"job {job.name!r} has a script and more than one task: on Kubernetes nothing starts "
            "the other tasks; use command: [bash, -c, …], which runs in each task"
        )
    if len(job.script.encode()) > _MAX_SCRIPT_BYTES:
        raise EngineError(
            f"job {job.name!r} has a script of more than {_MAX_SCRIPT_BYTES} bytes: put it into the image"
        )
    first, _, _ = job.script.partition("\n")
    return (*(first[2:].split() if first.startswith("#!") else ("/bin/bash",)), "-c", job.script)


def _build_environment(job: JobSpec, placement: Placement, key: str, fields: PodFields) -> Iterator[Json]:
    """Variables common to all pods, then pod-specific ones: later ones may refer to earlier ones."""
    for name, value in sorted(build_job_environment(job, placement, key).items()):
        yield {"name": name, "value": escape_dollars(value)}
    for secret in job.secrets:
        yield {"name": secret.env, "valueFrom": {"secretKeyRef": {"name": SECRETS_NAME, "key": secret.name}}}
    yield _build_field_variable("SUPERCLOUD_OBJECT", f"metadata.labels['{OBJECT_LABEL}']")
    if job.array:
        yield _build_field_variable("SUPERCLOUD_ARRAY_INDEX", f"metadata.labels['{ARRAY_INDEX_LABEL}']")
    yield _build_field_variable("NODE_RANK", fields.rank)
    yield _build_field_variable("SUPERCLOUD_RESTART", fields.restart)
    if fields.starts:
        yield _build_field_variable("SUPERCLOUD_STARTS", fields.starts)
    tasks, port = job.tasks_per_node, str(compute_rendezvous_port(key))
    if job.checkpoint:  # the image does not include supercloud
        yield {"name": "SUPERCLOUD_COMMIT", "value": f"{_SHARED_MEMORY}/supercloud-checkpoint"}
        yield {"name": "SUPERCLOUD_COMMIT_TEXT", "value": escape_dollars(helper.read_script())}
    variables = {
        "MASTER_ADDR": fields.first_host,
        "JAX_COORDINATOR_ADDRESS": f"{fields.first_host}:{port}",
        "JAX_NUM_PROCESSES": str(placement.nodes * tasks),
        "LOCAL_WORLD_SIZE": str(tasks),
        "MASTER_PORT": port,
        "NNODES": str(placement.nodes),
        "PET_MASTER_ADDR": fields.first_host,
        "PET_MASTER_PORT": port,
        "PET_NNODES": str(placement.nodes),
        "PET_NODE_RANK": "$(NODE_RANK)",
        "PET_NPROC_PER_NODE": str(max(1, placement.accelerators_per_node // tasks)),
        "SUPERCLOUD_EPOCH_BEFORE": str(compute_previous_epoch(key)),
        "SUPERCLOUD_NODE_RANK": "$(NODE_RANK)",
        LOG_VARIABLE: "1",
        "WORLD_SIZE": str(placement.nodes * tasks),
    }
    own = set(job.env)  # variables for torchrun and JAX are defaults
    yield from (
        {"name": name, "value": value}
        for name, value in variables.items()
        if name not in own or not name.startswith(("PET_", "JAX_"))
    )


def _build_field_variable(name: str, path: str) -> Json:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
