"""The shape of objects and lists of an API server, as far as they are read: https://kubernetes.io/docs/reference/."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ..responses import ANY, BOOLEAN, NAMES, OBJECT, TEXT, Kind, Needed, Shape, is_whole

__all__ = ["ANSWER", "CREATED"]

_LARGEST = 2**31 - 1
"""Of what objects count: exit codes, restarts, replicas. The types of their fields have 32 bits with a sign."""
_NUMBER = Kind("a whole number of 32 bits", lambda value: is_whole(value, -_LARGEST, _LARGEST))
_COUNT = Kind("a whole number of 32 bits", lambda value: _NUMBER.fits(value) or (
    isinstance(value, str) and value.isdecimal() and len(value) <= 10 and int(value) <= _LARGEST))  # fmt: skip


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() >= 0
    except (ValueError, OverflowError):
        return False


_TIME = Kind("a time since 1970", _is_time)
_META: dict[str, Shape] = {
    "name": TEXT, "uid": TEXT, "resourceVersion": TEXT, "labels": NAMES, "annotations": NAMES,
    "creationTimestamp": TEXT, "deletionTimestamp": TEXT, "continue": TEXT,
}  # fmt: skip
_SPEC: dict[str, Any] = {
    "nodeName": TEXT, "nodeSelector": NAMES, "unschedulable": BOOLEAN, "suspend": BOOLEAN, "active": BOOLEAN,
    "taints": [{"key": Needed(TEXT), "effect": Needed(TEXT)}],
    "containers": [{"resources": {"limits": OBJECT}}],
    "podSets": [{"template": Needed(OBJECT), "count": _NUMBER}],
    "tasks": [{"template": Needed(OBJECT), "replicas": _NUMBER}],
    "replicatedJobs": [{"template": Needed(OBJECT)}],
    "maxRetry": _COUNT,
}  # fmt: skip
_STATUS: dict[str, Any] = {
    # jobs of Volcano have conditions with a status only
    "conditions": [{"type": TEXT, "status": Needed(TEXT), "lastTransitionTime": TEXT}],
    "containerStatuses": [{"state": {"terminated": {"exitCode": Needed(_NUMBER)}}}],
    "replicatedJobsStatus": [{"ready": _NUMBER, "succeeded": _NUMBER, "active": _NUMBER}],
    "schedulingStats": {"evictions": [{"count": _NUMBER}]},
    "startTime": TEXT, "reason": TEXT, "restarts": _COUNT, "retryCount": _COUNT,
}  # fmt: skip
_ITEM: dict[str, Any] = {"metadata": _META, "spec": _SPEC, "status": _STATUS}
ANSWER: dict[str, Any] = {
    "metadata": _META, "spec": _SPEC, "items": [_ITEM],
    # of a refused or finished request it is a word
    "status": Kind("a text or an object", lambda value: isinstance(value, str | dict)),
    "details": ANY,
}  # fmt: skip
CREATED: Shape = {**ANSWER, "metadata": Needed({**_META, "name": Needed(TEXT), "creationTimestamp": Needed(_TIME)})}
"""An object that was created: what tells it from another, and when that was."""
