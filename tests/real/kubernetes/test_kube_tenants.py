"""Tenants know nothing of each other: every road into another's namespace is refused by the rendered roles."""

from __future__ import annotations

from pathlib import Path

import pytest
from kube_world import World

from supercloud.jobs.engines.kubernetes.api import Api, Cluster, Refusal


@pytest.fixture
def bob(cluster: World) -> Path:
    return cluster.lab.kubeconfig_of("bob", "vision")


@pytest.fixture
def ann(cluster: World) -> Path:
    return cluster.lab.kubeconfig_of("ann", "llm")


def test_a_tenant_runs_its_own_jobs(cluster: World, ann: Path) -> None:
    job = cluster.submit(name="own", command=["true"], accelerators={"count": 8}, kubeconfig=ann)
    cluster.lab.until(lambda: cluster.supercloud("wait", str(job), kubeconfig=ann) == "COMPLETED")
    assert cluster.supercloud("logs", str(job), kubeconfig=ann).startswith("hello")


def test_a_job_in_another_namespace_is_refused(cluster: World, bob: Path) -> None:
    words = ("submit", str(cluster.job(name="intruder")), "--on", str(cluster.spec), "--engine", "kubernetes")
    said = cluster.supercloud(*words, check=False, kubeconfig=bob)
    assert "cannot create resource" in said and "kubectl auth can-i create jobsets --namespace llm" in said


@pytest.mark.parametrize("path", [
    "/api/v1/namespaces/llm/pods",
    "/api/v1/namespaces/llm/secrets",
    "/api/v1/namespaces/llm/persistentvolumeclaims",
    "/apis/jobset.x-k8s.io/v1alpha2/namespaces/llm/jobsets",
    "/apis/kueue.x-k8s.io/v1beta2/namespaces/llm/localqueues",
    "/apis/kueue.x-k8s.io/v1beta2/namespaces/llm/workloads",
    "/api/v1/pods",
])  # fmt: skip
def test_what_another_has_is_not_even_seen(cluster: World, bob: Path, path: str) -> None:
    with pytest.raises(Refusal) as refused:
        Api(Cluster(config_file=bob)).get(path)
    assert refused.value.code == 403


def test_another_tenants_queue_does_not_take_the_job(cluster: World, bob: Path) -> None:
    job = cluster.submit(name="thief", tenant="vision", kubeconfig=bob)
    path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/vision/jobsets"
    name = cluster.objects(job)["metadata"]["name"]
    body = cluster.lab.api.get(f"{path}/{name}")
    body["metadata"] = {"name": "thief", "namespace": "vision",
                        "labels": body["metadata"]["labels"] | {"kueue.x-k8s.io/queue-name": "llm"}}  # fmt: skip
    body.pop("status")
    body["spec"]["suspend"] = True
    Api(Cluster(config_file=bob)).post(path, body)

    def said() -> str:
        found = cluster.lab.api.pages("/apis/kueue.x-k8s.io/v1beta2/namespaces/vision/workloads")
        own = [item for item in found if item["metadata"]["ownerReferences"][0]["name"] == "thief"]
        return "".join(known["message"] for item in own for known in item.get("status", {}).get("conditions") or ())

    cluster.lab.until(lambda: "LocalQueue llm doesn't exist" in said())
    assert cluster.lab.api.get(f"{path}/thief")["spec"]["suspend"]
