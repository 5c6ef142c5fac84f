"""The cluster of a rendered bundle that tests share: the bundle of ONPREM in a lab, and what users submit to it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from bundle_world import BUNDLES, Served, define_custom_resources, list_bundle_objects, select_kind
from kube_lab import Lab
from kube_nodes import Node

from supercloud.jobs.engines.kubernetes.api import ApiStatusError
from supercloud.plan.build.kubernetes.names import format_level_label

Json = dict[str, Any]
PLAN, BUNDLE = BUNDLES["onprem"]
# the configuration that the chart gives to the manager
KUEUE = yaml.safe_load(yaml.safe_load(BUNDLE["charts/kueue.yaml"])["managerConfig"]["controllerManagerConfigYaml"])
HOSTS = list(PLAN.pools[0].hosts)[:40]  # one scalable unit and a part of the next one


@contextmanager
def start_lab(folder: Path) -> Iterator[Lab]:
    """The cluster of ONPREM: nodes without labels of the project, then the bundle, applied in its order."""
    people = {"bob": "supercloud:vision"}
    with Lab(folder, [Node(host) for host in HOSTS], KUEUE, people) as lab:
        define_custom_resources(lab)
        served = Served(lab.api)
        for item in list_bundle_objects(BUNDLE):
            served.put(item, dry=False)
        for space in ("flux-system", "argocd"):  # namespaces of the GitOps controllers, which are not installed
            lab.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        for _, bundle in BUNDLES.values():
            for space in select_kind(list_bundle_objects(bundle), "Namespace").values():
                served.put(space, dry=False)
        yield lab


def label_nodes(lab: Lab, folder: Path) -> str:
    """Run the labeling job twice as its service account; the output of the first run."""
    for item in select_kind(list_bundle_objects(BUNDLE), "ConfigMap").values():
        if item["metadata"]["namespace"] == "supercloud-system":
            for name, text in item["data"].items():
                (folder / name).write_text(text)
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    account = "/api/v1/namespaces/supercloud-system/serviceaccounts/node-labels/token"
    token = lab.api.post(account, asked)["status"]["token"]
    env = {**os.environ, "KUBE_SERVER": lab.server, "KUBE_TOKEN": token, "KUBE_CA": str(lab.keys.folder / "ca.crt")}
    runs = [
        subprocess.run(
            [sys.executable, folder / "label_nodes.py", folder], env=env, capture_output=True, text=True, timeout=120
        )
        for _ in range(2)
    ]
    assert [run.returncode for run in runs] == [0, 0], runs[0].stderr
    assert runs[1].stdout.strip() == "0 nodes changed, 0 failed"
    return runs[0].stdout.strip()


def build_job(name: str, pods: int, level: str = "", **labels: str) -> Json:
    annotations = {"kueue.x-k8s.io/podset-required-topology": format_level_label(level)} if level else {}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "llm", "labels": {"kueue.x-k8s.io/queue-name": "llm", **labels}},
        "spec": {
            "suspend": True,
            "parallelism": pods,
            "completions": pods,
            "template": {
                "metadata": {"annotations": annotations},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {
                            "name": "main",
                            "image": "example.com/train:1",
                            "command": ["sleep", "300"],
                            "resources": {
                                "requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "8"},
                                "limits": {"nvidia.com/gpu": "8"},
                            },
                        }
                    ],
                },
            },
        },
    }


def list_running(lab: Lab, count: int) -> list[Json] | None:
    pods = list(lab.api.iter_items("/api/v1/namespaces/llm/pods"))
    done = [pod for pod in pods if pod.get("status", {}).get("phase") == "Running"]
    return done if len(done) == count else None


def find_wait_reason(lab: Lab, job: str) -> str | None:
    for item in lab.api.iter_items("/apis/kueue.x-k8s.io/v1beta2/namespaces/llm/workloads"):
        if item["metadata"]["ownerReferences"][0]["name"] == job:
            for found in item.get("status", {}).get("conditions", []):
                if found["type"] == "QuotaReserved" and found["status"] == "False":
                    return str(found["message"])
    return None


def is_allowed(lab: Lab, user: str, verb: str, group: str, resource: str, namespace: str) -> bool:
    asked = {"verb": verb, "group": group, "resource": resource, "namespace": namespace}
    answer = lab.api.review(
        "/apis/authorization.k8s.io/v1/subjectaccessreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": asked},
        },
    )
    return bool(answer["status"]["allowed"])


MAIN: Json = {"name": "main", "image": "example.com/train:1"}
POD: Json = {"containers": [MAIN], "restartPolicy": "Never"}


def build_container(**security: Any) -> Json:
    return MAIN | {"securityContext": security}


PODS: list[tuple[str, Json, str | None]] = [
    ("plain", {}, None),
    ("rdma", {"containers": [build_container(capabilities={"add": ["IPC_LOCK"]})]}, None),
    ("privileged", {"containers": [build_container(privileged=True)]}, "privileged"),
    ("init", {"initContainers": [build_container(privileged=True) | {"name": "i"}]}, "privileged"),
    ("capability", {"containers": [build_container(capabilities={"add": ["SYS_ADMIN"]})]}, "capabilities"),
    ("host-path", {"volumes": [{"name": "v", "hostPath": {"path": "/scratch/vision"}}]}, "volumes that may be used"),
    ("nfs", {"volumes": [{"name": "v", "nfs": {"server": "x", "path": "/"}}]}, "volumes that may be used"),
    ("host-network", {"hostNetwork": True}, "hostNetwork"),
    ("host-pid", {"hostPID": True}, "hostPID"),
    ("host-port", {"containers": [MAIN | {"ports": [{"containerPort": 80, "hostPort": 80}]}]}, "hostPort"),
]


def build_bare_pod(labels: Mapping[str, str] | None = None, **more: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "bare", "labels": dict(labels or {})},
        "spec": POD | more,
    }


def get_refusal(lab: Lab, pod: Json) -> str:
    """The reason why a pod of the tenant vision is refused; empty if it is accepted."""
    try:
        lab.api.post("/api/v1/namespaces/vision/pods", pod, dryRun="All")
    except ApiStatusError as error:
        return str(error)
    return ""
