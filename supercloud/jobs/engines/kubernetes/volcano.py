"""A job as a Volcano job: the same pods, with Volcano's words for gang, topology and restarts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ....plan.kubernetes_names import KEY, NAME, OBJECT, TIME_LIMIT, namespace_of, priority_class_of, queue_of
from ....spec import JobSpec
from ...placement import Placement
from ...pods import Pods
from ...retries import retried
from ...states import State
from ...submission import Status
from .api import Api
from .container import Pod, container
from .jobset import KEPT, labels, pod_spec
from .names import ROLE, object_name
from .status import seconds

__all__ = ["API", "VolcanoJobs", "vcjob"]

Json = dict[str, Any]

API = "batch.volcano.sh/v1alpha1"
# Its plugin "svc" names pods, "env" numbers them; the retry count stands on every pod.
_POD = Pod("metadata.annotations['volcano.sh/task-index']", "metadata.annotations['volcano.sh/job-retry-count']",
           f"$(SUPERCLOUD_OBJECT)-{ROLE}-0.$(SUPERCLOUD_OBJECT)")  # fmt: skip
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


def vcjob(job: JobSpec, at: Placement, pods: Pods, key: str) -> Json:
    """The object; of an array that of every task, but for its name and number."""
    name = object_name(job.name, key)
    body = container(job, at, pods, key, _POD)
    limit = {"activeDeadlineSeconds": max(1, math.ceil(job.time_limit.to("s")))} if job.time_limit else {}
    notes = {NAME: job.name} | ({TIME_LIMIT: str(limit["activeDeadlineSeconds"])} if limit else {})
    mode = "hard" if at.near.required else "soft"
    near = {"networkTopology": {"mode": mode, "highestTierName": pods.tier}} if at.nodes > 1 and pods.level else {}
    groups = {}
    if 1 < at.near.segment < at.nodes and pods.segment_level and at.nodes % at.near.segment == 0:
        groups = {"partitionPolicy": {"totalPartitions": at.nodes // at.near.segment, "partitionSize": at.near.segment,
                                      "networkTopology": {"mode": "hard", "highestTierName": "scale-up"}}}  # fmt: skip
    return {
        "apiVersion": API,
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace_of(job.tenant), "labels": labels(name),
                     "annotations": {KEY: key, NAME: job.name}},
        "spec": {
            "schedulerName": "volcano",
            "queue": queue_of(job.tenant),
            "priorityClassName": priority_class_of(job.priority),
            "minAvailable": at.nodes,
            "maxRetry": job.retries + 1,  # the starts it has, though Volcano calls them retries
            "ttlSecondsAfterFinished": KEPT,
            "plugins": {"env": [], "svc": ["--publish-not-ready-addresses=true"]},
            "policies": list(_policies(job)),
            **near,
            "tasks": [{
                "name": ROLE,
                "replicas": at.nodes,
                "minAvailable": at.nodes,
                **groups,
                "template": {"metadata": {"labels": labels(name) | {OBJECT: name}, "annotations": notes},
                             "spec": pod_spec(at, pods, body) | limit},
            }],
        },
    }  # fmt: skip


def _policies(job: JobSpec) -> Iterator[Json]:
    """What is tried again, as a whole and with a higher count; whatever else fails ends the job.

    A pod that is taken away is never made anew by itself, beside the rest of its gang and under the same epoch: without
    retries it ends the job.
    """
    yield {"event": "PodEvicted", "action": "RestartJob"}
    if job.retries:
        yield from ({"exitCode": code, "action": "RestartJob"} for code in retried(job))
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
        found = api.pages(self.path(namespace), labelSelector=selector)
        return {item["metadata"]["name"]: _status(item) for item in found}


def _status(item: Json) -> Status:
    status = item.get("status", {})
    now = status.get("state", {})
    attempt = 1 + int(status.get("retryCount", 0))
    if gone := item["metadata"].get("deletionTimestamp"):
        return Status(State.CANCELLED, attempt, "it was deleted", None, None, seconds(gone))
    state = _STATES.get(now.get("phase", "Pending"), State.UNKNOWN)
    at = seconds(now.get("lastTransitionTime"))
    code = 0 if state is State.COMPLETED else None
    if state is State.RUNNING:
        return Status(state, attempt, "", None, at)
    reason = "" if state is State.COMPLETED else str(now.get("message") or now.get("reason") or "")
    return Status(state, attempt, reason, code, None, at if state.is_final else None)
