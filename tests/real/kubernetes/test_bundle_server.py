"""Rendered bundles before a real API server with strict validation, with Kueue's, JobSet's and LWS' webhooks."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from bundle_world import (
    BUNDLES,
    Served,
    all_objects,
    by_kind,
    charted,
    cluster_objects,
    define,
    objects_of,
    planned,
    templated,
)
from kube_lab import Lab
from kube_nodes import Node

from supercloud.jobs.engines.kubernetes.api import ApiClient, ApiStatusError, ClusterTransport
from supercloud.plan.build.kubernetes.names import build_topology, format_level_label
from supercloud.targets import render
from supercloud.targets.schedulers.kubernetes import render_fleet

Json = dict[str, Any]
PLAN, BUNDLE = BUNDLES["onprem"]
# what the chart would give to the manager
KUEUE = yaml.safe_load(yaml.safe_load(BUNDLE["charts/kueue.yaml"])["managerConfig"]["controllerManagerConfigYaml"])
HOSTS = list(PLAN.pools[0].hosts)[:40]  # a scalable unit and a part of the next
# parts of these never change, and ONPREM's of the same name are there already
FIXED = ("Topology", "ResourceFlavor", "PersistentVolume", "PersistentVolumeClaim", "StorageClass")
SERVED_BY_OTHERS = {"kueue.x-k8s.io/v1alpha1"}  # Kueue 0.12; the lab has 0.19


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The cluster of ONPREM: nodes as they come, without any label of ours, then the bundle, applied in its order."""
    people = {"bob": "supercloud:vision"}
    with Lab(tmp_path_factory.mktemp("bundle"), [Node(host) for host in HOSTS], KUEUE, people) as lab:
        define(lab)
        served = Served(lab.api)
        for item in objects_of(BUNDLE):
            served.put(item, dry=False)
        for space in ("flux-system", "argocd"):  # of the controllers, which bring their own
            lab.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}})
        for _, bundle in BUNDLES.values():
            for space in by_kind(objects_of(bundle), "Namespace").values():
                served.put(space, dry=False)
        yield lab


@pytest.mark.parametrize("name", list(BUNDLES))
def test_every_object_is_accepted(lab: Lab, name: str) -> None:
    """Every field is one the server knows, and no webhook objects."""
    served = Served(lab.api)
    refused, asked = [], 0
    for item in all_objects(BUNDLES[name][1]):
        if item["kind"] in FIXED:
            item["metadata"]["name"] = f"{name}-{item['metadata']['name']}"
        try:
            asked += served.put(item, dry=True)
        except ApiStatusError as error:
            refused.append(f"{item['kind']} {item['metadata']['name']}: {error}")
    assert not refused
    assert asked > 15


def test_the_manager_of_a_fleet_is_accepted(lab: Lab) -> None:
    served = Served(lab.api)
    bundle = render_fleet("company", {"pod1": PLAN, "trainer": BUNDLES["aws"][0]})
    for path, text in bundle.items():
        objects = path.endswith(".yaml") and "kustomization" not in path and "/charts/" not in path
        for item in yaml.safe_load_all(text) if objects else ():
            assert served.put(item, dry=True), f"{path}: {item['kind']}"


def test_rendered_charts_are_accepted(lab: Lab, tmp_path: Path) -> None:
    """With rendered values, by the server the charts are made for; the rest needs resources of charts not to be had."""
    served = Served(lab.api)
    unknown, refused, asked = set(), [], 0
    for key, (chart, release, values) in charted().items():
        if PLAN.scheduler.kubernetes is None or chart not in PLAN.scheduler.kubernetes.charts:
            continue
        for item in templated(chart, release, values, tmp_path):
            if item["kind"] == "CustomResourceDefinition":  # they are there, with the lab's address for conversions
                continue
            item["metadata"].setdefault("namespace", chart.namespace)
            if item["kind"].endswith("WebhookConfiguration"):  # the lab's own of this name have addresses, no services
                item["metadata"]["name"] = f"of-chart-{item['metadata']['name']}"
            try:
                done = served.put(item, dry=item["kind"] != "Namespace")
                asked += done
            except ApiStatusError as error:
                refused.append(f"{key}: {item['kind']} {item['metadata']['name']}: {error}")
            else:
                unknown |= set() if done else {item["kind"]}
    assert not refused
    assert unknown <= {"ServiceMonitor", "PodMonitor", "Certificate", "Issuer"}
    assert asked > 100


