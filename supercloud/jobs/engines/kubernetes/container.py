"""The container of a job's pods: its program, its variables, its file systems and secrets.

No text of a job is ever read by a shell that the job did not ask for, nor expanded by the kubelet: every ``$`` in it is
doubled, which is how Kubernetes writes one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ....errors import EngineError
from ....plan.build.kubernetes.names import OBJECT, SECRETS, TASK
from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.steps.pods import Pods
from ...runtime import checkpoint_helper as helper
from ...runtime.epochs import epoch_before
from ...runtime.remote_call import LOG
from ..environment import job_env, port_of

__all__ = ["CHANNEL_CLAIM", "MAIN", "Pod", "container", "verbatim", "volumes"]

Json = dict[str, Any]

MAIN = "main"
CHANNEL_CLAIM = "channel"
"""What a pod calls its claim of the channel to its scale-up domain."""
_SCRIPT_LIMIT = 120_000  # bytes: Linux gives one argument 128 KiB
# Reads what only the pod knows. It is the same for all jobs: the program comes in as "$@".
_START = """\
export SUPERCLOUD_EPOCH="$((SUPERCLOUD_EPOCH_BEFORE + SUPERCLOUD_RESTART + ${SUPERCLOUD_STARTS:-1}))"
if [ -n "${SUPERCLOUD_COMMIT-}" ]; then
    printf '%s' "$SUPERCLOUD_COMMIT_TEXT" >"$SUPERCLOUD_COMMIT" && chmod 755 "$SUPERCLOUD_COMMIT"
    unset SUPERCLOUD_COMMIT_TEXT
fi
"""
_SHM = "/dev/shm"
_ONE = """\
export RANK="$NODE_RANK" JAX_PROCESS_ID="$NODE_RANK" LOCAL_RANK=0
exec "$@"
"""
# Several tasks in one pod; when one fails the others are ended. A signal that comes to a child which the shell has just
# forked is lost with the trap that the child inherits: signals are sent a second after the last fork, and what is left
# after a failure is killed. A pod that is ended leaves its tasks the time that the kubelet gives it: none is killed.
_SEVERAL = """\
pids= n=0 failed=0 asked= told=
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
    if [ -n "$asked" ] && [ -z "$told" ]; then
        told=1
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
    if [ "$failed" -ne 0 ] && [ -n "$pids" ] && [ -z "$told" ]; then
        told=1
        kill $pids 2>/dev/null
    fi
done
exit "$failed"
"""


@dataclass(frozen=True)
class Pod:
    """Where a pod of one kind of object finds what it is."""

    rank: str
    """Field with its number."""
    restart: str
    """Field that says how often the job was started anew."""
    first: str
    """Host name of the first pod."""
    starts: str = ""
    """Field that says how often its queue has let it begin, where that is not in ``restart``; without a value: once."""


def verbatim(text: str) -> str:
    """A text that the kubelet leaves as it is."""
    return text.replace("$", "$$")


def container(job: JobSpec, at: Placement, pods: Pods, key: str, pod: Pod) -> Json:
    """The one container; raises :class:`EngineError` for what no container can do."""
    body: Json = {"name": MAIN, "image": _image(job), "command": _command(job, at),
                  "env": list(_env(job, at, key, pod))}  # fmt: skip
    if job.workdir:
        body["workingDir"] = job.workdir
    links = pods.links
    if links.settings:  # what the job says itself wins over them
        body["envFrom"] = [{"configMapRef": {"name": links.settings}}]
    if resources := _resources(at, pods):
        body["resources"] = resources
    capabilities = {"add": ["IPC_LOCK"]} if links.locked else {}
    if links.host_network:  # raw sockets on the host's network could speak for the host
        capabilities["drop"] = ["NET_RAW"]
    if capabilities:
        body["securityContext"] = {"capabilities": capabilities}
    mounts = [{"name": f"fs-{claim}", "mountPath": mount} for claim, mount in pods.volumes]
    if links.settings and links.settings_file:
        file = links.settings_file
        mounts.append({"name": "nccl", "mountPath": f"/etc/{file}", "subPath": file})
    body["volumeMounts"] = [*mounts, {"name": "shm", "mountPath": _SHM}]
    return body


def _resources(at: Placement, pods: Pods) -> Json:
    limits = {pods.resource: str(at.accelerators_per_node)} if pods.resource else {}
    limits |= {name: str(number) for name, number in pods.links.resources}
    found: Json = {"limits": limits} if limits else {}
    if pods.cpus and not pods.resource:
        found["requests"] = {"cpu": str(pods.cpus)}
    if pods.links.channel:
        found["claims"] = [{"name": CHANNEL_CLAIM}]
    return found


def volumes(pods: Pods) -> list[Json]:
    """What the container mounts: claims of the namespace, NCCL's settings, as much shared memory as there is."""
    found: list[Json] = [
        {"name": f"fs-{claim}", "persistentVolumeClaim": {"claimName": claim}} for claim, _ in pods.volumes
    ]
    if pods.links.settings and pods.links.settings_file:
        one = [{"key": pods.links.settings_file, "path": pods.links.settings_file}]
        found.append({"name": "nccl", "configMap": {"name": pods.links.settings, "items": one}})
    return [*found, {"name": "shm", "emptyDir": {"medium": "Memory"}}]


