"""Rendered bundles with a real API server, strict validation, and the webhooks of Kueue, JobSet and LWS."""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from bundle_lab import (
    BUNDLE,
    HOSTS,
    PLAN,
    POD,
    PODS,
    build_bare_pod,
    build_job,
    find_wait_reason,
    get_refusal,
    is_allowed,
    label_nodes,
    list_running,
    start_lab,
)
from bundle_world import (
    BUNDLES,
    Served,
    build_plan,
    list_bundle_objects,
    list_charts,
    list_cluster_objects,
    list_objects,
    render_chart,
    select_kind,
)
from kube_lab import Lab

from supercloud.jobs.engines.kubernetes.api import ApiClient, ApiStatusError, ClusterTransport
from supercloud.plan.build.kubernetes.names import build_topology, format_level_label
from supercloud.targets import render
from supercloud.targets.schedulers.kubernetes import render_fleet

Json = dict[str, Any]
# these have immutable fields, and objects of ONPREM with the same names exist already
FIXED = ("Topology", "ResourceFlavor", "PersistentVolume", "PersistentVolumeClaim", "StorageClass")
SERVED_BY_OTHERS = {"kueue.x-k8s.io/v1alpha1"}  # Kueue 0.12; the lab has 0.19


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The cluster of ONPREM with its bundle applied."""
    with start_lab(tmp_path_factory.mktemp("bundle")) as lab:
        yield lab


@pytest.fixture(scope="module")
def labeled(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The output of the labeling job, run as its service account."""
    return label_nodes(lab, tmp_path_factory.mktemp("labels"))


@pytest.mark.parametrize("name", list(BUNDLES))
def test_every_object_is_accepted(lab: Lab, name: str) -> None:
    """The server knows every field, and no webhook rejects an object."""
    served = Served(lab.api)
    refused, asked = [], 0
    for item in list_objects(BUNDLES[name][1]):
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
    """With rendered values, by the release that the charts support; the others need resources of unavailable charts."""
    served = Served(lab.api)
    unknown, refused, asked = set(), [], 0
    for key, (chart, release, values) in list_charts().items():
        if PLAN.scheduler.kubernetes is None or chart not in PLAN.scheduler.kubernetes.charts:
            continue
        for item in render_chart(chart, release, values, tmp_path):
            # these exist already, with the address of the lab for conversions
            if item["kind"] == "CustomResourceDefinition":
                continue
            item["metadata"].setdefault("namespace", chart.namespace)
            # those of the lab with this name have addresses instead of services
            if item["kind"].endswith("WebhookConfiguration"):
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
    """Kinds that the server does not serve are of an older Kueue or have a schema in the project."""
    served = Served(lab.api)
    missing = {
        item["apiVersion"]
        for _, bundle in BUNDLES.values()
        for item in list_objects(bundle)
        if served.find_path(item) is None
    }
    from kube_schemas import list_kinds

    assert missing - {api for api, _ in list_kinds()} == SERVED_BY_OTHERS


def test_a_wrong_field_is_refused(lab: Lab) -> None:
    """The server validates strictly: this proves that the tests above can fail."""
    item = next(iter(select_kind(list_bundle_objects(BUNDLE), "ClusterQueue").values()))
    wrong = json.loads(json.dumps(item))
    wrong["spec"]["cohortNme"] = "x"
    with pytest.raises(ApiStatusError, match="cohortNme"):
        Served(lab.api).put(wrong, dry=True)