def test_kinds_that_the_api_server_does_not_serve_are_listed(lab: Lab) -> None:
    """What the server does not have is either of an older Kueue or has a schema of our own."""
    served = Served(lab.api)
    missing = {
        item["apiVersion"]
        for _, bundle in BUNDLES.values()
        for item in all_objects(bundle)
        if served.path(item) is None
    }
    from kube_schemas import kinds

    assert missing - {api for api, _ in kinds()} == SERVED_BY_OTHERS


def test_a_wrong_field_is_refused(lab: Lab) -> None:
    """The judge is strict: without this, the tests above could not fail."""
    item = next(iter(by_kind(objects_of(BUNDLE), "ClusterQueue").values()))
    wrong = json.loads(json.dumps(item))
    wrong["spec"]["cohortNme"] = "x"
    with pytest.raises(ApiStatusError, match="cohortNme"):
        Served(lab.api).put(wrong, dry=True)


def test_volumes_follow_a_store_that_grows_and_gets_clients(lab: Lab) -> None:
    """Neither the class, nor the volume, nor its claim has a part that the server lets nobody change."""
    served = Served(lab.api)
    switched = {"kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-qm9700"}
    pool = {"machine": "dgx-h100", "nodes": 4}
    for terabytes, networks in ((20, ["compute"]), (40, ["compute", "storage"])):
        plan = planned(
            {
                "tenants": [],
                "fabrics": [{"name": name, **switched} for name in ("compute", "storage")],
                "pools": [
                    {"name": "near", "fabrics": ["storage"], **pool},
                    {"name": "far", "fabrics": networks, **pool},
                ],
                "storage": [
                    {
                        "name": "growing",
                        "kind": "lustre",
                        "mount": "/growing",
                        "fabric": "storage",
                        "capacity": f"{terabytes} TiB",
                    }
                ],
            }
        )
        items = list(yaml.safe_load_all(render(plan, "kubernetes").files["storage/volumes.yaml"].text))
        for item in items:
            assert served.put(item, dry=False)
        (claim,) = (served.path(item) for item in items if item["kind"] == "PersistentVolumeClaim")
        lab.until(lambda path=claim: lab.api.get(path).get("status", {}).get("phase") == "Bound")  # type: ignore[misc]
        assert lab.api.get(str(claim))["spec"]["resources"]["requests"]["storage"] in (
            f"{terabytes}Ti",
            f"{terabytes * 1024}Gi",
        )


