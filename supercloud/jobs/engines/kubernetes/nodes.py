"""The free capacity of a cluster: from nodes, their pods and waiting Workloads. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ....plan.build.kubernetes.names import HOSTNAME_LABEL, POOL_LABEL, TIME_LIMIT_ANNOTATION
from ...fleet.observations import NodeState, WaitingJobs
from .status import find_condition, parse_time

__all__ = ["iter_node_states", "list_waiting_volcano_jobs", "list_waiting_workloads"]

Json = dict[str, Any]

_MIG_PREFIX = "mig-"
# A quantity as the API server writes it: an integer with at most one suffix (apimachinery, resource.Quantity).
_QUANTITY = re.compile(r"([0-9]{1,18})(|k|M|G|Ki|Mi|Gi)")
_FACTORS = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
# Seconds of a time limit; a larger number is not one that the engine wrote.
_LIMIT = re.compile(r"[0-9]{1,12}")


def iter_node_states(nodes: Iterable[Json], pods: Iterable[Json], resources: Collection[str]) -> Iterator[NodeState]:
    """All nodes, with ``resources`` allocated to pods of all users; for nodes without them, 1 if a job has the node."""
    used: dict[str, int] = {}
    until: dict[str, float | None] = {}
    for pod in pods:
        node = pod.get("spec", {}).get("nodeName")
        devices = _count_devices(pod, resources)
        if not node or not devices or pod.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            continue
        used[node] = used.get(node, 0) + devices
        end = _compute_end(pod)
        known = until.get(node, 0.0)
        until[node] = None if end is None or known is None else max(end, known)
    for node in nodes:
        name = node["metadata"]["name"]
        host = node["metadata"].get("labels", {}).get(HOSTNAME_LABEL, name)
        in_use = used.get(name, 0)
        yield NodeState(host, _classify_node(node), in_use, until.get(name) if in_use else None)


def _classify_node(node: Json) -> Any:
    if find_condition(node, "Ready") is None:
        return "down"
    spec = node.get("spec", {})
    taken_out = any(
        taint["key"].startswith("node.kubernetes.io/")
        for taint in spec.get("taints") or ()
        if taint["effect"] != "PreferNoSchedule"
    )
    return "drained" if spec.get("unschedulable") or taken_out else "up"


def _count_devices(pod: Json, resources: Collection[str]) -> int:
    """Accelerators of its containers; 1 for a job's pod that requests none."""
    total = 0
    domains = {name.partition("/")[0] for name in resources}
    for container in pod.get("spec", {}).get("containers") or ():
        limits: Mapping[str, str] = container.get("resources", {}).get("limits") or {}
        for name in limits:
            domain, _, resource = name.partition("/")
            if name in resources or (domain in domains and resource.startswith(_MIG_PREFIX)):
                total += _parse_quantity(limits[name])
    return total or int(POOL_LABEL in (pod.get("spec", {}).get("nodeSelector") or {}))


def _parse_quantity(text: object) -> int:
    """A number of devices; 1 if it cannot be read, as a pod of any user must not hide all nodes."""
    found = _QUANTITY.fullmatch(str(text))
    return int(found[1]) * _FACTORS[found[2]] if found else 1


def _compute_end(pod: Json) -> float | None:
    """Its latest end, by its time limit; None if it has none, or one that the owner of the pod made unreadable."""
    limit = (pod["metadata"].get("annotations") or {}).get(TIME_LIMIT_ANNOTATION, "")
    started = parse_time(pod.get("status", {}).get("startTime"))
    return started + int(limit) if started is not None and _LIMIT.fullmatch(str(limit)) else None


def list_waiting_workloads(workloads: Iterable[Json]) -> list[WaitingJobs]:
    """Jobs that Kueue has not admitted, summed by pool."""
    return _sum_by_pool(
        (podset["template"], int(podset.get("count", 1)))
        for workload in workloads
        if not (
            find_condition(workload, "Admitted")
            or find_condition(workload, "Finished")
            or workload.get("spec", {}).get("active") is False
        )
        for podset in workload.get("spec", {}).get("podSets") or ()
    )


def list_waiting_volcano_jobs(jobs: Iterable[Json]) -> list[WaitingJobs]:
    """Jobs that Volcano has not started, summed by pool."""
    return _sum_by_pool(
        (task["template"], int(task.get("replicas", 1)))
        for job in jobs
        if job.get("status", {}).get("state", {}).get("phase", "Pending") in ("Pending", "Inqueue")
        for task in job.get("spec", {}).get("tasks") or ()
    )


def _sum_by_pool(waiting: Iterable[tuple[Json, int]]) -> list[WaitingJobs]:
    """Sum pod templates with their counts."""
    sums: dict[str, tuple[int, int]] = {}
    for template, count in waiting:
        pool = (template.get("spec", {}).get("nodeSelector") or {}).get(POOL_LABEL, "")
        nodes, jobs = sums.get(pool, (0, 0))
        sums[pool] = nodes + count, jobs + 1
    return [WaitingJobs(pool, nodes, jobs) for pool, (nodes, jobs) in sorted(sums.items())]
