"""How jobs are, read from answers that a real API server gave."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest
from jobs.engines.kubernetes_jobs import build_list

from supercloud.jobs.engines.kubernetes.api import ApiClient
from supercloud.jobs.engines.kubernetes.engine import KubernetesEngine
from supercloud.jobs.engines.kubernetes.kinds import KINDS
from supercloud.jobs.engines.kubernetes.nodes import iter_node_states, list_waiting_workloads
from supercloud.jobs.engines.kubernetes.reasons import describe_pods, describe_workload
from supercloud.jobs.engines.kubernetes.status import build_status, parse_time
from supercloud.jobs.store.states import State
from supercloud.spec.fleet import Connection

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"
LISTS = ("jobsets", "workloads", "jobs", "pods", "nodes")


def read_recording(name: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads((RECORDINGS / f"kubernetes-{name}.json").read_text())["items"]
    return items


class Recorded:
    """Lists as they were recorded, selected by label and in pages of two."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def send(self, method: str, path: str, body: bytes | None, kind: str) -> tuple[int, bytes]:
        assert method == "GET"
        url = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        name = url.path.rpartition("/")[2]
        if name not in LISTS or "/vision/" not in url.path:
            return 404, b'{"reason": "NotFound", "message": "there is none"}'
        items = read_recording(name)
        if match := re.fullmatch(r"(\S+) in \((.*)\)", query.get("labelSelector", "")):
            items = [item for item in items if item["metadata"]["labels"].get(match[1]) in match[2].split(",")]
        start = int(query.get("continue", "0"))
        self.asked.append(name)
        more = str(start + 2) if start + 2 < len(items) else ""
        return 200, json.dumps(build_list(name, items[start : start + 2], more)).encode()


REFS = {
    item["metadata"]["annotations"]["supercloud.dev/name"]: f"jobset/vision/{item['metadata']['name']}/1795226340"
    for item in read_recording("jobsets")
}
QUOTA = "the quota of its tenant is in use: 128 more nvidia.com/gpu of pool train are needed"
TAKEN = "preempted by a job of higher priority, or by one whose quota it had borrowed"


@pytest.mark.parametrize(
    "name, state, attempt, code, reason",
    [
        ("fine", State.COMPLETED, 1, 0, ""),
        ("bad", State.FAILED, 1, 3, "ended with exit code 3"),
        ("again", State.FAILED, 2, 42, "ended with exit code 42"),
        ("slow", State.TIMEOUT, 1, None, "it exceeded its time limit"),
        ("lost", State.NODE_FAIL, 1, None, "a node of the job was lost"),
        ("runs", State.RUNNING, 1, None, ""),
        ("low", State.QUEUED, 2, None, f"{TAKEN}; {QUOTA}"),
    ],
)
def test_every_final_and_waiting_state_is_recognized(
    tmp_path: Path, name: str, state: State, attempt: int, code: int | None, reason: str
) -> None:
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path, Recorded())
    status = engine.poll([REFS[name]])[REFS[name]]
    assert (status.state, status.attempt, status.exit_code, status.reason) == (state, attempt, code, reason)
    assert (status.ended is not None) == state.is_final
    if state is not State.QUEUED:
        assert status.started and status.started <= (status.ended or status.started)


@pytest.mark.parametrize(
    "name, counted, attempt",
    [
        ("low", "1", 2),
        ("low", "4", 5),
        ("low", "odd", 2),  # it waits: the next start is one more
        ("runs", "1", 1),
        ("runs", "3", 3),
        ("again", "2", 3),
        ("fine", "2", 2),
    ],
)
def test_an_attempt_has_the_number_that_its_programs_get(name: str, counted: str, attempt: int) -> None:
    (item,) = (
        item for item in read_recording("jobsets") if item["metadata"]["annotations"]["supercloud.dev/name"] == name
    )
    item["metadata"]["annotations"]["supercloud.dev/starts"] = counted
    owned = [
        load
        for load in read_recording("workloads")
        if load["metadata"]["labels"].get("kueue.x-k8s.io/job-uid") == item["metadata"]["uid"]
    ]
    assert build_status(item, owned[0] if owned else None, [], []).attempt == attempt


