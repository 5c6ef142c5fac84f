"""The shape of objects and lists of an API server, as far as they are read: https://kubernetes.io/docs/reference/."""

from __future__ import annotations

from typing import Any

from ...answers import ANY, BOOLEAN, NAMES, NUMBER, OBJECT, TEXT, Kind, Needed, Shape

__all__ = ["ANSWER"]

_COUNT = Kind("a number", lambda value: NUMBER.fits(value) or (isinstance(value, str) and value.isdecimal()))
_META: dict[str, Shape] = {
    "name": TEXT, "uid": TEXT, "resourceVersion": TEXT, "labels": NAMES, "annotations": NAMES,
    "creationTimestamp": TEXT, "deletionTimestamp": TEXT, "continue": TEXT,
}  # fmt: skip
_SPEC: dict[str, Any] = {
    "nodeName": TEXT, "nodeSelector": NAMES, "unschedulable": BOOLEAN, "suspend": BOOLEAN, "active": BOOLEAN,
    "taints": [{"key": Needed(TEXT), "effect": Needed(TEXT)}],
    "containers": [{"resources": {"limits": OBJECT}}],
    "podSets": [{"template": Needed(OBJECT), "count": NUMBER}],
    "tasks": [{"template": Needed(OBJECT), "replicas": NUMBER}],
    "replicatedJobs": [{"template": Needed(OBJECT)}],
}  # fmt: skip
_STATUS: dict[str, Any] = {
    # jobs of Volcano have conditions with a status only
    "conditions": [{"type": TEXT, "status": Needed(TEXT), "lastTransitionTime": TEXT}],
    "containerStatuses": [{"state": {"terminated": {"exitCode": Needed(NUMBER)}}}],
    "replicatedJobsStatus": [{"ready": NUMBER, "succeeded": NUMBER, "active": NUMBER}],
    "schedulingStats": {"evictions": [{"count": NUMBER}]},
    "startTime": TEXT, "reason": TEXT, "restarts": _COUNT,
}  # fmt: skip
_ITEM: dict[str, Any] = {"metadata": _META, "spec": _SPEC, "status": _STATUS}
ANSWER: Shape = {
    "metadata": _META, "spec": _SPEC, "items": [_ITEM],
    # of a refused or finished request it is a word
    "status": Kind("a text or an object", lambda value: isinstance(value, str | dict)),
    "details": ANY,
}  # fmt: skip
