"""A job as a Volcano job: the same pods, with Volcano's words for gang, topology and restarts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from ....plan.build.kubernetes.names import KEY, NAME, OBJECT, TIME_LIMIT, namespace_of, queue_of, scheduling_class_of
from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.steps.pods import Pods
from ...store.states import State
from ..retries import retried
from ..submission import Status
from .api import Api
from .container import Pod, container
from .jobset import KEPT, labels, pod_spec
from .names import ROLE, object_name
from .reasons import group_reason
from .status import SIGNALLED, failure, seconds

__all__ = ["API", "VolcanoJobs", "vcjob"]

Json = dict[str, Any]

API = "batch.volcano.sh/v1alpha1"
# Its plugin "svc" names pods, "env" numbers them; the retry count stands on every pod.
_POD = Pod("metadata.annotations['volcano.sh/task-index']", "metadata.annotations['volcano.sh/job-retry-count']",
           f"$(SUPERCLOUD_OBJECT)-{ROLE}-0.$(SUPERCLOUD_OBJECT)")  # fmt: skip
_EVICTED = 128 + 15  # a pod that is evicted ends by SIGTERM, and Volcano sees that before it sees that it is gone
_STATES = {
    "Pending": State.QUEUED,
    "Inqueue": State.QUEUED,
    "Restarting": State.QUEUED,
    "Running": State.RUNNING,
    "Completing": State.RUNNING,
    "Aborting": State.CANCELLED,
    "Aborted": State.CANCELLED,
    "Terminating": State.FAILED,
    "Terminated": State.FAILED,
    "Completed": State.COMPLETED,
    "Failed": State.FAILED,
}


_WAITING, _BADLY = ("Pending", "Inqueue"), ("Terminating", "Terminated", "Failed")
_GROUPS = "scheduling.volcano.sh/v1beta1"


def vcjob(job: JobSpec, at: Placement, pods: Pods, key: str) -> Json:
    """The object; of an array that of every task, but for its name and number."""
    name = object_name(job.name, key)
    body = container(job, at, pods, key, _POD)
    limit = {"activeDeadlineSeconds": max(1, math.ceil(job.time_limit.to("s")))} if job.time_limit else {}
    notes = {NAME: job.name} | ({TIME_LIMIT: str(limit["activeDeadlineSeconds"])} if limit else {})
    groups = {}
    if 1 < at.near.segment < at.nodes and pods.segment_level and at.nodes % at.near.segment == 0:
        parts = at.nodes // at.near.segment
        inner = {"mode": "hard", "highestTierAllowed": pods.segment_tier}
        groups = {"partitionPolicy": {"totalPartitions": parts, "partitionSize": at.near.segment,
                                      "minPartitions": parts, "networkTopology": inner}}  # fmt: skip
    return {
        "apiVersion": API,
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace_of(job.tenant), "labels": labels(name),
                     "annotations": {KEY: key, NAME: job.name}},
        "spec": {
            "schedulerName": "volcano",
            "queue": queue_of(job.tenant),
            "priorityClassName": scheduling_class_of(job.priority),
            "minAvailable": at.nodes,
            "maxRetry": job.retries + 1,  # the starts it has, though Volcano calls them retries
            "ttlSecondsAfterFinished": KEPT,
            "plugins": {"env": [], "svc": ["--publish-not-ready-addresses=true"]},
            "policies": list(_policies(job)),
            **_near(job, at, pods, bool(groups)),
            "tasks": [{
                "name": ROLE,
                "replicas": at.nodes,
                "minAvailable": at.nodes,
                **groups,
                "template": {"metadata": {"labels": labels(name) | {OBJECT: name},
                                          "annotations": notes | dict(pods.links.annotations)},
                             "spec": pod_spec(at, pods, body) | limit},
            }],
        },
    }  # fmt: skip


def _near(job: JobSpec, at: Placement, pods: Pods, grouped: bool) -> Json:
    """The level to share; by its number, as a name is not looked up in time where groups of a job have one.

    A job that says where it must lie takes nobody's place in Volcano (issue 4374 there), so one of high priority does
    not say where it would rather lie: Volcano's score for full HyperNodes keeps it together as well as it can.
    """
    if at.near.segment == at.nodes > 1 and pods.segment_tier:
        return {"networkTopology": {"mode": "hard", "highestTierAllowed": pods.segment_tier}}
    if at.nodes == 1 or not pods.tier or (job.priority == "high" and not at.near.required and not grouped):
        return {}
    mode = "hard" if at.near.required else "soft"
    return {"networkTopology": {"mode": mode, "highestTierAllowed": pods.tier}}


def _policies(job: JobSpec) -> Iterator[Json]:
    """What is started again as a whole, with a higher count: work whose pods were evicted or told to end, and exit
    codes that say so. Whatever else fails ends the job.

    A pod that is taken away is never made anew by itself, beside the rest of its gang and under the same epoch: without
    retries it ends the job, as Volcano counts all starts alike.
    """
    yield {"event": "PodEvicted", "action": "RestartJob"}
    codes = retried(job) if job.retries else ()
    yield from ({"exitCode": code, "action": "RestartJob"} for code in sorted({_EVICTED, *codes}))
    yield {"event": "PodFailed", "action": "TerminateJob"}
    yield {"event": "TaskCompleted", "action": "CompleteJob"}


class VolcanoJobs:
    """Jobs as Volcano jobs."""

    queue = "volcano"
    api = API

    def path(self, namespace: str) -> str:
        """Where they are."""
        return f"/apis/{API}/namespaces/{namespace}/jobs"

    def make(self, job: JobSpec, at: Placement, pods: Pods, key: str) -> Json:
        """The Volcano job of a job."""
        return vcjob(job, at, pods, key)

    def waits(self, there: Json) -> bool:
        """Whether none of it was started."""
        return there.get("status", {}).get("state", {}).get("phase", "Pending") in ("Pending", "Inqueue")

    def statuses(self, api: Api, namespace: str, selector: str) -> dict[str, Status]:
        """How they are, by name."""
        found = list(api.pages(self.path(namespace), labelSelector=selector))
        groups: Iterable[Json] = ()
        pods: Iterable[Json] = ()
        if any(_phase(item) in _WAITING for item in found):
            groups = api.pages(f"/apis/{_GROUPS}/namespaces/{namespace}/podgroups", labelSelector=selector)
        if any(_phase(item) in _BADLY for item in found):
            pods = api.pages(f"/api/v1/namespaces/{namespace}/pods", labelSelector=selector)
        group_of = {owner["uid"]: item for item in groups for owner in item["metadata"].get("ownerReferences") or ()}
        pods_of: dict[str, list[Json]] = {}
        for pod in pods:
            pods_of.setdefault(pod["metadata"]["labels"].get(OBJECT, ""), []).append(pod)
        return {
            name: _status(item, group_of.get(item["metadata"].get("uid", "")), pods_of.get(name, []))
            for item in found
            if (name := item["metadata"]["name"])
        }


def _phase(item: Json) -> str:
    return str(item.get("status", {}).get("state", {}).get("phase", "Pending"))


def _status(item: Json, group: Json | None, pods: list[Json]) -> Status:
    """By what Volcano says of it; its PodGroup says why it waits, its pods how it failed."""
    status, phase = item.get("status", {}), _phase(item)
    attempt = min(1 + int(status.get("retryCount", 0)), int(item["spec"].get("maxRetry", 1)))
    if gone := item["metadata"].get("deletionTimestamp"):
        return Status(State.CANCELLED, attempt, "it was deleted", None, None, seconds(gone))
    state = _STATES.get(phase, State.UNKNOWN)
    at = seconds(status.get("state", {}).get("lastTransitionTime"))
    if state is State.RUNNING:
        return Status(state, attempt, "", None, at)
    if state is State.QUEUED:
        return Status(state, attempt, group_reason(group) if phase in _WAITING else "it is started again")
    if state is State.COMPLETED:
        return Status(state, attempt, "", 0, None, at)
    if phase in _BADLY:
        ended = failure(pods)
        if ended is None or ended[2] in SIGNALLED:
            ended = State.NODE_FAIL, "its nodes were taken: one was lost, or work of a higher priority needs them", None
        return Status(ended[0], attempt, ended[1], ended[2], None, at)
    said = str(status.get("state", {}).get("message") or status.get("state", {}).get("reason") or "")
    return Status(state, attempt, said, None, None, at if state.is_final else None)