def test_many_jobs_are_polled_with_few_requests(tmp_path: Path) -> None:
    transport = Recorded()
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path, transport)
    strangers = ["4711", "jobset/vision/never-0/1", "pod/vision/x/1", "jobset/vision/x/y"]
    known = engine.poll([*REFS.values(), *strangers])
    assert set(known) == set(REFS.values())
    pages = {name: transport.asked.count(name) for name in set(transport.asked)}
    assert set(pages) == {"jobsets", "workloads", "jobs", "pods"}, "one list of each, whatever the number of jobs"
    assert pages["jobsets"] == -(-len(REFS) // 2)


class Older(Recorded):
    """A cluster whose Kueue serves only what came before."""

    def send(self, method: str, path: str, body: bytes | None, kind: str) -> tuple[int, bytes]:
        if "/kueue.x-k8s.io/v1beta2/" in path:
            return 404, b"404 page not found"
        return super().send(method, path, body, kind)


def test_an_older_kueue_is_requested_with_its_api_version(tmp_path: Path) -> None:
    newer, older = (KubernetesEngine(Connection(engine="kubernetes"), tmp_path, kind()) for kind in (Recorded, Older))
    assert older.poll(list(REFS.values())) == newer.poll(list(REFS.values()))


@pytest.mark.parametrize("code, found", [("3", 3), ("9" * 5000, None)])
def test_an_exit_code_in_a_message_has_a_maximum(code: str, found: int | None) -> None:
    failed = [{"type": "Failed", "status": "True", "message": f"Pod a failed with exit code {code} (x)"}]
    named = {item["metadata"]["annotations"]["supercloud.dev/name"]: item for item in read_recording("jobsets")}
    status = build_status(named["bad"], None, [{"status": {"conditions": failed}}], [])
    assert (status.state, status.exit_code) == (State.FAILED, found)


def build_vcjob(phase: str, retries: int = 0, count: int = 0) -> dict[str, Any]:
    task = {"replicas": 4, "template": {"spec": {"nodeSelector": {"supercloud.dev/pool": "train"}}}}
    labels = {"supercloud.dev/job": "j"}
    return {
        "metadata": {"name": "j", "uid": "u", "labels": labels},
        "spec": {"maxRetry": retries + 1, "tasks": [task]},
        "status": {"state": {"phase": phase}, "retryCount": count},
    }


class Volcano:
    """A cluster without Kueue, with one job; ``pods`` are its pods' exit codes."""

    def __init__(self, job: dict[str, Any], pods: tuple[int, ...] = (), message: str = ""):
        condition = {"type": "Unschedulable", "status": "True", "message": message}
        ended = [{"state": {"terminated": {"exitCode": code}}} for code in pods]
        self.lists: dict[str, list[dict[str, Any]]] = {
            "batch.volcano.sh/v1alpha1/jobs": [job],
            "batch.volcano.sh/v1alpha1/namespaces/llm/jobs": [job],
            "scheduling.volcano.sh/v1beta1/namespaces/llm/podgroups": [
                {"metadata": {"ownerReferences": [{"uid": "u"}]}, "status": {"conditions": [condition]}}
            ],
            "v1/namespaces/llm/pods": [
                {"metadata": {"labels": {"supercloud.dev/object": "j"}}, "status": {"containerStatuses": [end]}}
                for end in ended
            ],
        }

    def send(self, method: str, path: str, body: bytes | None, kind: str) -> tuple[int, bytes]:
        place = urlsplit(path).path
        items = self.lists.get(place.partition("/")[2].partition("/")[2])
        return (404, b"404 page not found") if items is None else (200, json.dumps(build_list(place, items)).encode())


@pytest.mark.parametrize(
    "cluster, state, attempt, code, reason",
    [
        (
            Volcano(build_vcjob("Pending"), message="4/4 tasks in gang unschedulable"),
            State.QUEUED,
            1,
            None,
            "4/4 tasks",
        ),
        (Volcano(build_vcjob("Restarting", 2, 1)), State.QUEUED, 2, None, "restarting"),
        (Volcano(build_vcjob("Running", 2, 2)), State.RUNNING, 3, None, ""),
        (Volcano(build_vcjob("Terminated"), (143, 3)), State.FAILED, 1, 3, "ended with exit code 3"),
        (Volcano(build_vcjob("Failed", 2, 3), (42,)), State.FAILED, 3, 42, "ended with exit code 42"),
        (Volcano(build_vcjob("Failed", 0, 1), (143,)), State.NODE_FAIL, 1, None, "its pods were evicted: a node"),
        (Volcano(build_vcjob("Completed")), State.COMPLETED, 1, 0, ""),
    ],
)
def test_every_final_state_of_volcano_is_recognized(
    tmp_path: Path, cluster: Volcano, state: State, attempt: int, code: int | None, reason: str
) -> None:
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path, cluster)
    ref = "vcjob/llm/j/1795226340"
    status = engine.poll([ref])[ref]
    assert (status.state, status.attempt, status.exit_code) == (state, attempt, code) and reason in status.reason
    waits = state is State.QUEUED and "tasks" in reason
    assert [(item.partition, item.nodes) for item in engine.list_waiting_jobs()] == ([("train", 4)] if waits else [])


