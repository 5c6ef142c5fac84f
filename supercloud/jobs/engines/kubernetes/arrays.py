"""An array: a task is an object of its own, so that each starts as soon as there is room for it."""

from __future__ import annotations

from typing import Any

from ....plan.build.kubernetes.names import OBJECT, TASK

__all__ = ["task"]

Json = dict[str, Any]


def task(body: Json, number: int, name: str) -> Json:
    """The object of one task from that of all; changes and returns ``body``."""
    body["metadata"]["name"] = name
    body["metadata"]["labels"][TASK] = str(number)
    for template in _pod_templates(body["spec"]):
        template["metadata"]["labels"] |= {OBJECT: name, TASK: str(number)}
    return body


def _pod_templates(spec: Json) -> list[Json]:
    if "replicatedJobs" in spec:
        return [item["template"]["spec"]["template"] for item in spec["replicatedJobs"]]
    return [item["template"] for item in spec["tasks"]]