def test_volumes_follow_a_store_that_grows_and_gets_clients(lab: Lab) -> None:
    """No immutable field of the class, the volume or its claim changes."""
    served = Served(lab.api)
    switched = {"kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-qm9700"}
    pool = {"machine": "dgx-h100", "nodes": 4}
    for terabytes, networks in ((20, ["compute"]), (40, ["compute", "storage"])):
        plan = build_plan(
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
        (claim,) = (served.find_path(item) for item in items if item["kind"] == "PersistentVolumeClaim")
        lab.wait_until(lambda path=claim: lab.api.get(path).get("status", {}).get("phase") == "Bound")  # type: ignore[misc]
        assert lab.api.get(str(claim))["spec"]["resources"]["requests"]["storage"] in (
            f"{terabytes}Ti",
            f"{terabytes * 1024}Gi",
        )


def test_queues_are_active(lab: Lab) -> None:
    for name in ("llm", "vision"):
        queue = lab.wait_until(
            lambda name=name: _find_active(lab.api.get(f"/apis/kueue.x-k8s.io/v1beta2/clusterqueues/{name}"))  # type: ignore[misc]
        )
        assert queue["status"]["conditions"][0]["reason"] == "Ready"


def _find_active(item: Json) -> Json | None:
    conditions = item.get("status", {}).get("conditions", [])
    return item if any(found["type"] == "Active" and found["status"] == "True" for found in conditions) else None


def test_nodes_get_their_labels_and_taints(lab: Lab, labeled: str) -> None:
    assert labeled == f"{len(HOSTS)} nodes changed, 0 failed"
    nodes = {item["metadata"]["name"]: item for item in lab.api.iter_items("/api/v1/nodes")}
    topology = build_topology(PLAN, PLAN.pools[0])
    for level in topology.levels:
        for group in level.groups:
            for host in set(group.hosts) & set(HOSTS):
                assert nodes[host]["metadata"]["labels"][format_level_label(level.name)] == group.name
    for node in nodes.values():
        assert {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"} in node["spec"]["taints"]


def test_a_gang_is_placed_within_one_unit(lab: Lab, labeled: str) -> None:
    """All pods run within one unit, for which labels, taints, topology, flavor, quota and queues must match."""
    lab.api.post("/apis/batch/v1/namespaces/llm/jobs", build_job("near", 32, "su"))
    pods = lab.wait_until(lambda: list_running(lab, 32))
    nodes = {item["metadata"]["name"]: item["metadata"]["labels"] for item in lab.api.iter_items("/api/v1/nodes")}
    units = {nodes[pod["spec"]["nodeName"]][format_level_label("su")] for pod in pods}
    assert len(units) == 1 and len({pod["spec"]["nodeName"] for pod in pods}) == 32
    lab.api.delete("/apis/batch/v1/namespaces/llm/jobs/near")
    lab.wait_until(lambda: not list(lab.api.iter_items("/api/v1/namespaces/llm/pods")))


def test_a_gang_larger_than_a_unit_waits(lab: Lab, labeled: str) -> None:
    lab.api.post("/apis/batch/v1/namespaces/llm/jobs", build_job("far", 33, "su"))
    try:
        output = lab.wait_until(lambda: find_wait_reason(lab, "far"))
        assert "allows to fit only 32 out of 33" in output
    finally:
        lab.api.delete("/apis/batch/v1/namespaces/llm/jobs/far")


def test_a_user_has_permissions_in_its_own_namespace_only(lab: Lab) -> None:
    rights = [("batch", "jobs"), ("jobset.x-k8s.io", "jobsets"), ("", "pods"), ("", "secrets"), ("", "configmaps")]
    for (group, resource), space in itertools.product(rights, ("llm", "vision", "default", "kube-system")):
        assert is_allowed(lab, "ada", "create", group, resource, space) == (space == "llm"), (resource, space)
    kinds = [("apps", name) for name in ("deployments", "statefulsets", "daemonsets", "replicasets")]
    for group, resource in (*kinds, ("", "replicationcontrollers"), ("batch", "cronjobs")):
        assert not is_allowed(lab, "ada", "create", group, resource, "llm"), "its pods would have no time limit"
    for group, resource in (
        ("", "persistentvolumeclaims"),
        ("kueue.x-k8s.io", "localqueues"),
        ("", "resourcequotas"),
        ("rbac.authorization.k8s.io", "rolebindings"),
        ("networking.k8s.io", "networkpolicies"),
    ):
        assert not is_allowed(lab, "ada", "create", group, resource, "llm"), resource
    for group, resource in (("", "nodes"), ("kueue.x-k8s.io", "clusterqueues"), ("", "persistentvolumes")):
        assert not is_allowed(lab, "ada", "patch", group, resource, "")
    assert is_allowed(lab, "ada", "list", "", "nodes", "") and not is_allowed(lab, "mallory", "list", "", "nodes", "")


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
        job = build_job("prio", 1, **{key: priority})
        job["metadata"] |= {"namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "vision", key: priority}}
        if allowed:
            lab.api.post(path, job, dryRun="All")
        else:
            with pytest.raises(ApiStatusError, match="priority"):
                lab.api.post(path, job, dryRun="All")
    lab.api.post("/apis/batch/v1/namespaces/llm/jobs", build_job("prio", 1, **{key: "high"}), dryRun="All")
    job = build_job("prio", 1)  # without the label Kueue takes the priority of this class
    job["metadata"] |= {"namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "vision"}}
    job["spec"]["template"]["spec"]["priorityClassName"] = "system-cluster-critical"
    with pytest.raises(ApiStatusError, match="priorityClassName is not allowed in the template"):
        lab.api.post(path, job, dryRun="All")


@pytest.mark.extended
@pytest.mark.parametrize("kind", ["jobset", "leaderworkerset"])
def test_a_template_has_no_priority_class(lab: Lab, kind: str) -> None:
    """The server reports rules whose fields the kind does not have."""
    path = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
    policy = lab.wait_until(lambda: get_checked_policy(lab, f"{path}/supercloud-tenant-{kind}-templates"))
    assert not policy["status"].get("typeChecking", {}).get("expressionWarnings"), policy["status"]


def get_checked_policy(lab: Lab, path: str) -> Json | None:
    """A policy whose current version the server has checked; None before."""
    policy: Json = lab.api.get(path)
    observed = policy.get("status", {}).get("observedGeneration")
    return policy if observed == policy["metadata"]["generation"] else None


@pytest.fixture
def limited(lab: Lab) -> Iterator[int]:
    """The tenant vision with a time limit of its jobs in seconds, as labeled for a declared ``max_time``."""
    space, key, longest = "/api/v1/namespaces/vision", "supercloud.dev/longest-seconds", 3600
    lab.api.patch(space, {"metadata": {"labels": {key: str(longest)}}})
    try:
        lab.wait_until(lambda: get_refusal(lab, build_bare_pod()))  # policies read a cached copy of the namespace
        yield longest
    finally:
        lab.api.patch(space, {"metadata": {"labels": {key: None}}})


def test_a_pod_without_a_job_has_the_limits_of_jobs(lab: Lab, limited: int) -> None:
    """A queue treats such a pod as a job: with the priority of its label and the time limit of the pod."""
    key, timed = "kueue.x-k8s.io/priority-class", {"activeDeadlineSeconds": limited}
    assert not get_refusal(lab, build_bare_pod(**timed)) and not get_refusal(
        lab, build_bare_pod({key: "normal"}, **timed)
    )
    for pod, reason in (
        (build_bare_pod(), "activeDeadlineSeconds"),
        (build_bare_pod(activeDeadlineSeconds=limited + 1), "activeDeadlineSeconds"),
        (build_bare_pod({key: "high"}, **timed), "priority is unknown or higher"),
        (build_bare_pod({key: "none-such"}, **timed), "priority is unknown or higher"),
    ):
        assert reason in get_refusal(lab, pod), pod


def test_pods_of_an_admitted_job_need_no_limit_of_their_own(lab: Lab, labeled: str, limited: int) -> None:
    """The controller of the job creates them and Kueue changes them, although pods without a job would be refused."""
    key = "kueue.x-k8s.io/max-exec-time-seconds"
    job = build_job("child", 1)
    job["metadata"] |= {"namespace": "vision", "labels": {"kueue.x-k8s.io/queue-name": "vision"}}
    with pytest.raises(ApiStatusError, match="time limit"):
        lab.api.post("/apis/batch/v1/namespaces/vision/jobs", job)
    job["metadata"]["labels"][key] = str(limited)
    lab.api.post("/apis/batch/v1/namespaces/vision/jobs", job)
    path = "/api/v1/namespaces/vision/pods"
    try:
        [pod] = lab.wait_until(lambda: list(lab.api.iter_items(path, labelSelector="job-name=child")))
        user = ApiClient(ClusterTransport(config_file=lab.write_kubeconfig("bob", "vision")))
        user.patch(f"{path}/{pod['metadata']['name']}", {"metadata": {"labels": {"note": "mine"}}})
    finally:
        lab.api.delete("/apis/batch/v1/namespaces/vision/jobs/child")
        lab.wait_until(lambda: not list(lab.api.iter_items(path, labelSelector="job-name=child")))


def test_kustomize_of_kubectl_builds_the_folders(lab: Lab, tmp_path: Path) -> None:
    """The kustomize of kubectl builds the tree with every object."""
    for name, (_, bundle) in BUNDLES.items():
        bundle.write(tmp_path / name)
        done = subprocess.run(["kubectl", "kustomize", tmp_path / name], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        built = [item for item in yaml.load_all(done.stdout, yaml.CSafeLoader) if item]
        assert len(built) == len(list_cluster_objects(bundle)), name