def test_an_object_that_is_missing_early_was_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = KubernetesEngine(Connection(engine="kubernetes"), tmp_path, Recorded())
    monkeypatch.setattr("time.time", lambda: 1795226340.0)
    young, old = "jobset/vision/gone-1/1795226000", "jobset/vision/gone-1/1700000000"
    assert engine.poll([young, old]) == {young: engine.poll([young])[young]}
    assert engine.poll([young])[young].state is State.CANCELLED


def test_nodes_are_listed_with_their_usage() -> None:
    nodes = {
        node.host: node
        for node in iter_node_states(read_recording("nodes"), read_recording("pods"), {"nvidia.com/gpu"})
    }
    (busy,) = [node for node in nodes.values() if node.in_use]
    assert (busy.in_use, busy.state) == (8, "up") and busy.busy_until
    assert nodes["nvl-0001"].in_use == 0 and nodes["nvl-0001"].busy_until is None


@pytest.mark.parametrize("limit", ["²", "9" * 400, "9" * 5000, "-1", ""])
def test_a_pod_with_an_unreadable_time_limit_hides_no_node(limit: str) -> None:
    """Its owner writes the annotation: one pod of any user stopped the fleet's use of the cluster."""
    (node, pod) = build_busy_node({"nvidia.com/gpu": "8"}, limit)
    (state,) = iter_node_states([node], [pod], {"nvidia.com/gpu"})
    assert (state.in_use, state.busy_until) == (8, None)


def test_quantities_of_devices_are_read_as_the_api_server_writes_them() -> None:
    limits = {"nvidia.com/gpu": "1k", "nvidia.com/mig-1g.10gb": "2", "example.com/mig-x": "7", "amd.com/gpu": "x"}
    (node, pod) = build_busy_node(limits, "60")
    (state,) = iter_node_states([node], [pod], {"nvidia.com/gpu", "amd.com/gpu"})
    assert state.in_use == 1000 + 2 + 1


