"""The shape of objects and lists of an API server, limited to the fields that are read:
https://kubernetes.io/docs/reference/.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ....primitives.responses import ANY, BOOLEAN, TEXT, TEXT_MAP, Required, Shape, ValueType, is_whole
from ....primitives.responses import OBJECT as ANY_OBJECT

__all__ = ["RESPONSE", "LIST", "OBJECT"]

_MAX_INT32 = 2**31 - 1
"""For counts in objects: exit codes, restarts, replicas. The types of these fields are signed 32-bit integers."""
_NUMBER = ValueType("a whole number of 32 bits", lambda value: is_whole(value, -_MAX_INT32, _MAX_INT32))
_COUNT = ValueType(
    "a whole number of 32 bits",
    lambda value: (
        _NUMBER.matches(value)
        or (isinstance(value, str) and value.isdecimal() and len(value) <= 10 and int(value) <= _MAX_INT32)
    ),
)


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() >= 0
    except (ValueError, OverflowError):
        return False


_TIME = ValueType("a time since 1970", _is_time)
_METADATA: dict[str, Shape] = {
    "name": TEXT,
    "uid": TEXT,
    "resourceVersion": TEXT,
    "labels": TEXT_MAP,
    "annotations": TEXT_MAP,
    "creationTimestamp": TEXT,
    "deletionTimestamp": TEXT,
    "continue": TEXT,
}
_SPEC: dict[str, Any] = {
    "nodeName": TEXT,
    "nodeSelector": TEXT_MAP,
    "unschedulable": BOOLEAN,
    "suspend": BOOLEAN,
    "active": BOOLEAN,
    "taints": [{"key": Required(TEXT), "effect": Required(TEXT)}],
    "containers": [{"resources": {"limits": ANY_OBJECT}}],
    "podSets": [{"template": Required(ANY_OBJECT), "count": _NUMBER}],
    "tasks": [{"template": Required(ANY_OBJECT), "replicas": _NUMBER}],
    "replicatedJobs": [{"template": Required(ANY_OBJECT)}],
    "maxRetry": _COUNT,
}
_STATUS: dict[str, Any] = {
    # jobs of Volcano have conditions with a status only
    "conditions": [{"type": TEXT, "status": Required(TEXT), "lastTransitionTime": TEXT}],
    "containerStatuses": [{"state": {"terminated": {"exitCode": Required(_NUMBER)}}}],
    "replicatedJobsStatus": [{"ready": _NUMBER, "succeeded": _NUMBER, "active": _NUMBER}],
    "schedulingStats": {"evictions": [{"count": _NUMBER}]},
    "startTime": TEXT,
    "reason": TEXT,
    "restarts": _COUNT,
    "retryCount": _COUNT,
}
_ITEM: dict[str, Any] = {"metadata": _METADATA, "spec": _SPEC, "status": _STATUS}
RESPONSE: dict[str, Any] = {
    "metadata": _METADATA,
    "spec": _SPEC,
    "items": [_ITEM],
    # of a refused or finished request it is a string
    "status": ValueType("a string or an object", lambda value: isinstance(value, str | dict)),
    "details": ANY,
}
LIST: Shape = {"kind": Required(TEXT), "metadata": _METADATA, "items": Required([_ITEM])}
"""A list of objects. API servers send the items also if there are none: GetList of
https://github.com/kubernetes/apiserver/blob/master/pkg/storage/etcd3/store.go never returns null.
"""
OBJECT: Shape = {
    **RESPONSE,
    "metadata": Required({**_METADATA, "name": Required(TEXT), "creationTimestamp": Required(_TIME)}),
}
"""An object: its identity and its creation time."""