def _image(job: JobSpec) -> str:
    if not job.image:
        raise EngineError(f"job {job.name!r} has no image, and pods are containers: set image, such as "
                          "image: registry.example.com/team/train:1")  # fmt: skip
    if job.image.startswith(("/", "./")):
        raise EngineError(f"job {job.name!r}: {job.image} is a file, and Kubernetes pulls images from a registry: set "
                          "image to registry/name:tag")  # fmt: skip
    return job.image


def _command(job: JobSpec, at: Placement) -> list[str]:
    start = _START + (_ONE if job.tasks_per_node == 1 else _SEVERAL)
    return ["sh", "-c", verbatim(start), "sh", *map(verbatim, _program(job, at))]


def _program(job: JobSpec, at: Placement) -> tuple[str, ...]:
    if job.script is None:
        return job.command or ()
    if at.nodes > 1 or job.tasks_per_node > 1:
        raise EngineError(f"job {job.name!r} has a script and more than one task: Kubernetes has nothing that starts "
                          "the others; write command: [bash, -c, …], which runs in each")  # fmt: skip
    if len(job.script.encode()) > _SCRIPT_LIMIT:
        raise EngineError(f"job {job.name!r} has a script of more than {_SCRIPT_LIMIT} bytes: put it into the image")
    first, _, _ = job.script.partition("\n")
    return (*(first[2:].split() if first.startswith("#!") else ("/bin/bash",)), "-c", job.script)


def _env(job: JobSpec, at: Placement, key: str, pod: Pod) -> Iterator[Json]:
    """What is the same for all pods, then what a pod knows of itself: later ones may refer to earlier ones."""
    for name, value in sorted(job_env(job, at, key).items()):
        yield {"name": name, "value": verbatim(value)}
    for secret in job.secrets:
        yield {"name": secret.env, "valueFrom": {"secretKeyRef": {"name": SECRETS, "key": secret.name}}}
    yield _field("SUPERCLOUD_OBJECT", f"metadata.labels['{OBJECT}']")
    if job.array:
        yield _field("SUPERCLOUD_ARRAY_INDEX", f"metadata.labels['{TASK}']")
    yield _field("NODE_RANK", pod.rank)
    yield _field("SUPERCLOUD_RESTART", pod.restart)
    if pod.starts:
        yield _field("SUPERCLOUD_STARTS", pod.starts)
    tasks, port = job.tasks_per_node, str(port_of(key))
    if job.checkpoint:  # nothing of ours is in the image
        yield {"name": "SUPERCLOUD_COMMIT", "value": f"{_SHM}/supercloud-checkpoint"}
        yield {"name": "SUPERCLOUD_COMMIT_TEXT", "value": verbatim(helper.text())}
    said = {
        "MASTER_ADDR": pod.first,
        "JAX_COORDINATOR_ADDRESS": f"{pod.first}:{port}",
        "JAX_NUM_PROCESSES": str(at.nodes * tasks),
        "LOCAL_WORLD_SIZE": str(tasks),
        "MASTER_PORT": port,
        "NNODES": str(at.nodes),
        "PET_MASTER_ADDR": pod.first,
        "PET_MASTER_PORT": port,
        "PET_NNODES": str(at.nodes),
        "PET_NODE_RANK": "$(NODE_RANK)",
        "PET_NPROC_PER_NODE": str(max(1, at.accelerators_per_node // tasks)),
        "SUPERCLOUD_EPOCH_BEFORE": str(epoch_before(key)),
        "SUPERCLOUD_NODE_RANK": "$(NODE_RANK)",
        LOG: "1",
        "WORLD_SIZE": str(at.nodes * tasks),
    }
    own = set(job.env)  # what torchrun and JAX are told is a proposal
    yield from ({"name": name, "value": value} for name, value in said.items()
                if name not in own or not name.startswith(("PET_", "JAX_")))  # fmt: skip


def _field(name: str, path: str) -> Json:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
