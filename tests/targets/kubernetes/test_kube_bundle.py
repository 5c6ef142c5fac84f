"""The tree as a whole: every object has a definition, every folder its list, every chart its version."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from kube_schemas import list_errors, list_kinds
from kube_specs import build_plan, list_bundle_objects, render_all, select_kind

from supercloud.errors import InputError
from supercloud.plan.model.plan import Plan
from supercloud.primitives.bundle import Bundle
from supercloud.targets import render
from supercloud.targets.schedulers.kubernetes import render_fleet

BUNDLES = render_all()
# what a real API server is asked about, in tests/real/kubernetes
SERVED = re.compile(
    r"(v1|(apps|batch|apiextensions\.k8s\.io|rbac\.authorization\.k8s\.io|networking\.k8s\.io|storage\.k8s\.io|"
    r"scheduling\.k8s\.io|"
    r"admissionregistration\.k8s\.io|resource\.k8s\.io|kueue\.x-k8s\.io|monitoring\.coreos\.com|resource\.nvidia\.com|"
    r"sriovnetwork\.openshift\.io|mellanox\.com|(scheduling|topology)\.volcano\.sh|networking\.gke\.io|argoproj\.io|"
    r"(source|helm|kustomize)\.toolkit\.fluxcd\.io)/v\d+((alpha|beta)\d+)?)$"
)
each = pytest.mark.parametrize("plan, bundle", list(BUNDLES.values()), ids=list(BUNDLES))


def read_gitops(bundle: Bundle) -> list[dict[str, Any]]:
    return [item for path, text in bundle.items() if path.startswith("gitops/") for item in yaml.safe_load_all(text)]


@each
def test_every_object_has_a_definition(plan: Plan, bundle: Bundle) -> None:
    for item in [*list_bundle_objects(bundle), *read_gitops(bundle)]:
        if (item["apiVersion"], item["kind"]) in list_kinds():
            assert list_errors(item) == []
        else:
            assert SERVED.match(item["apiVersion"]), f"{item['apiVersion']} {item['kind']} has no definition anywhere"


@pytest.mark.slow
def test_every_schema_is_used() -> None:
    seen = {
        (item["apiVersion"], item["kind"])
        for _, bundle in BUNDLES.values()
        for item in [*list_bundle_objects(bundle), *read_gitops(bundle)]
    }
    assert list_kinds() <= seen


@each
def test_bundles_are_deterministic_and_list_every_file(plan: Plan, bundle: Bundle) -> None:
    assert dict(render(plan, "kubernetes")) == dict(bundle)
    folders = ["namespaces", *yaml.safe_load(bundle["kustomization.yaml"])["resources"]]
    for folder in folders:
        listed = yaml.safe_load(bundle[f"{folder}/kustomization.yaml"])["resources"]
        files = {path.removeprefix(f"{folder}/") for path in bundle if path.startswith(f"{folder}/")}
        assert files == {*listed, "kustomization.yaml"}


@each
def test_objects_are_unique(plan: Plan, bundle: Bundle) -> None:
    names = [
        (item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
        for item in list_bundle_objects(bundle)
    ]
    assert len(names) == len(set(names))


@each
def test_namespaces_are_created_before_they_are_used(plan: Plan, bundle: Bundle) -> None:
    there = {"default", "kube-system"}
    for item in list_bundle_objects(bundle):
        if item["kind"] == "Namespace":
            there.add(item["metadata"]["name"])
        space = item["metadata"].get("namespace", "default")
        assert space in there, f"{item['kind']} {item['metadata']['name']} comes before its namespace {space}"


@each
def test_every_chart_is_locked_and_installed(plan: Plan, bundle: Bundle) -> None:
    lock = yaml.safe_load(bundle["charts.lock.yaml"])["charts"]
    assert [item["name"] for item in lock] == [chart.name for chart in plan.scheduler.kubernetes.charts]  # type: ignore[union-attr]
    for item in lock:
        assert f"--version {item['version']} --namespace {item['namespace']}" in bundle["install.sh"]
        yaml.safe_load(bundle[item["values"]])
    order = [item["name"] for item in lock]
    for chart in plan.scheduler.kubernetes.charts:  # type: ignore[union-attr]
        assert all(order.index(before) < order.index(chart.name) for before in chart.after)


@each
def test_dashboards_query_only_known_metrics(plan: Plan, bundle: Bundle) -> None:
    facts = plan.scheduler.kubernetes
    assert facts is not None
    known = {metric.name for item in facts.metrics.values() for metric in item.metrics}
    boards = [
        text
        for item in select_kind(list_bundle_objects(bundle), "ConfigMap").values()
        for name, text in item["data"].items()
        if item["metadata"]["labels"].get("grafana_dashboard")
    ]
    assert boards
    places = {
        item["metadata"]["namespace"]
        for item in select_kind(list_bundle_objects(bundle), "ConfigMap").values()
        if item["metadata"]["labels"].get("grafana_dashboard")
    }
    sidecar = yaml.safe_load(bundle["charts/kube-prometheus-stack.yaml"])["grafana"]["sidecar"]
    # not ConfigMaps of tenants: the sidecar fetches what the keys of one name, from this namespace
    assert {sidecar[kind]["searchNamespace"] for kind in ("dashboards", "datasources")} == places
    for board in map(json.loads, boards):
        assert board["panels"]
        for target in [target for panel in board["panels"] for target in panel["targets"]]:
            asked = set(re.findall(r"\b(?:DCGM_FI|DCGM_EXP|node|kueue)_[A-Za-z0-9_]+", target["expr"]))
            assert asked and asked <= known
    [rules] = select_kind(list_bundle_objects(bundle), "PrometheusRule").values()
    for rule in [rule for group in rules["spec"]["groups"] for rule in group["rules"]]:
        asked = set(re.findall(r"\b(?:DCGM_FI|DCGM_EXP|node|kueue)_[A-Za-z0-9_]+", rule["expr"]))
        assert asked - {"node"} <= known, rule["alert"]


def test_metrics_of_alerts_are_exported() -> None:
    maps = select_kind(list_bundle_objects(BUNDLES["onprem"][1]), "ConfigMap")
    counters = maps["gpu-operator/dcgm-counters"]["data"]["dcgm-metrics.csv"]
    exported = {line.split(",")[0] for line in counters.splitlines() if not line.startswith("#")}
    rules = json.dumps(select_kind(list_bundle_objects(BUNDLES["onprem"][1]), "PrometheusRule"))
    assert set(re.findall(r"DCGM_(?:FI|EXP)_[A-Z_]+", rules)) <= exported
    assert "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL" in exported, "it is off by default"
    values = yaml.safe_load(BUNDLES["onprem"][1]["charts/gpu-operator.yaml"])
    assert values["dcgmExporter"]["config"]["name"] == "dcgm-counters"


@pytest.mark.slow
def test_nothing_is_per_node() -> None:
    small = list_bundle_objects(BUNDLES["onprem"][1])
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 2048, "fabrics": ["compute"]}]
    large = list_bundle_objects(render(build_plan({"pools": pools}), "kubernetes"))
    assert len(large) == len(small)


@pytest.mark.slow
def test_releases_differ_by_data() -> None:
    old = {(item["apiVersion"], item["kind"]) for item in list_bundle_objects(BUNDLES["old"][1])}
    assert ("kueue.x-k8s.io/v1alpha1", "Topology") in old and ("kueue.x-k8s.io/v1alpha1", "Cohort") in old
    queues = select_kind(list_bundle_objects(BUNDLES["old"][1]), "ClusterQueue")
    assert queues["llm"]["spec"]["cohort"] == "pod1" and "cohortName" not in queues["llm"]["spec"]
    config = yaml.safe_load(
        yaml.safe_load(BUNDLES["old"][1]["charts/kueue.yaml"])["managerConfig"]["controllerManagerConfigYaml"]
    )
    assert config["featureGates"] == {"TopologyAwareScheduling": True} and config["fairSharing"]["enable"] is True
    assert not any(api.startswith("resource.k8s.io") for api, _ in old)
    new = {(item["apiVersion"], item["kind"]) for item in list_bundle_objects(BUNDLES["onprem"][1])}
    assert {("kueue.x-k8s.io/v1beta2", "Topology"), ("resource.k8s.io/v1", "DeviceClass")} <= new


def test_gitops_follows_the_same_order() -> None:
    plan, bundle = BUNDLES["flux"]
    stages = [item for item in read_gitops(bundle) if item["kind"] == "Kustomization"]
    stages = [item for item in stages if item["metadata"]["name"] != plan.name]
    order = [item["spec"]["path"].removeprefix("./") for item in stages]
    assert order == ["namespaces", *yaml.safe_load(bundle["kustomization.yaml"])["resources"]]
    assert [item["spec"].get("dependsOn", [{}])[0].get("name") for item in stages[1:]] == [
        item["metadata"]["name"] for item in stages[:-1]
    ]
    charts = plan.scheduler.kubernetes.charts  # type: ignore[union-attr]
    assert len([item for item in read_gitops(bundle) if item["kind"] == "HelmRelease"]) == len(charts)


def test_argocd_has_all_applications_and_retries_them() -> None:
    """It starts them together (waves order the objects of one Application): objects that are too early are retried."""
    plan, bundle = BUNDLES["argocd"]
    applications = {item["metadata"]["name"]: item for item in read_gitops(bundle)}
    charts = {chart.name for chart in plan.scheduler.kubernetes.charts}  # type: ignore[union-attr]
    folders = {"namespaces", *yaml.safe_load(bundle["kustomization.yaml"])["resources"]}
    assert applications.keys() == {plan.name} | charts | {f"{plan.name}-{folder}" for folder in folders}
    for item in applications.values():
        assert "annotations" not in item["metadata"]
        retry = item["spec"]["syncPolicy"]["retry"]
        assert retry["backoff"] == {"duration": "30s", "factor": 2, "maxDuration": "10m"}
        seconds = sum(min(30 * 2**number, 600) for number in range(retry["limit"]))
        assert 3600 <= seconds < 5400  # which INSTALL.md calls an hour
    assert "argocd app sync" in bundle["INSTALL.md"]


def test_a_cloud_bundle_has_no_control_plane() -> None:
    bundle = BUNDLES["aws"][1]
    assert not [path for path in bundle if path.startswith(("control-plane/", "nodes/", "hosts/"))]
    [topology] = select_kind(list_bundle_objects(bundle), "Topology").values()
    labels = [item["nodeLabel"] for item in topology["spec"]["levels"]]
    assert labels[0] == "topology.k8s.aws/network-node-layer-1" and labels[-1] == "kubernetes.io/hostname"
    assert "charts/aws-efa.yaml" in bundle and "charts/cilium.yaml" not in bundle


@pytest.mark.slow
def test_no_secret_is_rendered() -> None:
    for _, bundle in BUNDLES.values():
        assert not select_kind(list_bundle_objects(bundle), "Secret")
        assert "token:" not in "".join(text for path, text in bundle.items() if path.startswith("control-plane/"))


def test_a_fleet_is_one_queue() -> None:
    bundle = render_fleet("company", {"pod1": BUNDLES["onprem"][0], "trainer": BUNDLES["aws"][0]})
    items = [
        item
        for path, text in bundle.items()
        if path.startswith("manager/") and "/charts/" not in path
        for item in yaml.safe_load_all(text)
    ]
    assert select_kind(items, "MultiKueueConfig")["company"]["spec"]["clusters"] == ["pod1", "trainer"]
    queue = select_kind(items, "ClusterQueue")["llm"]["spec"]
    assert queue["admissionChecksStrategy"]["admissionChecks"] == [{"name": "company"}]
    quotas = {item["name"]: item["nominalQuota"] for item in queue["resourceGroups"][0]["flavors"][0]["resources"]}
    assert quotas["nvidia.com/gpu"] == str(64 * 8 + 16 * 8)
    assert set(select_kind(items, "LocalQueue")) == {"llm/llm", "vision/vision"}
    assert "workers/pod1/multikueue.yaml" in bundle
    values = yaml.safe_load(bundle["manager/charts/kueue.yaml"])
    document = yaml.safe_load(values["managerConfig"]["controllerManagerConfigYaml"])
    [spaces] = document["managedJobsNamespaceSelector"]["matchExpressions"]
    assert spaces["values"] == ["llm", "vision"]
    ports = set(document["resources"]["excludeResourcePrefixes"])
    assert {"nvidia.com/compute-rail", "vpc.amazonaws.com/efa"} <= ports, "what any worker leaves uncounted"
    assert f"--version {BUNDLES['onprem'][0].scheduler.kubernetes.kueue.version}" in bundle["INSTALL.md"]  # type: ignore[union-attr]


def test_a_fleet_needs_kueue_everywhere() -> None:
    with pytest.raises(InputError, match="pod2 has no Kueue"):
        render_fleet("company", {"pod1": BUNDLES["onprem"][0], "pod2": BUNDLES["volcano"][0]})
