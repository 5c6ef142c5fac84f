"""An array: each task is a separate object, so that each starts as soon as there is capacity for it."""

from __future__ import annotations

from typing import Any

from ....plan.build.kubernetes.names import ARRAY_INDEX_LABEL, OBJECT_LABEL

__all__ = ["build_task"]

Json = dict[str, Any]


def build_task(body: Json, index: int, name: str) -> Json:
    """The object of one task, from that of the array; changes and returns ``body``."""
    body["metadata"]["name"] = name
    body["metadata"]["labels"][ARRAY_INDEX_LABEL] = str(index)
    for template in _list_pod_templates(body["spec"]):
        template["metadata"]["labels"] |= {OBJECT_LABEL: name, ARRAY_INDEX_LABEL: str(index)}
    return body


def _list_pod_templates(spec: Json) -> list[Json]:
    if "replicatedJobs" in spec:
        return [item["template"]["spec"]["template"] for item in spec["replicatedJobs"]]
    return [item["template"] for item in spec["tasks"]]
