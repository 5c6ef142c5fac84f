"""A job as a Volcano job: the same pods, with Volcano's fields for gangs, topology and restarts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ....plan.build.kubernetes.names import (
    KEY_ANNOTATION,
    NAME_ANNOTATION,
    OBJECT_LABEL,
    TIME_LIMIT_ANNOTATION,
    format_namespace_name,
    format_queue_name,
    format_scheduling_class_name,
)
from ....spec import JobSpec
from ...placement.place import Placement
from ...placement.requests.kubernetes import KubernetesRequest
from ...store.states import State
from ...store.status import Status
from ..retries import list_retried_exit_codes
from .api import ApiClient
from .container import PodFields, build_container
from .jobset import TTL_AFTER_FINISHED, build_labels, build_pod_spec
from .names import ROLE, build_object_name
from .reasons import describe_pod_group
from .status import TERMINATION_EXIT_CODES, find_pod_failure, is_later, parse_time

__all__ = ["API_VERSION", "VolcanoJobKind", "build_vcjob"]

Json = dict[str, Any]

API_VERSION = "batch.volcano.sh/v1alpha1"
# Its plugin "svc" names pods, "env" numbers them; the retry count is on every pod.
_POD_FIELDS = PodFields(
    "metadata.annotations['volcano.sh/task-index']",
    "metadata.annotations['volcano.sh/job-retry-count']",
    f"$(SUPERCLOUD_OBJECT)-{ROLE}-0.$(SUPERCLOUD_OBJECT)",
)
_EVICTION_EXIT_CODE = 128 + 15  # an evicted pod ends by SIGTERM, and Volcano sees that before the deletion
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
_SCHEDULING_API_VERSION = "scheduling.volcano.sh/v1beta1"


def build_vcjob(job: JobSpec, placement: Placement, request: KubernetesRequest, key: str) -> Json:
    """The object; for an array that of every task, except its name and index."""
    name = build_object_name(job.name, key)
    body = build_container(job, placement, request, key, _POD_FIELDS)
    limit = {"activeDeadlineSeconds": max(1, math.ceil(job.time_limit.to("s")))} if job.time_limit else {}
    notes = {NAME_ANNOTATION: job.name} | (
        {TIME_LIMIT_ANNOTATION: str(limit["activeDeadlineSeconds"])} if limit else {}
    )
    groups = {}
    if (
        1 < placement.locality.segment < placement.nodes
        and request.segment_level
        and placement.nodes % placement.locality.segment == 0
    ):
        parts = placement.nodes // placement.locality.segment
        inner = {"mode": "hard", "highestTierAllowed": request.segment_tier}
        groups = {
            "partitionPolicy": {
                "totalPartitions": parts,
                "partitionSize": placement.locality.segment,
                "minPartitions": parts,
                "networkTopology": inner,
            }
        }
    return {
        "apiVersion": API_VERSION,
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": format_namespace_name(job.tenant),
            "labels": build_labels(name),
            "annotations": {KEY_ANNOTATION: key, NAME_ANNOTATION: job.name},
        },
        "spec": {
            "schedulerName": "volcano",
            "queue": format_queue_name(job.tenant),
            "priorityClassName": format_scheduling_class_name(job.priority),
            "minAvailable": placement.nodes,
            "maxRetry": job.retries + 1,  # the number of attempts, though Volcano calls them retries
            "ttlSecondsAfterFinished": TTL_AFTER_FINISHED,
            "plugins": {"env": [], "svc": ["--publish-not-ready-addresses=true"]},
            "policies": list(_build_policies(job)),
            **_build_network_topology(job, placement, request, bool(groups)),
            "tasks": [
                {
                    "name": ROLE,
                    "replicas": placement.nodes,
                    "minAvailable": placement.nodes,
                    **groups,
                    "template": {
                        "metadata": {
                            "labels": build_labels(name) | {OBJECT_LABEL: name},
                            "annotations": notes | dict(request.links.annotations),
                        },
                        "spec": build_pod_spec(placement, request, body) | limit,
                    },
                }
            ],
        },
    }


def _build_network_topology(job: JobSpec, placement: Placement, request: KubernetesRequest, has_groups: bool) -> Json:
    """The topology level; by number, as a name is not resolved in time if groups of a job have one.

    A job that requires a level never preempts in Volcano (its issue 4374), so a job of high priority does not request a
    preferred level: Volcano's score for full HyperNodes keeps it together as well as possible.
    """
    if placement.locality.segment == placement.nodes > 1 and request.segment_tier:
        return {"networkTopology": {"mode": "hard", "highestTierAllowed": request.segment_tier}}
    if (
        placement.nodes == 1
        or not request.tier
        or (job.priority == "high" and not placement.locality.required and not has_groups)
    ):
        return {}
    mode = "hard" if placement.locality.required else "soft"
    return {"networkTopology": {"mode": mode, "highestTierAllowed": request.tier}}


def _build_policies(job: JobSpec) -> Iterator[Json]:
    """The rules that restart a job as a whole, with a higher count: after pods were evicted or terminated, and for
    listed exit codes. Other failures end the job.

    A deleted pod is never recreated alone, next to the rest of its gang and under the same epoch: without retries the
    deletion ends the job, as Volcano counts all restarts alike.
    """
    yield {"event": "PodEvicted", "action": "RestartJob"}
    codes = list_retried_exit_codes(job) if job.retries else ()
    yield from ({"exitCode": code, "action": "RestartJob"} for code in sorted({_EVICTION_EXIT_CODE, *codes}))
    yield {"event": "PodFailed", "action": "TerminateJob"}
    yield {"event": "TaskCompleted", "action": "CompleteJob"}


class VolcanoJobKind:
    """Jobs as Volcano jobs."""

    queue = "volcano"
    api_version = API_VERSION

    def build_path(self, namespace: str) -> str:
        """The API path."""
        return f"/apis/{API_VERSION}/namespaces/{namespace}/jobs"

    def build_object(self, job: JobSpec, placement: Placement, request: KubernetesRequest, key: str) -> Json:
        """The Volcano job of a job."""
        return build_vcjob(job, placement, request, key)

    def is_waiting(self, resource: Json) -> bool:
        """Whether none of its pods was started."""
        return resource.get("status", {}).get("state", {}).get("phase", "Pending") in ("Pending", "Inqueue")

    def list_statuses(
        self, api: ApiClient, namespace: str, selector: str, created: Mapping[str, int]
    ) -> dict[str, Status]:
        """Their statuses, by name."""
        listed = api.iter_items(self.build_path(namespace), labelSelector=selector)
        found = [item for item in listed if not is_later(item, created.get(item["metadata"]["name"], 0))]
        groups: Iterable[Json] = ()
        pods: Iterable[Json] = ()
        if any(_read_phase(item) in _WAITING for item in found):
            groups = api.iter_items(
                f"/apis/{_SCHEDULING_API_VERSION}/namespaces/{namespace}/podgroups", labelSelector=selector
            )
        if any(_read_phase(item) in _BADLY for item in found):
            pods = api.iter_items(f"/api/v1/namespaces/{namespace}/pods", labelSelector=selector)
        group_of = {owner["uid"]: item for item in groups for owner in item["metadata"].get("ownerReferences") or ()}
        pods_of: dict[str, list[Json]] = {}
        for pod in pods:
            pods_of.setdefault(pod["metadata"]["labels"].get(OBJECT_LABEL, ""), []).append(pod)
        return {
            name: _build_status(item, group_of.get(item["metadata"].get("uid", "")), pods_of.get(name, []))
            for item in found
            if (name := item["metadata"]["name"])
        }


def _read_phase(item: Json) -> str:
    return str(item.get("status", {}).get("state", {}).get("phase", "Pending"))


def _build_status(item: Json, group: Json | None, pods: list[Json]) -> Status:
    """From its Volcano status; its PodGroup has the reason for waiting, its pods that of a failure."""
    status, phase = item.get("status", {}), _read_phase(item)
    attempt = min(1 + int(status.get("retryCount", 0)), int(item["spec"].get("maxRetry", 1)))
    if gone := item["metadata"].get("deletionTimestamp"):
        return Status(State.CANCELLED, attempt, "its object was deleted", None, None, parse_time(gone))
    state = _STATES.get(phase, State.UNKNOWN)
    at = parse_time(status.get("state", {}).get("lastTransitionTime"))
    if state is State.RUNNING:
        return Status(state, attempt, "", None, at)
    if state is State.QUEUED:
        return Status(state, attempt, describe_pod_group(group) if phase in _WAITING else "it is restarting")
    if state is State.COMPLETED:
        return Status(state, attempt, "", 0, None, at)
    if phase in _BADLY:
        ended = find_pod_failure(pods)
        if ended is None or ended[2] in TERMINATION_EXIT_CODES:
            ended = (
                State.NODE_FAIL,
                "its pods were evicted: a node was lost, or it was preempted by a job of higher priority",
                None,
            )
        return Status(ended[0], attempt, ended[1], ended[2], None, at)
    reason = str(status.get("state", {}).get("message") or status.get("state", {}).get("reason") or "")
    return Status(state, attempt, reason, None, None, at if state.is_final else None)
