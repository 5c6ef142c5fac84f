"""A rendered NVL72 cluster with real Kueue: jobs that claim a channel of shared memory, each within one domain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from bundle_world import BUNDLES, Served, define_custom_resources, list_bundle_objects, render_chart
from kube_lab import Lab
from kube_nodes import Node

from supercloud.plan.build.kubernetes.names import POOL_LABEL, build_topology, format_level_label

Json = dict[str, Any]
PLAN, BUNDLE = BUNDLES["nvl72"]
HOSTS = list(PLAN.pools[0].hosts)[:36]  # two domains
NODE = {"cpu": "128", "memory": "800Gi", "nvidia.com/gpu": "4"}
_WORKLOADS = "/apis/kueue.x-k8s.io/v1beta2/namespaces/llm/workloads"


@pytest.fixture(scope="module")
def domains(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Two domains with their labels, the classes of the driver's chart, and the objects that the driver creates."""
    folder = tmp_path_factory.mktemp("domains")
    values = yaml.safe_load(BUNDLE["charts/kueue.yaml"])["managerConfig"]["controllerManagerConfigYaml"]
    facts = PLAN.scheduler.kubernetes
    assert facts and facts.release
    driver = facts.find_chart("nvidia-dra-driver")
    assert driver is not None
    with Lab(folder, [Node(host, allocatable=NODE) for host in HOSTS], yaml.safe_load(values)) as lab:
        define_custom_resources(lab)
        served = Served(lab.api)
        for item in list_bundle_objects(BUNDLE):
            served.put(item, dry=False)
        chart = render_chart(driver, facts.release.patch, BUNDLE["charts/nvidia-dra-driver.yaml"], folder)
        lab.apply(*(item for item in chart if item["kind"] == "DeviceClass"))
        for name, class_name in (
            ("train-nvlink-channel", "compute-domain-default-channel.nvidia.com"),
            ("another", "compute-domain-daemon.nvidia.com"),
        ):
            lab.apply(_build_template(name, class_name))
        for host in HOSTS:
            lab.api.patch(f"/api/v1/nodes/{host}", {"metadata": {"labels": _list_labels(host)}})
        yield lab


def _build_template(name: str, class_name: str) -> Json:
    requests = [{"name": "channel", "exactly": {"deviceClassName": class_name}}]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": "llm"},
        "spec": {"spec": {"devices": {"requests": requests}}},
    }


def _list_labels(host: str) -> dict[str, str]:
    levels = build_topology(PLAN, PLAN.pools[0]).levels
    found = {
        format_level_label(level.name): group.name
        for level in levels
        for group in level.groups
        if host in set(group.hosts)
    }
    return {POOL_LABEL: "train", **found}


def _build_job(name: str, pods: int, template: str) -> Json:
    near = {"kueue.x-k8s.io/podset-required-topology": format_level_label("scale-up")}
    main = {
        "name": "main",
        "image": "example.com/train:1",
        "resources": {"claims": [{"name": "channel"}], "limits": {"nvidia.com/gpu": "4"}},
    }
    spec = {
        "restartPolicy": "Never",
        "containers": [main],
        "resourceClaims": [{"name": "channel", "resourceClaimTemplateName": template}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "llm", "labels": {"kueue.x-k8s.io/queue-name": "llm"}},
        "spec": {
            "suspend": True,
            "parallelism": pods,
            "completions": pods,
            "template": {"metadata": {"annotations": near}, "spec": spec},
        },
    }


def _list_workloads(lab: Lab, job: str) -> list[Json]:
    return [item for item in lab.api.iter_items(_WORKLOADS) if item["metadata"]["ownerReferences"][0]["name"] == job]


def _find_message(lab: Lab, job: str, status: str) -> str | None:
    """The message of Kueue about a job's quota, if the condition has this status."""
    for item in _list_workloads(lab, job):
        for found in item.get("status", {}).get("conditions", []):
            if (found["type"], found["status"]) == ("QuotaReserved", status):
                return str(found["message"])
    return None


JOBS = [
    ("whole", 18, "train-nvlink-channel", "True", "Quota reserved"),
    ("over", 19, "train-nvlink-channel", "False", "allows to fit only 18 out of 19"),
    ("strange", 1, "another", "False", "compute-domain-daemon.nvidia.com is not mapped"),
]


@pytest.mark.parametrize("name, pods, template, status, message", JOBS, ids=[job[0] for job in JOBS])
def test_jobs_with_claims(domains: Lab, name: str, pods: int, template: str, status: str, message: str) -> None:
    """A whole domain is admitted, a larger job waits, and a claim of a class without quota is not admitted."""
    domains.api.post("/apis/batch/v1/namespaces/llm/jobs", _build_job(name, pods, template))
    try:
        assert message in domains.wait_until(lambda: _find_message(domains, name, status))
    finally:
        domains.api.delete(f"/apis/batch/v1/namespaces/llm/jobs/{name}")
        domains.wait_until(lambda: not _list_workloads(domains, name))