def build_busy_node(limits: dict[str, str], time_limit: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A node, and a pod that runs on it."""
    node = {
        "metadata": {"name": "a", "labels": {}},
        "spec": {},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    pod = {
        "metadata": {"annotations": {"supercloud.dev/time-limit": time_limit}},
        "spec": {"nodeName": "a", "containers": [{"resources": {"limits": limits}}]},
        "status": {"phase": "Running", "startTime": "2026-11-27T00:00:00Z"},
    }
    return node, pod


def test_unschedulable_nodes_are_recognized() -> None:
    good, taken_out, down = (json.loads(json.dumps(read_recording("nodes")[0])) for _ in range(3))
    taken_out["spec"]["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    down["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    assert [node.state for node in iter_node_states([good, taken_out, down], [], ())] == ["up", "drained", "down"]


def test_waiting_workloads_are_summed_by_pool() -> None:
    assert [
        (item.partition, item.nodes, item.jobs) for item in list_waiting_workloads(read_recording("workloads"))
    ] == [("train", 64, 1)]


def build_waiting_workload(message: str, **more: Any) -> dict[str, Any]:
    reserved = {"type": "QuotaReserved", "status": "False", "reason": "Pending", "message": message}
    return {"spec": {"active": True}, "status": {"conditions": [reserved]}} | more


PREFIX = "couldn't assign flavors to pod set workers: "


@pytest.mark.parametrize(
    "message, sentence",
    [
        (
            f'{PREFIX}topology "fabric" allows to fit only 4 out of 5 pod(s)',
            "only 4 of the 5 nodes it needs are free within one su",
        ),
        (
            f"{PREFIX}flavor old doesn't match node affinity, topology \"fabric\" doesn't allow to fit any of 2 "
            "slice(s)",
            "only 0 of the 2 groups of nodes it needs are free within one su",
        ),
        (f"{PREFIX}flavor nvl doesn't match node affinity", "the nodes it needs are not free within one su"),
        (
            f"{PREFIX}insufficient unused quota for nvidia.com/gpu in flavor train, 8 more needed",
            "the quota of its tenant is in use: 8 more nvidia.com/gpu of pool train are needed",
        ),
        (
            f"{PREFIX}insufficient quota for nvidia.com/gpu in flavor train, previously considered podsets requests "
            "(0) + "
            "current podset request (600) > maximum capacity (512)",
            "the quota of its tenant is 512 nvidia.com/gpu of pool train; cancel it and request less",
        ),
        ("LocalQueue llm doesn't exist", "its namespace has no queue llm; set tenant to a tenant of the cluster"),
        ("ClusterQueue llm is inactive", "Kueue reports: ClusterQueue llm is inactive"),
    ],
)
def test_messages_of_kueue_are_described(message: str, sentence: str) -> None:
    assert describe_workload(build_waiting_workload(message), "su") == sentence


def test_the_reason_why_a_workload_waits_is_described() -> None:
    assert describe_workload(None) == "not yet processed by Kueue"
    assert describe_workload(build_waiting_workload("", spec={"active": False})).endswith(
        "deactivated by an administrator"
    )
    assert describe_workload({"spec": {}, "status": {}}) == "it waits in the queue"


def test_the_reason_why_a_pod_does_not_run_is_described() -> None:
    state = {"waiting": {"reason": "ImagePullBackOff", "message": "manifest unknown"}}
    broken = {"status": {"containerStatuses": [{"state": state}]}}
    unplaced = {"status": {"conditions": [{"type": "PodScheduled", "reason": "Unschedulable", "message": "0/4"}]}}
    assert describe_pods([{}, broken]) == "its image cannot be pulled: manifest unknown"
    assert describe_pods([unplaced]) == "its pods cannot be scheduled: 0/4"
    assert describe_pods([]) == "its nodes are allocated, its pods are starting"


@pytest.mark.parametrize("word", KINDS)
def test_a_later_object_with_the_name_of_a_job_is_not_its_status(word: str) -> None:
    created = "2026-11-21T00:00:00Z"
    meta = {"name": "job-1", "uid": "u", "creationTimestamp": created, "labels": {}}
    item = {"metadata": meta, "spec": {"tasks": []}}
    at = int(parse_time(created) or 0)

    class Api:
        def iter_items(self, path: str, **_: str) -> list[dict[str, Any]]:
            return [item] if path == KINDS[word].build_path("llm") else []

    for latest, names in ((at, {"job-1"}), (at + 600, {"job-1"}), (0, {"job-1"}), (at - 1, set())):
        found = KINDS[word].list_statuses(cast(ApiClient, Api()), "llm", "x", {"job-1": latest})
        assert set(found) == names
