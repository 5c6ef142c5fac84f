"""Why a job waits, in sentences: what Kueue and the kubelet say, with what next where it is known."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["describe_pod_group", "describe_pods", "describe_workload"]

Json = dict[str, Any]

_MESSAGE_PREFIX = "couldn't assign flavors to pod set workers: "
_OTHER_POOL_PATTERN = re.compile(r"flavor \S+ doesn't match node affinity")  # where it was not placed
_PARTIAL_FIT_PATTERN = re.compile(r'topology "[^"]*" allows to fit only (\d+) out of (\d+) (pod|slice)')
_NO_FIT_PATTERN = re.compile(r'topology "[^"]*" doesn\'t allow to fit any of (\d+) (pod|slice)')
_QUOTA_IN_USE_PATTERN = re.compile(r"insufficient unused quota for (\S+) in flavor (\S+), (\S+) more needed")
_QUOTA_MAXIMUM_PATTERN = re.compile(r"insufficient quota for (\S+) in flavor (\S+), .*> maximum capacity \((\S+)\)")
_NO_QUEUE_PATTERN = re.compile(r"LocalQueue (\S+) doesn't exist")
# reasons of a waiting container that do not go away by themselves, and what to do
_CONTAINER_REASONS = {
    "CreateContainerConfigError": "a secret or a setting it names is not in its namespace",
    "CreateContainerError": "its container cannot be made",
    "ErrImagePull": "its image cannot be pulled",
    "ImagePullBackOff": "its image cannot be pulled",
    "InvalidImageName": "its image has no valid name",
}


def describe_workload(workload: Json | None, label: str = "") -> str:
    """From the conditions of a Workload that is not admitted; ``label`` is the level of topology the job insists on."""
    if workload is None:
        return "Kueue has not looked at it yet"
    if workload.get("spec", {}).get("active") is False:
        return "its workload is deactivated; an administrator holds it"
    found = {item.get("type"): item for item in workload.get("status", {}).get("conditions") or ()}
    reserved = found.get("QuotaReserved", {})
    said = str(reserved.get("message", "")) if reserved.get("status") == "False" else ""
    evicted = found.get("Evicted", {})
    again = ""
    if evicted.get("reason") == "Preempted":
        again = "work of a higher priority, or whose quota it had borrowed, took its nodes"
    elif evicted:
        again = "it was put back"
    if said.startswith("Preempted to accommodate"):
        said = ""
    if reserved.get("status") == "True":
        said = "it has its quota and waits for what else its queue checks"
    why = _describe_message(said, label) if said else ""
    return "; ".join(part for part in (again, why) if part) or "it waits for its turn"


def _describe_message(message: str, label: str) -> str:
    message = ", ".join(
        part for part in message.removeprefix(_MESSAGE_PREFIX).split(", ") if not _OTHER_POOL_PATTERN.fullmatch(part)
    )
    if match := _PARTIAL_FIT_PATTERN.search(message):
        return _describe_shortage(match[1], match[2], match[3], label)
    if match := _NO_FIT_PATTERN.search(message):
        return _describe_shortage("0", match[1], match[2], label)
    if match := _QUOTA_MAXIMUM_PATTERN.search(message):
        return (
            f"its tenant can never have more than {match[3]} {match[1]} of pool {match[2]}; cancel it and ask for less"
        )
    if match := _QUOTA_IN_USE_PATTERN.search(message):
        return f"the quota of its tenant is in use: {match[3]} more {match[1]} of pool {match[2]} are needed"
    if match := _NO_QUEUE_PATTERN.search(message):
        return f"there is no queue {match[1].rpartition('/')[2]} in its namespace; set tenant to one of the cluster"
    if not message:  # quota there is, a place there is not
        return f"the nodes it needs are not free{f' within one {label}' if label else ''}"
    return f"Kueue says: {message}"


def _describe_shortage(free: str, requested: str, unit: str, label: str) -> str:
    what = "nodes" if unit == "pod" else "groups of nodes that belong together"
    return f"only {free} of the {requested} {what} it needs are free{f' within one {label}' if label else ''}"


def describe_pod_group(group: Json | None) -> str:
    """From the conditions of a PodGroup that Volcano has not started."""
    if group is None:
        return "Volcano has not looked at it yet"
    for found in group.get("status", {}).get("conditions") or ():
        if (found.get("type"), found["status"]) == ("Unschedulable", "True") and found.get("message"):
            return f"the nodes it needs are not free; Volcano says: {found['message']}"
    return "it waits for its turn"


def describe_pods(pods: list[Json]) -> str:
    """Why admitted pods do not run yet: the first that will not go away by itself."""
    for pod in pods:
        status = pod.get("status", {})
        for container in status.get("containerStatuses") or ():
            waiting = container.get("state", {}).get("waiting") or {}
            if sentence := _CONTAINER_REASONS.get(waiting.get("reason", "")):
                message = str(waiting.get("message", "")).strip()
                return f"{sentence}: {message}" if message else sentence
        for condition in status.get("conditions") or ():
            if condition.get("type") == "PodScheduled" and condition.get("reason") == "Unschedulable":
                return f"its pods find no node: {condition.get('message', '')}"
    return "its nodes are given, its pods are being started"
