"""The status of a job, from its JobSet, the Workload that queues it, its Job and its pods. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from ....plan.build.kubernetes.names import STARTS_ANNOTATION
from ...store.states import State
from ...store.status import Status
from .jobset import DISRUPTION_TARGET
from .reasons import describe_pods, describe_workload

__all__ = [
    "TERMINATION_EXIT_CODES",
    "find_condition",
    "has_failed",
    "is_later",
    "find_pod_failure",
    "needs_pods",
    "parse_time",
    "build_status",
]

Json = dict[str, Any]

TERMINATION_EXIT_CODES = (128 + 15, 128 + 9)
"""Exit codes after SIGTERM and SIGKILL."""
TIME_LIMIT_EXCEEDED = "it exceeded its time limit"
_COUNT_PATTERN = re.compile(r"[0-9]{1,9}")
_EXIT_CODE_PATTERN = re.compile(r"failed with exit code ([0-9]{1,3}) ")


def build_status(jobset: Json, workload: Json | None, jobs: Sequence[Json], pods: Sequence[Json]) -> Status:
    """The status of one object. Its Jobs count where it :func:`has_failed`, its pods where it :func:`needs_pods`."""
    status = jobset.get("status", {})
    attempt = int(status.get("restarts", 0)) + _count_starts(jobset, workload)
    resumed = find_condition(jobset, "Suspended", "False") or find_condition(jobset, "StartupPolicyCompleted")
    started = parse_time(resumed.get("lastTransitionTime")) if resumed else None
    if done := find_condition(jobset, "Completed"):
        ended = parse_time(done.get("lastTransitionTime"))
        return Status(State.COMPLETED, attempt, "", 0, started or ended, ended)
    if failed := find_condition(jobset, "Failed"):
        state, reason, code = _diagnose_failure(jobs, pods, str(failed.get("message", "")))
        return Status(state, attempt, reason, code, started, parse_time(failed.get("lastTransitionTime")))
    if gone := jobset["metadata"].get("deletionTimestamp"):
        return Status(State.CANCELLED, attempt, "its object was deleted", None, started, parse_time(gone))
    if jobset["spec"].get("suspend"):
        return Status(State.QUEUED, attempt, describe_workload(workload, _find_required_level(jobset)))
    if _is_running(status):
        return Status(State.RUNNING, attempt, "", None, started)
    return Status(State.QUEUED, attempt, describe_pods(list(pods)))


def find_condition(item: Json, condition_type: str, value: str = "True") -> Json | None:
    """A condition of an object that has this value."""
    for found in item.get("status", {}).get("conditions") or ():
        if found.get("type") == condition_type and found["status"] == value:
            return dict(found)
    return None


def has_failed(jobset: Json) -> bool:
    """Whether it failed; its Jobs then have the cause."""
    return find_condition(jobset, "Failed") is not None


def needs_pods(jobset: Json) -> bool:
    """Whether its pods have more information: how it failed, or why it does not run although it was admitted."""
    if has_failed(jobset):
        return True
    over = find_condition(jobset, "Completed") or jobset["metadata"].get("deletionTimestamp")
    return not over and not jobset["spec"].get("suspend") and not _is_running(jobset.get("status", {}))


def is_later(resource: Json, created: int) -> bool:
    """Whether an object was created after the last object of a job, and so belongs to another job with its name.

    ``created`` is the time of the job's last object, in seconds since 1970; 0: unknown.
    """
    return 0 < created < int(parse_time(resource["metadata"].get("creationTimestamp")) or 0)


def parse_time(text: str | None) -> float | None:
    """Seconds since 1970 of a time in Kubernetes' format."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() if text else None


def _is_running(status: Json) -> bool:
    return any(item.get("ready") or item.get("succeeded") for item in status.get("replicatedJobsStatus") or ())


def _count_starts(jobset: Json, workload: Json | None) -> int:
    """Number of its attempts: past admissions by the queue, and the current or next one.

    Counted by the API server; otherwise derived from the evictions that the queue reports.
    """
    counted = str(jobset["metadata"].get("annotations", {}).get(STARTS_ANNOTATION, ""))
    if _COUNT_PATTERN.fullmatch(counted):
        return max(1, int(counted) + bool(jobset["spec"].get("suspend")))
    stats = (workload or {}).get("status", {}).get("schedulingStats", {})
    return 1 + sum(int(item.get("count", 0)) for item in stats.get("evictions") or ())


def _find_required_level(jobset: Json) -> str:
    """The level of topology that must hold the job or its segments, by its name in the plan."""
    template = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    wishes: Mapping[str, str] = template.get("metadata", {}).get("annotations") or {}
    label = next((wishes[name] for name in wishes if name.endswith("-required-topology")), "")
    return label.rpartition("/")[2]


def _diagnose_failure(jobs: Sequence[Json], pods: Sequence[Json], jobset_message: str) -> tuple[State, str, int | None]:
    """State, reason and exit code of a failed job, from the failed Job, else from its pods."""
    for job in jobs:
        failed = find_condition(job, "Failed") or find_condition(job, "FailureTarget") or {}
        reason, message = str(failed.get("reason", "")), str(failed.get("message", ""))
        if reason == "DeadlineExceeded":
            return State.TIMEOUT, TIME_LIMIT_EXCEEDED, None
        if match := _EXIT_CODE_PATTERN.search(message):
            return State.FAILED, f"ended with exit code {match[1]}", int(match[1])
        if f"has condition {DISRUPTION_TARGET}" in message:
            return State.NODE_FAIL, "a node of the job was lost", None
        jobset_message = message or reason or jobset_message
    return find_pod_failure(pods) or (State.FAILED, jobset_message, None)


def find_pod_failure(pods: Sequence[Json]) -> tuple[State, str, int | None] | None:
    """State, reason and exit code of a job from the first of its pods that failed; None if no pod failed."""
    if any(pod.get("status", {}).get("reason") == "DeadlineExceeded" for pod in pods):
        return State.TIMEOUT, TIME_LIMIT_EXCEEDED, None
    if (found := _find_first_failure(pods)) is None:
        return None
    code, why = found
    text = "out of memory" if why == "OOMKilled" else f"ended with exit code {code}"
    return State.FAILED, text, code


def _find_first_failure(pods: Sequence[Json]) -> tuple[int, str] | None:
    """Exit code and reason of the container that failed first: the others were terminated because of it."""
    ends = [
        (str(end.get("finishedAt", "")), int(end["exitCode"]), str(end.get("reason", "")))
        for pod in pods
        for container in pod.get("status", {}).get("containerStatuses") or ()
        if (end := container.get("state", {}).get("terminated")) and end["exitCode"]
    ]
    by_itself = [end for end in ends if end[1] not in TERMINATION_EXIT_CODES] or ends
    return min(by_itself)[1:] if by_itself else None
