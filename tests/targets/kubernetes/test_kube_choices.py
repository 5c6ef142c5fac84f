"""Choices of spec and catalog: levels, sizes of the control plane, sites with their own devices."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from kube_specs import ELSEWHERE, VARIANTS, build_plan, list_bundle_objects, read_quota, select_kind

from supercloud.catalog import Catalog
from supercloud.catalog.machine import Machine
from supercloud.jobs.placement.place import Placement, place
from supercloud.jobs.placement.requests.kubernetes import KubernetesRequest
from supercloud.spec import JobSpec
from supercloud.targets import render
from supercloud.targets.schedulers.kubernetes.labels import build_label_table


def render_objects(changes: dict[str, Any]) -> list[dict[str, Any]]:
    return list_bundle_objects(render(build_plan(changes), "kubernetes"))


def test_the_queue_has_only_the_chosen_levels() -> None:
    plan = build_plan(VARIANTS["levels"])
    items = list_bundle_objects(render(plan, "kubernetes"))
    [topology] = select_kind(items, "Topology").values()
    labels = [item["nodeLabel"].rpartition("/")[2] for item in topology["spec"]["levels"]]
    assert labels == ["su", "scale-up", "hostname"], "outermost first, whatever the order in the spec"
    shown = {fact.partition("=")[0] for line in build_label_table(plan) for fact in line.split()[4:]}
    assert {"topology.supercloud.dev/su", "topology.supercloud.dev/scale-up"} <= shown
    assert not shown & {"topology.supercloud.dev/fabric", "topology.supercloud.dev/leaf-set"}
    nodes = select_kind(render_objects(VARIANTS["levels-volcano"]), "HyperNode")
    assert {item["spec"]["tierName"] for item in nodes.values()} == {"su"}


def test_volcano_finds_the_levels_of_a_cloud_by_its_labels() -> None:
    """Outermost first and down to the host, as its discovery reads them; not as text, which its chart would quote."""
    bundle = render(build_plan(VARIANTS["aws-volcano"]), "kubernetes")
    document = yaml.safe_load(bundle["charts/volcano.yaml"])["custom"]["controller_config_override"]
    [source] = document["networkTopologyDiscovery"]
    [labels] = source["config"]["networkTopologyTypes"].values()
    assert source["enabled"] and [item["nodeLabel"].rpartition("/")[2] for item in labels] == [
        "network-node-layer-1",
        "network-node-layer-2",
        "network-node-layer-3",
        "hostname",
    ]
    assert not any(name.startswith("hypernodes") for name in bundle.files)


def test_levels_of_a_cloud_are_selected_by_name() -> None:
    scheduler = {"kind": "kubernetes", "version": "1.36", "levels": ["network-node-layer-2"]}
    [topology] = select_kind(render_objects(VARIANTS["aws"] | {"scheduler": scheduler}), "Topology").values()
    assert [item["nodeLabel"] for item in topology["spec"]["levels"]] == [
        "topology.k8s.aws/network-node-layer-2",
        "kubernetes.io/hostname",
    ]


def test_threads_of_an_instance_are_its_vcpus() -> None:
    """Whether or not its processors are in the catalog; reserved ones are not counted."""
    pools = [{"name": "train", "machine": "p5en.48xlarge", "nodes": 4, "reserve": {"cores": 8}}]
    changes = VARIANTS["aws"] | {"pools": pools, "fabrics": [], "storage": [], "tenants": [{"name": "all"}]}
    [queue] = select_kind(render_objects(changes), "ClusterQueue").values()
    assert read_quota(queue, "train", "cpu") == 4 * (192 - 8)
    assert "kubernetes-node-size" not in {item.check for item in build_plan(changes).findings}


@pytest.mark.parametrize("machine, known", [("p5.48xlarge", True), ("g5.48xlarge", False)])
def test_only_machines_with_a_topology_have_its_labels(machine: str, known: bool) -> None:
    """A node without the label of a level would never be used."""
    pools = [{"name": "train", "machine": machine, "nodes": 4}]
    items = render_objects(VARIANTS["aws"] | {"pools": pools, "fabrics": [], "storage": []})
    [topology] = select_kind(items, "Topology").values()
    assert (len(topology["spec"]["levels"]) > 1) == known


@pytest.mark.parametrize(
    "version, served, expected",
    [
        ("1.36", "admissionregistration.k8s.io/v1", {}),
        (
            "1.35",
            "admissionregistration.k8s.io/v1beta1",
            {
                "feature-gates": "MutatingAdmissionPolicy=true",
                "runtime-config": "admissionregistration.k8s.io/v1beta1=true",
            },
        ),
        ("1.33", "", {}),
    ],
)
def test_the_api_server_counts_starts_if_it_supports_it(version: str, served: str, expected: dict[str, str]) -> None:
    bundle = render(build_plan({"scheduler": {"kind": "kubernetes", "version": version}}), "kubernetes")
    kinds = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    found = [item["apiVersion"] for item in list_bundle_objects(bundle) if item["kind"] in kinds]
    assert found == ([served] * 2 if served else [])
    documents = yaml.safe_load_all(bundle["control-plane/kubeadm-init.yaml"])
    [cluster] = [item for item in documents if item["kind"] == "ClusterConfiguration"]
    args = {item["name"]: item["value"] for item in cluster["apiServer"]["extraArgs"]}
    assert {name: args[name] for name in ("feature-gates", "runtime-config") if name in args} == expected


@pytest.mark.parametrize("version", ["1.36", "1.35"])
def test_volcano_counts_starts_itself(version: str) -> None:
    bundle = render(
        build_plan({"scheduler": {"kind": "kubernetes", "version": version, "queue": "volcano"}}), "kubernetes"
    )
    assert "supercloud-starts" not in "".join(map(str, list_bundle_objects(bundle)))
    assert "feature-gates" not in bundle["control-plane/kubeadm-init.yaml"]


@pytest.mark.parametrize("nodes, reads, writes", [(64, 400, 200), (600, 1500, 500), (4000, 3000, 1000)])
def test_the_api_server_grows_with_the_cluster(nodes: int, reads: int, writes: int) -> None:
    plan = build_plan({"pools": [{"name": "train", "machine": "dgx-h100", "nodes": nodes}], "fabrics": []})
    documents = yaml.safe_load_all(render(plan, "kubernetes")["control-plane/kubeadm-init.yaml"])
    [cluster] = [item for item in documents if item["kind"] == "ClusterConfiguration"]
    args = {item["name"]: item["value"] for item in cluster["apiServer"]["extraArgs"]}
    assert (args["max-requests-inflight"], args["max-mutating-requests-inflight"]) == (str(reads), str(writes))
    assert plan.scheduler.kubernetes and plan.scheduler.kubernetes.control_plane
    image = plan.scheduler.kubernetes.control_plane.virtual_address
    assert image in render(plan, "kubernetes")["control-plane/kube-vip.yaml"]


def test_neuron_devices_and_adapters_have_their_plugins() -> None:
    bundle = render(build_plan(VARIANTS["neuron"]), "kubernetes")
    assert yaml.safe_load(bundle["charts/neuron.yaml"])["npd"] == {"enabled": False}
    efa = yaml.safe_load(bundle["charts/aws-efa.yaml"])
    assert efa["supportedInstanceLabels"] == {"keys": ["supercloud.dev/pool"], "values": ["train"]}
    assert [item["key"] for item in efa["tolerations"]] == ["aws.amazon.com/neuron"]
    queue = select_kind(list_bundle_objects(bundle), "ClusterQueue")["llm"]
    assert read_quota(queue, "train", "aws.amazon.com/neuron") == 11 * 16, "of 16 nodes with 16 devices each"


@pytest.mark.parametrize(
    "changes, brought",
    [
        ({}, False),
        (VARIANTS["claims"], False),
        (VARIANTS["sliced"], False),
        (VARIANTS["nvl72"], False),
        (VARIANTS["volcano"], False),
        (ELSEWHERE["gke"], False),
        (ELSEWHERE["aks"], False),
        (VARIANTS["aws"], True),
    ],
)
def test_a_variable_of_a_container_gives_no_gpus(changes: dict[str, Any], brought: bool) -> None:
    """NVIDIA_VISIBLE_DEVICES=all in a pod without GPUs would give it those of all tenants on the node.

    Devices then come by CDI. A strategy of our own would turn the plugin's off: volume mounts need the NVIDIA runtime.
    """
    plan = build_plan(changes)
    values = yaml.safe_load(render(plan, "kubernetes")["charts/gpu-operator.yaml"])
    reported = {item["name"]: item["value"] for item in values["toolkit"].get("env", ())}
    closed = {"ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED": "false"}
    assert (values["toolkit"]["enabled"], reported) == ((False, {}) if brought else (True, closed))
    assert values["cdi"]["enabled"] is True and "env" not in values.get("devicePlugin", {})
    assert bool([item for item in plan.findings if item.check == "kubernetes-visible-devices"]) is brought


def test_gke_keeps_its_own_plugin_and_networks() -> None:
    plan = build_plan(ELSEWHERE["gke"])
    bundle = render(plan, "kubernetes")
    values = yaml.safe_load(bundle["charts/gpu-operator.yaml"])
    assert not values["driver"]["enabled"] and not values["devicePlugin"]["enabled"]
    assert values["hostPaths"]["driverInstallDir"] == values["toolkit"]["installDir"]
    items = list_bundle_objects(bundle)
    params = select_kind(items, "GKENetworkParamSet")
    assert len(params) == len(select_kind(items, "Network")) == 8
    assert {item["spec"]["vpc"] for item in params.values()} == {"pod1-compute"}, "RDMA has one VPC"
    assert len({item["spec"]["vpcSubnet"] for item in params.values()}) == 8
    [check] = select_kind(items, "AdmissionCheck").values()
    [config] = select_kind(items, "ProvisioningRequestConfig").values()
    assert config["spec"]["parameters"] == {"maxRunDurationSeconds": str(7 * 86400)}
    queue = select_kind(items, "ClusterQueue")["llm"]["spec"]
    assert queue["admissionChecksStrategy"]["admissionChecks"] == [
        {"name": check["metadata"]["name"], "onFlavors": ["train"]}
    ]
    plain = select_kind(
        list_bundle_objects(render(build_plan(ELSEWHERE["gke-tcpx"]), "kubernetes")), "GKENetworkParamSet"
    )
    assert {item["spec"]["deviceMode"] for item in plain.values()} == {"NetDevice"}
    assert len({item["spec"]["vpc"] for item in plain.values()}) == 8


def test_tpus_need_nothing_in_the_cluster() -> None:
    bundle = render(build_plan(ELSEWHERE["tpu"]), "kubernetes")
    names = {item["name"] for item in yaml.safe_load(bundle["charts.lock.yaml"])["charts"]}
    assert not names & {"gpu-operator", "neuron", "network-operator"}
    [flavor] = select_kind(list_bundle_objects(bundle), "ResourceFlavor").values()
    assert flavor["spec"]["tolerations"] == [{"key": "google.com/tpu", "operator": "Exists", "effect": "NoSchedule"}]


@pytest.mark.slow
def test_storage_products_create_volumes_dynamically() -> None:
    bundle = render(build_plan(VARIANTS["products"]), "kubernetes")
    classes = select_kind(list_bundle_objects(bundle), "StorageClass")
    assert classes["fast-on-demand"]["provisioner"] == "csi.weka.io"
    assert classes["fast-on-demand"]["parameters"]["filesystemName"] == "fast"
    assert classes["deep-on-demand"]["parameters"]["volBackendFs"] == "deep"
    assert "charts/csi-wekafs.yaml" in bundle and "no chart" in bundle["INSTALL.md"]
    assert set(select_kind(list_bundle_objects(render(build_plan(), "kubernetes")), "StorageClass")) == {"scratch"}


@pytest.mark.slow
def test_channels_of_shared_memory_have_quota() -> None:
    """Kueue from 0.18 on holds back what claims a class that is not mapped; older ones do not look at claims."""
    bundle = render(build_plan(VARIANTS["nvl72"]), "kubernetes")
    config = yaml.safe_load(yaml.safe_load(bundle["charts/kueue.yaml"])["managerConfig"]["controllerManagerConfigYaml"])
    [mapping] = config["resources"]["deviceClassMappings"]
    assert mapping["deviceClassNames"] == ["compute-domain-default-channel.nvidia.com"]
    queues = select_kind(list_bundle_objects(bundle), "ClusterQueue")
    assert {read_quota(queue, "train", mapping["name"]) for queue in queues.values()} == {72}
    older = {"scheduler": {"kind": "kubernetes", "version": "1.36", "queue_version": "0.17"}}
    assert "deviceClassMappings" not in render(build_plan(VARIANTS["nvl72"] | older), "kubernetes")["charts/kueue.yaml"]
    assert "deviceClassMappings" not in render(build_plan(), "kubernetes")["charts/kueue.yaml"]


CATALOG = Catalog.load_default()
CLOUDS = [
    machine
    for name in CATALOG.list_names("machines")
    if (machine := CATALOG.get(Machine, name)).provider in ("gcp", "azure")
]
KINDS = {"ethernet": "roce", "gvnic": "gpudirect-tcpx", "infiniband": "infiniband"}


@pytest.mark.parametrize("machine", CLOUDS, ids=lambda machine: str(machine.name))
def test_every_machine_of_a_managed_cluster_is_supported(machine: Machine) -> None:
    """GKE and AKS: a tree, and a place for a job of one node and of sixteen."""
    base = ELSEWHERE["gke" if machine.provider == "gcp" else "aks"]
    kind = next((KINDS[item.kind] for item in machine.adapters if item.role == "compute"), None)
    plan = build_plan(
        base
        | {
            "pools": [{"name": "t", "machine": machine.name, "nodes": 36, "fabrics": ["c"] if kind else []}],
            "fabrics": [{"name": "c", "kind": kind}] if kind else [],
        }
    )
    assert not plan.errors, plan.errors
    assert machine.accelerators and select_kind(list_bundle_objects(render(plan, "kubernetes")), "ClusterQueue")
    for count in (1, 16 * machine.accelerators.count):
        job = JobSpec.model_validate(
            {"name": "j", "command": ["x"], "image": "a/b:1", "accelerators": {"count": count}}
        )
        at = place(job, plan)
        assert isinstance(at, Placement) and isinstance(at.request, KubernetesRequest)
        assert at.request.resource, at
