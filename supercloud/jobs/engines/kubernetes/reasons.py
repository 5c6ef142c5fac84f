"""Why a job waits: messages of Kueue and the kubelet as sentences, with the fix if known."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["describe_pod_group", "describe_pods", "describe_workload"]

Json = dict[str, Any]

_MESSAGE_PREFIX = "couldn't assign flavors to pod set workers: "
_OTHER_POOL_PATTERN = re.compile(r"flavor \S+ doesn't match node affinity")  # a pool that the job was not placed in
_PARTIAL_FIT_PATTERN = re.compile(r'topology "[^"]*" allows to fit only (\d+) out of (\d+) (pod|slice)')
_NO_FIT_PATTERN = re.compile(r'topology "[^"]*" doesn\'t allow to fit any of (\d+) (pod|slice)')
_QUOTA_IN_USE_PATTERN = re.compile(r"insufficient unused quota for (\S+) in flavor (\S+), (\S+) more needed")
_QUOTA_MAXIMUM_PATTERN = re.compile(r"insufficient quota for (\S+) in flavor (\S+), .*> maximum capacity \((\S+)\)")
_NO_QUEUE_PATTERN = re.compile(r"LocalQueue (\S+) doesn't exist")
# reasons of a waiting container that are not transient
_CONTAINER_REASONS = {
    "CreateContainerConfigError": "a secret or ConfigMap it refers to is not in its namespace",
    "CreateContainerError": "its container cannot be created",
    "ErrImagePull": "its image cannot be pulled",
    "ImagePullBackOff": "its image cannot be pulled",
    "InvalidImageName": "its image name is invalid",
}


def describe_workload(workload: Json | None, label: str = "") -> str:
    """From the conditions of a Workload that is not admitted; ``label`` is the topology level that the job requires."""
    if workload is None:
        return "not yet processed by Kueue"
    if workload.get("spec", {}).get("active") is False:
        return "its workload was deactivated by an administrator"
    found = {item.get("type"): item for item in workload.get("status", {}).get("conditions") or ()}
    reserved = found.get("QuotaReserved", {})
    pending = str(reserved.get("message", "")) if reserved.get("status") == "False" else ""
    evicted = found.get("Evicted", {})
    requeued = ""
    if evicted.get("reason") == "Preempted":
        requeued = "preempted by a job of higher priority, or by one whose quota it had borrowed"
    elif evicted:
        requeued = "it was requeued"
    if pending.startswith("Preempted to accommodate"):
        pending = ""
    if reserved.get("status") == "True":
        pending = "its quota is reserved, and it waits for admission checks"
    why = _describe_message(pending, label) if pending else ""
    return "; ".join(part for part in (requeued, why) if part) or "it waits in the queue"


def _describe_message(message: str, label: str) -> str:
    message = ", ".join(
        part for part in message.removeprefix(_MESSAGE_PREFIX).split(", ") if not _OTHER_POOL_PATTERN.fullmatch(part)
    )
    if match := _PARTIAL_FIT_PATTERN.search(message):
        return _describe_shortage(match[1], match[2], match[3], label)
    if match := _NO_FIT_PATTERN.search(message):
        return _describe_shortage("0", match[1], match[2], label)
    if match := _QUOTA_MAXIMUM_PATTERN.search(message):
        return f"the quota of its tenant is {match[3]} {match[1]} of pool {match[2]}; cancel it and request less"
    if match := _QUOTA_IN_USE_PATTERN.search(message):
        return f"the quota of its tenant is in use: {match[3]} more {match[1]} of pool {match[2]} are needed"
    if match := _NO_QUEUE_PATTERN.search(message):
        return f"its namespace has no queue {match[1].rpartition('/')[2]}; set tenant to a tenant of the cluster"
    if not message:  # quota is available, nodes are not
        return f"the nodes it needs are not free{f' within one {label}' if label else ''}"
    return f"Kueue reports: {message}"


def _describe_shortage(free: str, requested: str, unit: str, label: str) -> str:
    what = "nodes" if unit == "pod" else "groups of nodes"
    return f"only {free} of the {requested} {what} it needs are free{f' within one {label}' if label else ''}"


def describe_pod_group(group: Json | None) -> str:
    """From the conditions of a PodGroup that Volcano has not started."""
    if group is None:
        return "not yet processed by Volcano"
    for found in group.get("status", {}).get("conditions") or ():
        if (found.get("type"), found["status"]) == ("Unschedulable", "True") and found.get("message"):
            return f"the nodes it needs are not free; Volcano reports: {found['message']}"
    return "it waits in the queue"


def describe_pods(pods: list[Json]) -> str:
    """Why admitted pods do not run yet: the first reason that is not transient."""
    for pod in pods:
        status = pod.get("status", {})
        for container in status.get("containerStatuses") or ():
            waiting = container.get("state", {}).get("waiting") or {}
            if sentence := _CONTAINER_REASONS.get(waiting.get("reason", "")):
                message = str(waiting.get("message", "")).strip()
                return f"{sentence}: {message}" if message else sentence
        for condition in status.get("conditions") or ():
            if condition.get("type") == "PodScheduled" and condition.get("reason") == "Unschedulable":
                return f"its pods cannot be scheduled: {condition.get('message', '')}"
    return "its nodes are allocated, its pods are starting"
