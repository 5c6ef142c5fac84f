"""A cluster of every kind of pool, and parts of the objects that its jobs become."""

from __future__ import annotations

from typing import Any

PLAN = """
name: pod
site: {kind: onprem, location: stockholm}
scheduler: {kind: kubernetes, version: "1.36"}
pools:
  - {name: train, machine: dgx-h100, nodes: 64, fabrics: [compute]}
  - {name: nvl, machine: dgx-gb200, nodes: 36, fabrics: [domains]}
  - {name: cut, machine: dgx-h100, nodes: 2, slicing: {mig: {1g.10gb: 7}}}
  - {name: cpu, machine: cpu-6740e, nodes: 3}
fabrics:
  - {name: compute, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}
  - {name: domains, kind: infiniband, shape: rail-optimized, switch: nvidia-qm9700}
storage:
  - {name: scratch, kind: lustre, capacity: 2 PiB, tier: best, mount: /scratch}
tenants: [{name: llm, share: 1, priority: high}]
"""


_KINDS = {
    "jobs": "Job",
    "jobsets": "JobSet",
    "nodes": "Node",
    "podgroups": "PodGroup",
    "pods": "Pod",
    "workloads": "Workload",
}


def build_list(path: str, items: list[dict[str, Any]], start: str = "") -> dict[str, Any]:
    """A page of the objects at a path, as an API server sends it."""
    more = {"continue": start} if start else {}
    return {"kind": f"{_KINDS[path.rpartition('/')[2]]}List", "metadata": more, "items": items}


def is_list(path: str) -> bool:
    """Whether a path is that of objects, not of one object."""
    return path.rpartition("/")[2] in _KINDS


def find_job(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = body["spec"]["replicatedJobs"][0]["template"]["spec"]
    return found


def find_main_container(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = find_job(body)["template"]["spec"]["containers"][0]
    return found


def read_env(body: dict[str, Any]) -> dict[str, str]:
    return {item["name"]: item.get("value", "") for item in find_main_container(body)["env"]}