def test_queues_are_active(lab: Lab) -> None:
    for name in ("llm", "vision"):
        queue = lab.until(lambda name=name: _ready(lab.api.get(f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{name}")))  # type: ignore[misc]
        assert queue["status"]["conditions"][0]["reason"] == "Ready"


def _ready(item: Json) -> Json | None:
    conditions = item.get("status", {}).get("conditions", [])
    return item if any(found["type"] == "Active" and found["status"] == "True" for found in conditions) else None


@pytest.fixture(scope="module")
def labelled(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the labelling job prints when it has run as its service account."""
    folder = tmp_path_factory.mktemp("labels")
    for item in by_kind(objects_of(BUNDLE), "ConfigMap").values():
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


def test_nodes_get_their_labels_and_taints(lab: Lab, labelled: str) -> None:
    assert labelled == f"{len(HOSTS)} nodes changed, 0 failed"
    nodes = {item["metadata"]["name"]: item for item in lab.api.iter_items("/api/v1/nodes")}
    topology = build_topology(PLAN, PLAN.pools[0])
    for level in topology.levels:
        for group in level.groups:
            for host in set(group.hosts) & set(HOSTS):
                assert nodes[host]["metadata"]["labels"][format_level_label(level.name)] == group.name
    for node in nodes.values():
        assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"} in node["spec"]["taints"]


def _job(name: str, pods: int, level: str = "", **labels: str) -> Json:
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


def test_a_gang_is_placed_within_one_unit(lab: Lab, labelled: str) -> None:
    """Labels, taints, topology, flavor, quota and queues agree: only then do all pods run, and under one unit."""
    lab.api.post("/apis/batch/v1/namespaces/llm/jobs", _job("near", 32, "su"))
    pods = lab.until(lambda: _running(lab, 32))
    nodes = {item["metadata"]["name"]: item["metadata"]["labels"] for item in lab.api.iter_items("/api/v1/nodes")}
    units = {nodes[pod["spec"]["nodeName"]][format_level_label("su")] for pod in pods}
    assert len(units) == 1 and len({pod["spec"]["nodeName"] for pod in pods}) == 32
    lab.api.delete("/apis/batch/v1/namespaces/llm/jobs/near")
    lab.until(lambda: not list(lab.api.iter_items("/api/v1/namespaces/llm/pods")))


def _running(lab: Lab, count: int) -> list[Json] | None:
    pods = list(lab.api.iter_items("/api/v1/namespaces/llm/pods"))
    done = [pod for pod in pods if pod.get("status", {}).get("phase") == "Running"]
    return done if len(done) == count else None


def test_a_gang_larger_than_a_unit_waits(lab: Lab, labelled: str) -> None:
    lab.api.post("/apis/batch/v1/namespaces/llm/jobs", _job("far", 33, "su"))
    try:
        said = lab.until(lambda: _why(lab, "far"))
        assert "allows to fit only 32 out of 33" in said
    finally:
        lab.api.delete("/apis/batch/v1/namespaces/llm/jobs/far")


def _why(lab: Lab, job: str) -> str | None:
    for item in lab.api.iter_items("/apis/kueue.x-k8s.io/v1beta2/namespaces/llm/workloads"):
        if item["metadata"]["ownerReferences"][0]["name"] == job:
            for found in item.get("status", {}).get("conditions", []):
                if found["type"] == "QuotaReserved" and found["status"] == "False":
                    return str(found["message"])
    return None


# -- isolation ---------------------------------------------------------------------------------------------------------


def test_a_user_has_permissions_in_its_own_namespace_only(lab: Lab) -> None:
    rights = [("batch", "jobs"), ("jobset.x-k8s.io", "jobsets"), ("", "pods"), ("", "secrets"), ("", "configmaps")]
    for (group, resource), space in itertools.product(rights, ("llm", "vision", "default", "kube-system")):
        assert _may(lab, "ada", "create", group, resource, space) == (space == "llm"), (resource, space)
    kinds = [("apps", name) for name in ("deployments", "statefulsets", "daemonsets", "replicasets")]
    for group, resource in (*kinds, ("", "replicationcontrollers"), ("batch", "cronjobs")):
        assert not _may(lab, "ada", "create", group, resource, "llm"), "its pods would have no time limit"
    for group, resource in (
        ("", "persistentvolumeclaims"),
        ("kueue.x-k8s.io", "localqueues"),
        ("", "resourcequotas"),
        ("rbac.authorization.k8s.io", "rolebindings"),
        ("networking.k8s.io", "networkpolicies"),
    ):
        assert not _may(lab, "ada", "create", group, resource, "llm"), resource
    for group, resource in (("", "nodes"), ("kueue.x-k8s.io", "clusterqueues"), ("", "persistentvolumes")):
        assert not _may(lab, "ada", "patch", group, resource, "")
    assert _may(lab, "ada", "list", "", "nodes", "") and not _may(lab, "mallory", "list", "", "nodes", "")


def _may(lab: Lab, user: str, verb: str, group: str, resource: str, namespace: str) -> bool:
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


def _allowed(**security: Any) -> Json:
    return MAIN | {"securityContext": security}


PODS: list[tuple[str, Json, str | None]] = [
    ("plain", {}, None),
    ("rdma", {"containers": [_allowed(capabilities={"add": ["IPC_LOCK"]})]}, None),
    ("privileged", {"containers": [_allowed(privileged=True)]}, "privileged"),
    ("init", {"initContainers": [_allowed(privileged=True) | {"name": "i"}]}, "privileged"),
    ("capability", {"containers": [_allowed(capabilities={"add": ["SYS_ADMIN"]})]}, "capabilities"),
    ("host-path", {"volumes": [{"name": "v", "hostPath": {"path": "/scratch/vision"}}]}, "volumes that may be used"),
    ("nfs", {"volumes": [{"name": "v", "nfs": {"server": "x", "path": "/"}}]}, "volumes that may be used"),
    ("host-network", {"hostNetwork": True}, "hostNetwork"),
    ("host-pid", {"hostPID": True}, "hostPID"),
    ("host-port", {"containers": [MAIN | {"ports": [{"containerPort": 80, "hostPort": 80}]}]}, "hostPort"),
]


@pytest.mark.parametrize("name, more, refusal", PODS, ids=[item[0] for item in PODS])
def test_pods_of_tenants_must_meet_the_baseline(lab: Lab, name: str, more: Json, refusal: str | None) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": POD | more}
    try:
        lab.api.post("/api/v1/namespaces/llm/pods", pod, dryRun="All")
    except ApiStatusError as error:
        assert refusal and refusal in str(error)
    else:
        assert refusal is None


def test_the_highest_priority_is_kept(lab: Lab) -> None:
    key = "kueue.x-k8s.io/priority-class"
    path = "/apis/batch/v1/namespaces/vision/jobs"
    for priority, allowed in (("low", True), ("normal", True), ("high", False), ("none-such", False)):
        job = _job("prio", 1, **{key: priority})
        job["metadata"] |= {"namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "vision", key: priority}}
        if allowed:
            lab.api.post(path, job, dryRun="All")
        else:
            with pytest.raises(ApiStatusError, match="priority"):
                lab.api.post(path, job, dryRun="All")
    lab.api.post("/apis/batch/v1/namespaces/llm/jobs", _job("prio", 1, **{key: "high"}), dryRun="All")


@pytest.fixture
def limited(lab: Lab) -> Iterator[int]:
    """The tenant vision with a time limit of its jobs in seconds, as labelled for a declared ``max_time``."""
    space, key, longest = "/api/v1/namespaces/vision", "supercloud.dev/longest-seconds", 3600
    lab.api.patch(space, {"metadata": {"labels": {key: str(longest)}}})
    try:
        lab.until(lambda: _refused(lab, _bare()))  # policies read a copy of the namespace
        yield longest
    finally:
        lab.api.patch(space, {"metadata": {"labels": {key: None}}})


def _bare(labels: Mapping[str, str] | None = None, **more: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "bare", "labels": dict(labels or {})},
        "spec": POD | more,
    }


def _refused(lab: Lab, pod: Json) -> str:
    """What a pod of the tenant vision is refused for; empty where it is taken."""
    try:
        lab.api.post("/api/v1/namespaces/vision/pods", pod, dryRun="All")
    except ApiStatusError as error:
        return str(error)
    return ""


def test_a_pod_without_a_job_has_the_limits_of_jobs(lab: Lab, limited: int) -> None:
    """A queue takes such a pod as a job: with the priority of its label, and for as long as it says itself."""
    key, timed = "kueue.x-k8s.io/priority-class", {"activeDeadlineSeconds": limited}
    assert not _refused(lab, _bare(**timed)) and not _refused(lab, _bare({key: "normal"}, **timed))
    for pod, reason in (
        (_bare(), "activeDeadlineSeconds"),
        (_bare(activeDeadlineSeconds=limited + 1), "activeDeadlineSeconds"),
        (_bare({key: "high"}, **timed), "priority is unknown or higher"),
        (_bare({key: "none-such"}, **timed), "priority is unknown or higher"),
    ):
        assert reason in _refused(lab, pod), pod


def test_pods_of_an_admitted_job_need_no_limit_of_their_own(lab: Lab, labelled: str, limited: int) -> None:
    """Its controller makes them, and Kueue writes into them, where the pods of nobody's job would be refused."""
    key = "kueue.x-k8s.io/max-exec-time-seconds"
    job = _job("child", 1)
    job["metadata"] |= {"namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "vision"}}
    with pytest.raises(ApiStatusError, match="time limit"):
        lab.api.post("/apis/batch/v1/namespaces/vision/jobs", job)
    job["metadata"]["labels"][key] = str(limited)
    lab.api.post("/apis/batch/v1/namespaces/vision/jobs", job)
    path = "/api/v1/namespaces/vision/pods"
    try:
        [pod] = lab.until(lambda: list(lab.api.iter_items(path, labelSelector="job-name=child")))
        user = ApiClient(ClusterTransport(config_file=lab.kubeconfig_of("bob", "vision")))
        user.patch(f"{path}/{pod['metadata']['name']}", {"metadata": {"labels": {"note": "mine"}}})
    finally:
        lab.api.delete("/apis/batch/v1/namespaces/vision/jobs/child")
        lab.until(lambda: not list(lab.api.iter_items(path, labelSelector="job-name=child")))


def test_folders_build(lab: Lab, tmp_path: Path) -> None:
    """Kubectl's own kustomize takes the tree and finds every object in it."""
    for name, (_, bundle) in BUNDLES.items():
        bundle.write(tmp_path / name)
        done = subprocess.run(["kubectl", "kustomize", tmp_path / name], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        built = [item for item in yaml.load_all(done.stdout, yaml.CSafeLoader) if item]
        assert len(built) == len(cluster_objects(bundle)), name
