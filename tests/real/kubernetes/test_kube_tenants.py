"""Tenants are isolated: the rendered roles refuse every access to the namespace of another tenant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kube_world import World

from supercloud.jobs.engines.kubernetes.api import ApiClient, ApiStatusError, ClusterTransport

Json = dict[str, Any]


@pytest.fixture
def bob(cluster: World) -> Path:
    return cluster.lab.write_kubeconfig("bob", "vision")


@pytest.fixture
def ann(cluster: World) -> Path:
    return cluster.lab.write_kubeconfig("ann", "llm")


def test_a_tenant_runs_its_own_jobs(cluster: World, ann: Path) -> None:
    job = cluster.submit(name="own", command=["true"], accelerators={"count": 8}, kubeconfig=ann)
    cluster.lab.wait_until(lambda: cluster.run_supercloud("wait", str(job), kubeconfig=ann) == "COMPLETED")
    assert cluster.run_supercloud("logs", str(job), kubeconfig=ann).startswith("hello")


def test_a_job_in_another_namespace_is_refused(cluster: World, bob: Path) -> None:
    words = ("submit", str(cluster.write_job(name="intruder")), "--on", str(cluster.spec), "--engine", "kubernetes")
    output = cluster.run_supercloud(*words, check=False, kubeconfig=bob)
    assert "cannot create resource" in output and "kubectl auth can-i create jobsets --namespace llm" in output


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/llm/pods",
        "/api/v1/namespaces/llm/secrets",
        "/api/v1/namespaces/llm/persistentvolumeclaims",
        "/apis/jobset.x-k8s.io/v1alpha2/namespaces/llm/jobsets",
        "/apis/kueue.x-k8s.io/v1beta2/namespaces/llm/localqueues",
        "/apis/kueue.x-k8s.io/v1beta2/namespaces/llm/workloads",
        "/api/v1/pods",
    ],
)
def test_objects_of_another_tenant_cannot_be_read(cluster: World, bob: Path, path: str) -> None:
    with pytest.raises(ApiStatusError) as refused:
        ApiClient(ClusterTransport(config_file=bob)).get(path)
    assert refused.value.code == 403


@pytest.mark.parametrize(
    "path, body",
    [
        ("/api/v1/namespaces/llm/pods/any/exec", {}),
        ("/api/v1/namespaces/llm/pods/any/portforward", {}),
        ("/api/v1/namespaces/llm/serviceaccounts/default/token", {"spec": {"expirationSeconds": 3600}}),
        ("/api/v1/namespaces/vision/serviceaccounts/default/token", {"spec": {"expirationSeconds": 3600}}),
        ("/api/v1/namespaces/vision/serviceaccounts", {"metadata": {"name": "x"}}),
        ("/api/v1/namespaces/vision/persistentvolumeclaims", {"metadata": {"name": "x"}}),
        ("/apis/rbac.authorization.k8s.io/v1/namespaces/vision/rolebindings", {"metadata": {"name": "x"}}),
        ("/apis/kueue.x-k8s.io/v1beta2/namespaces/vision/localqueues", {"metadata": {"name": "x"}}),
        ("/apis/scheduling.k8s.io/v1/priorityclasses", {"metadata": {"name": "x"}, "value": 1000000}),
    ],
)
def test_requests_that_give_access_beyond_a_tenant_are_rejected(
    cluster: World, bob: Path, path: str, body: Json
) -> None:
    with pytest.raises(ApiStatusError) as refused:
        ApiClient(ClusterTransport(config_file=bob)).post(path, body)
    assert refused.value.code == 403


def test_a_tenant_cannot_change_its_workload(cluster: World, bob: Path) -> None:
    """A workload contains the priority of the job and whether it is active."""
    job = cluster.submit(name="own", tenant="vision", kubeconfig=bob)
    cluster.wait_hosts(job)
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/vision/workloads"
    [found] = cluster.lab.api.iter_items(path)
    with pytest.raises(ApiStatusError) as refused:
        ApiClient(ClusterTransport(config_file=bob)).patch(
            f"{path}/{found['metadata']['name']}", {"spec": {"priority": 10**9}}
        )
    assert refused.value.code == 403


def test_no_workload_of_a_tenant_bypasses_admission_through_an_admitted_job(cluster: World, bob: Path) -> None:
    """Objects of an admitted job need no quota: a tenant must not declare such an owner."""
    job = cluster.submit(name="decoy", tenant="vision", kubeconfig=bob)
    decoy = cluster.get_object(job)
    owner = {
        "apiVersion": decoy["apiVersion"],
        "kind": decoy["kind"],
        "name": decoy["metadata"]["name"],
        "uid": decoy["metadata"]["uid"],
        "controller": True,
    }
    spec = {"containers": [{"name": "main", "image": "registry.example.com/a:1"}], "restartPolicy": "Never"}
    made: dict[str, Json] = {
        "/api/v1/namespaces/vision/pods": spec,
        "/apis/batch/v1/namespaces/vision/jobs": {"template": {"spec": spec}},
        "/apis/jobset.x-k8s.io/v1alpha2/namespaces/vision/jobsets": {
            "replicatedJobs": [{"name": "a", "template": {"spec": {"template": {"spec": spec}}}}]
        },
    }
    user = ApiClient(ClusterTransport(config_file=bob))
    for path, body in made.items():
        kind = {"pods": "Pod", "jobs": "Job", "jobsets": "JobSet"}[path.rpartition("/")[2]]
        version = path.removeprefix("/apis/").removeprefix("/api/").partition("/namespaces")[0]
        item = {"apiVersion": version, "kind": kind, "metadata": {"name": "hidden"}, "spec": body}
        user.post(path, item, dryRun="All")
        item["metadata"] |= {"ownerReferences": [owner]}
        with pytest.raises(ApiStatusError, match="only controllers may set a controller in ownerReferences"):
            user.post(path, item, dryRun="All")


def test_no_pod_of_a_tenant_has_a_system_priority(cluster: World, bob: Path) -> None:
    spec = {
        "containers": [{"name": "main", "image": "registry.example.com/a:1"}],
        "restartPolicy": "Never",
        "priorityClassName": "system-node-critical",
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "high"}, "spec": spec}
    with pytest.raises(ApiStatusError, match="priorityClassName is not allowed for"):
        ApiClient(ClusterTransport(config_file=bob)).post("/api/v1/namespaces/vision/pods", pod, dryRun="All")


def test_the_volume_of_another_tenant_is_not_mounted(cluster: World, bob: Path) -> None:
    """A claim must be in the namespace of the pod, and pods of tenants must not use other volumes."""
    spec = {
        "containers": [{"name": "main", "image": "registry.example.com/a:1"}],
        "restartPolicy": "Never",
        "volumes": [{"name": "v", "hostPath": {"path": "/scratch/llm"}}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mount"}, "spec": spec}
    with pytest.raises(ApiStatusError, match="volumes that may be used"):
        ApiClient(ClusterTransport(config_file=bob)).post("/api/v1/namespaces/vision/pods", pod, dryRun="All")


def test_the_queue_of_another_tenant_rejects_the_job(cluster: World, bob: Path) -> None:
    job = cluster.submit(name="thief", tenant="vision", kubeconfig=bob)
    path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/vision/jobsets"
    name = cluster.get_object(job)["metadata"]["name"]
    body = cluster.lab.api.get(f"{path}/{name}")
    body["metadata"] = {
        "name": "thief",
        "namespace": "vision",
        "labels": body["metadata"]["labels"] | {"kueue.x-k8s.io/queue-name": "llm"},
    }
    body.pop("status")
    body["spec"]["suspend"] = True
    ApiClient(ClusterTransport(config_file=bob)).post(path, body)

    def read_messages() -> str:
        found = cluster.lab.api.iter_items("/apis/kueue.x-k8s.io/v1beta2/namespaces/vision/workloads")
        own = [item for item in found if item["metadata"]["ownerReferences"][0]["name"] == "thief"]
        return "".join(known["message"] for item in own for known in item.get("status", {}).get("conditions") or ())

    cluster.lab.wait_until(lambda: "LocalQueue llm doesn't exist" in read_messages())
    assert cluster.lab.api.get(f"{path}/thief")["spec"]["suspend"]
