"""What is in the objects: quotas that add up, isolation, nodes that get their labels, accelerators that are cut."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from kube_specs import VARIANTS, by_kind, objects_of, planned, quota
from samples import ROOT

from supercloud.plan.build.kubernetes.fabrics import build_nccl_environment, list_attachments
from supercloud.plan.build.kubernetes.names import build_topology, format_level_label
from supercloud.plan.build.kubernetes.networks import build_cluster_networks
from supercloud.plan.build.kubernetes.quota import split_by_fractions
from supercloud.plan.model.plan import Plan
from supercloud.targets import list_targets, render
from supercloud.targets.schedulers.kubernetes.given import require_kubernetes_spec
from supercloud.targets.schedulers.kubernetes.labels import build_label_table
from supercloud.targets.schedulers.kubernetes.tenants import BLOCKED_RANGES_ANNOTATION

H100 = {"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["compute"]}


def rendered(changes: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    return objects_of(render(planned(changes), "kubernetes"))


@settings(deadline=None)
@given(st.integers(0, 10_000), st.lists(st.integers(0, 100), min_size=1, max_size=20))
def test_shares_add_up(total: int, shares: list[int]) -> None:
    whole = sum(shares) or 1
    parts = split_by_fractions(total, [share / whole for share in shares])
    assert sum(parts) == (total if sum(shares) else 0)
    assert all(abs(part - total * share / whole) < 1 for part, share in zip(parts, shares, strict=True))


def test_tenants_get_whole_nodes() -> None:
    queues = by_kind(rendered({"pools": [H100 | {"nodes": 127, "spares": 1}]}), "ClusterQueue")
    gpus = [quota(queues[name], "train", "nvidia.com/gpu") for name in ("llm", "vision")]
    assert gpus == [88 * 8, 38 * 8]
    assert [quota(queues[name], "train", "cpu") for name in ("llm", "vision")] == [88 * 224, 38 * 224]
    assert {name: item["spec"]["fairSharing"]["weight"] for name, item in queues.items()} == {
        "llm": "70",
        "vision": "30",
    }


def test_few_nodes_are_shared_by_the_accelerator() -> None:
    tenants = [{"name": name} for name in ("a", "b", "c")]
    queues = by_kind(rendered({"pools": [H100 | {"nodes": 2}], "tenants": tenants}), "ClusterQueue")
    assert sorted(quota(item, "train", "nvidia.com/gpu") or 0 for item in queues.values()) == [5, 5, 6]


def test_limits_bound_what_is_owned_and_borrowed() -> None:
    tenants = [
        {"name": "a", "share": 50, "limits": {"accelerators": 64}},
        {"name": "b", "share": 25, "borrow": False},
        {"name": "c", "share": 25, "limits": {"nodes": 20, "submitted": 5, "max_time": "1 d"}},
    ]
    items = rendered({"tenants": tenants})
    queues, cohort = by_kind(items, "ClusterQueue"), by_kind(items, "Cohort")["pod1"]
    assert quota(queues["a"], "train", "nvidia.com/gpu") == 64
    assert quota(queues["a"], "train", "nvidia.com/gpu", "borrowingLimit") == 0
    assert quota(queues["b"], "train", "nvidia.com/gpu", "borrowingLimit") == 0
    assert quota(queues["c"], "train", "nvidia.com/gpu", "borrowingLimit") == (20 - 16) * 8
    assert quota(cohort, "train", "nvidia.com/gpu") == (32 - 8) * 8, "what a limit keeps from a tenant is for all"
    hard = {name: item["spec"]["hard"] for name, item in by_kind(items, "ResourceQuota").items()}
    assert hard["a/tenant"] == {"requests.nvidia.com/gpu": "64"} and hard["c/tenant"]["count/jobs.batch"] == "5"
    assert "b/tenant" not in hard
    assert by_kind(items, "Namespace")["c"]["metadata"]["labels"]["supercloud.dev/longest-seconds"] == "86400"


def test_a_queue_takes_jobs_of_its_own_namespace_only() -> None:
    items = rendered()
    for name, queue in by_kind(items, "ClusterQueue").items():
        assert queue["spec"]["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": name}}
    assert set(by_kind(items, "LocalQueue")) == {"llm/llm", "vision/vision"}


@pytest.mark.slow
def test_rights_end_at_the_namespace() -> None:
    items = rendered()
    for space, user in (("llm", "ada"), ("vision", "grace")):
        binding = by_kind(items, "RoleBinding")[f"{space}/tenant"]
        assert [item["name"] for item in binding["subjects"]] == [f"supercloud:{space}", user]
    role = by_kind(items, "ClusterRole")["supercloud-tenant"]
    may = {
        (group, name, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for name in rule["resources"]
        for verb in rule["verbs"]
    }
    assert ("batch", "jobs", "create") in may
    for group, name in (("", "persistentvolumeclaims"), ("", "resourcequotas"), ("kueue.x-k8s.io", "localqueues")):
        assert (group, name, "get") in may and (group, name, "create") not in may
    assert not {name for _, name, _ in may} & {"rolebindings", "networkpolicies", "namespaces", "nodes"}


def test_volumes_are_bound_to_their_tenant() -> None:
    items = rendered()
    volumes = by_kind(items, "PersistentVolume")
    for space in ("llm", "vision"):
        volume = volumes[f"{space}-scratch"]["spec"]
        assert volume["claimRef"] == {"namespace": space, "name": "scratch"}
        assert volume["hostPath"]["path"] == f"/scratch/{space}"
        assert by_kind(items, "PersistentVolumeClaim")[f"{space}/scratch"]["spec"]["volumeName"] == f"{space}-scratch"


def test_a_cloud_has_volumes_to_fill_in() -> None:
    plan = planned(VARIANTS["aws"])
    items = objects_of(render(plan, "kubernetes"))
    volumes = by_kind(items, "PersistentVolume")
    assert volumes["llm-scratch"]["spec"]["csi"]["volumeAttributes"]["mountname"] == "unknown/llm"
    assert volumes["llm-home"]["spec"]["nfs"]["path"] == "/llm"
    assert "prefix llm/" in volumes["llm-data"]["spec"]["mountOptions"]
    assert set(by_kind(items, "PersistentVolumeClaim")) == {
        f"{space}/{name}" for space in ("llm", "vision") for name in ("scratch", "home", "data")
    }
    filled = by_kind(items, "ConfigMap")["default/storage-handles"]["data"]
    targets = yaml.safe_load(render(plan, "kubernetes")["storage/kustomization.yaml"])["replacements"]
    assert {f"data.[{name}]" for name in filled} == {item["source"]["fieldPath"] for item in targets}


def test_pods_reach_their_own_and_the_outside() -> None:
    policies = by_kind(rendered(), "NetworkPolicy")
    assert {name.split("/")[1] for name in policies} == {"default-deny", "own-pods", "names", "outside"}
    [rule] = policies["llm/outside"]["spec"]["egress"]
    left_out = ["10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12"]
    assert rule["to"][0]["ipBlock"] == {"cidr": "0.0.0.0/0", "except": left_out}
    note = policies["llm/outside"]["metadata"]["annotations"][BLOCKED_RANGES_ANNOTATION]
    assert "100.64.0.0/10 (management, bmc, switch)" in note


@pytest.mark.parametrize("name", VARIANTS)
def test_policies_of_admission_hold_for_every_tenant(name: str) -> None:
    """Whatever the fabrics: no level of Pod Security says anything of nodes, services, and volumes of other kinds."""
    plan = planned(VARIANTS[name])
    items = objects_of(render(plan, "kubernetes"))
    bound = {item["spec"]["policyName"] for item in by_kind(items, "ValidatingAdmissionPolicyBinding").values()}
    if plan.tenants:
        assert {"supercloud-tenant-pods", "supercloud-tenant-services"} <= bound
        if require_kubernetes_spec(plan).queue == "kueue":  # a pod of no job is one to a queue
            own = by_kind(items, "ValidatingAdmissionPolicy")["supercloud-tenant-bare-pods"]["spec"]["validations"]
            assert "supercloud-tenant-bare-pods" in bound
            assert ["priority-class" in own[0]["expression"], "activeDeadlineSeconds" in own[1]["expression"]] == [
                True
            ] * 2
        rules = by_kind(items, "ValidatingAdmissionPolicy")["supercloud-tenant-pods"]["spec"]["validations"]
        said = " ".join(rule["expression"] for rule in rules)
        fields = (
            "hostNetwork",
            "hostPort",
            "nodeName",
            "procMount",
            "seccompProfile",
            "appArmorProfile",
            "sysctls",
            "seLinuxOptions",
            "livenessProbe",
            "preStop",
            "hostProcess",
            "hostPID",
            "privileged",
        )
        assert not [field for field in fields if field not in said]
        assert "ephemeral)" not in said, "the controller would make claims that the role of tenants forbids"
        claims = by_kind(items, "ValidatingAdmissionPolicy")["supercloud-tenant-claims"]["spec"]["validations"]
        assert "supercloud-tenant-claims" in bound and "resource('resourcequotas')" in claims[0]["expression"]


def test_a_limit_of_zero_rails_does_not_give_the_hosts_network() -> None:
    policies = by_kind(objects_of(render(planned(VARIANTS["roce"]), "kubernetes")), "ValidatingAdmissionPolicy")
    said = [
        rule["expression"]
        for rule in policies["supercloud-tenant-pods"]["spec"]["validations"]
        if "hostNetwork is allowed only for" in rule["message"]
    ]
    assert len(said) == 1 and "isGreaterThan(quantity('0'))" in said[0]


def test_pods_and_services_have_addresses_of_their_own() -> None:
    plan = planned({"pools": [H100 | {"nodes": 4000}]})
    networks = build_cluster_networks(plan)
    assert networks.pods and networks.services
    assert networks.pods.num_addresses // 256 >= 2 * 4000
    taken = [plan.network.management, *(pool.addresses.block for pool in plan.pools)]
    taken += [subnet.block for subnet in plan.networks.subnets] if plan.networks else []
    assert not [block for block in taken if block.overlaps(networks.pods) or block.overlaps(networks.services)]
    assert not networks.pods.overlaps(networks.services)


# -- nodes -----------------------------------------------------------------------------------------------------------


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("label_nodes", ROOT / "templates" / "kubernetes" / "label_nodes.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{}, {"pools": [{"name": "train", "machine": "dgx-gb200", "nodes": 72, "fabrics": ["compute"]}]}]
)
def test_every_node_gets_its_place(changes: dict[str, Any], tmp_path: Path) -> None:
    plan: Plan = planned(changes)
    (tmp_path / "table.txt").write_text("\n".join(build_label_table(plan)) + "\n")
    module = script()
    read = module.read_table(tmp_path)
    for pool in plan.pools:
        topology = build_topology(plan, pool)
        place = {
            host: {
                format_level_label(level.name): group.name
                for level in topology.levels
                for group in level.groups
                if host in set(group.hosts)
            }
            for host in pool.hosts
        }
        for host in pool.hosts:
            labels, taints = module.wanted(read, host)
            assert place[host].items() <= labels.items()
            assert labels["supercloud.dev/pool"] == pool.name and labels["supercloud.dev/rack"].startswith("r")
            assert taints == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert module.wanted(read, "cp1") == (None, None)
    assert module.wanted(read, "train-00001") == (None, None), "another width is another host"


def test_labels_are_changed_once() -> None:
    module = script()
    node = {
        "metadata": {"name": "train-0001", "resourceVersion": "7", "labels": {"theirs": "x"}},
        "spec": {"taints": [{"key": "theirs", "effect": "NoExecute"}]},
    }
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    patch = module.change(node, {"a": "b"}, [taint])
    assert patch["metadata"] == {"labels": {"a": "b"}, "resourceVersion": "7"}
    assert patch["spec"]["taints"] == [{"key": "theirs", "effect": "NoExecute"}, taint]
    node["metadata"]["labels"]["a"] = "b"  # type: ignore[index]
    node["spec"]["taints"].append(taint)  # type: ignore[attr-defined]
    assert module.change(node, {"a": "b"}, [taint]) is None


def test_a_large_table_is_cut_into_parts() -> None:
    facility = {"rack": {"type": "orv3-48u", "nodes": 2}}
    fabrics = [{"name": "compute", "kind": "roce", "shape": "clos", "switch": "nvidia-sn5600", "su": 1}]
    pools = [H100 | {"nodes": 600, "features": [f"f{number}" for number in range(40)]}]
    items = by_kind(rendered({"facility": facility, "fabrics": fabrics, "pools": pools}), "ConfigMap")
    parts = [item["data"] for name, item in items.items() if name.startswith("supercloud-system/node-labels-")]
    assert all(len(text) < 1_000_000 for part in parts for text in part.values())


# -- accelerators and fabrics ------------------------------------------------------------------------------------------


def test_mig_is_asked_for_by_label() -> None:
    slicing = {"mig": {"1g.10gb": 7, "1g.10gb+me": 1}, "accelerators": 3}
    items = rendered({"pools": [H100 | {"slicing": slicing | {"mig": {"2g.20gb": 3}}}]})
    config = yaml.safe_load(by_kind(items, "ConfigMap")["gpu-operator/mig-parted"]["data"]["config.yaml"])
    assert config["mig-configs"]["train"] == [
        {"devices": [0, 1, 2], "mig-enabled": True, "mig-devices": {"2g.20gb": 3}},
        {"devices": [3, 4, 5, 6, 7], "mig-enabled": False},
    ]
    queue = by_kind(items, "ClusterQueue")["llm"]
    nodes = 45
    assert quota(queue, "train", "nvidia.com/mig-2g.20gb") == nodes * 9
    assert quota(queue, "train", "nvidia.com/gpu") == nodes * 5


def test_shared_accelerators_count_as_their_shares() -> None:
    items = rendered({"pools": [H100 | {"slicing": {"shards": 4}}], "tenants": []})
    assert quota(by_kind(items, "ClusterQueue")["default"], "train", "nvidia.com/gpu") == 64 * 8 * 4
    shared = yaml.safe_load(by_kind(items, "ConfigMap")["gpu-operator/device-plugin"]["data"]["train"])
    assert shared["sharing"]["timeSlicing"]["resources"] == [{"name": "nvidia.com/gpu", "replicas": 4}]


def test_nvl72_shares_memory_within_a_tenant() -> None:
    pools = [{"name": "train", "machine": "dgx-gb200", "nodes": 72, "fabrics": ["compute"]}]
    plan = planned({"pools": pools})
    items = objects_of(render(plan, "kubernetes"))
    domains = by_kind(items, "ComputeDomain")
    assert set(domains) == {"llm/train-nvlink", "vision/train-nvlink"}
    [topology] = by_kind(items, "Topology").values()
    labels = [item["nodeLabel"].rpartition("/")[2] for item in topology["spec"]["levels"]]
    assert labels[-2:] == ["scale-up", "hostname"]
    assert "NCCL_MNNVL_ENABLE" not in build_nccl_environment(plan, plan.pools[0]), (
        "forced it fails for pods without a channel"
    )
    assert by_kind(items, "DeviceClass")["train.supercloud.dev"]


@pytest.mark.slow
def test_claims_take_the_place_of_the_device_plugin() -> None:
    bundle = render(planned(VARIANTS["claims"]), "kubernetes")
    values = {
        name: yaml.safe_load(bundle[f"charts/{name}.yaml"]) for name in ("gpu-operator", "nvidia-dra-driver", "kueue")
    }
    assert values["gpu-operator"]["devicePlugin"] == {"enabled": False}
    assert values["nvidia-dra-driver"]["resources"] == {"gpus": {"enabled": True}, "computeDomains": {"enabled": True}}
    templates = by_kind(objects_of(bundle), "ResourceClaimTemplate")
    assert {"llm/train-device", "vision/train-device", "llm/rack-device"} <= set(templates)
    [ask] = templates["llm/rack-device"]["spec"]["spec"]["devices"]["requests"]
    assert ask["exactly"]["deviceClassName"] in by_kind(objects_of(bundle), "DeviceClass")
    config = yaml.safe_load(values["kueue"]["managerConfig"]["controllerManagerConfigYaml"])
    mapped = {item["name"]: item["deviceClassNames"] for item in config["resources"]["deviceClassMappings"]}
    assert mapped["nvidia.com/gpu"] == ["train.supercloud.dev", "rack.supercloud.dev"]
    assert not by_kind(objects_of(render(planned({}), "kubernetes")), "ResourceClaimTemplate")


WAYS: list[tuple[dict[str, Any], str, int]] = [
    ({}, "host-device", 8),
    ({"pools": [H100 | {"slicing": {"shards": 2}}]}, "sr-iov", 8),
    ({"pools": [H100 | {"slicing": {"shards": 2}}], "tenants": []}, "shared", 0),
    (
        {"fabrics": [{"name": "compute", "kind": "roce", "shape": "clos", "switch": "nvidia-sn5600", "su": 4}]},
        "shared",
        0,
    ),
]


@pytest.mark.parametrize("changes, way, networks", WAYS)
def test_ways_to_a_fabric(changes: dict[str, Any], way: str, networks: int) -> None:
    plan = planned(changes)
    [reach] = list_attachments(plan, plan.pools[0])
    assert (reach.mode, len(reach.networks)) == (way, networks)
    items = objects_of(render(plan, "kubernetes"))
    policy = by_kind(items, "NicClusterPolicy")["nic-cluster-policy"]["spec"]
    assert ("rdmaSharedDevicePlugin" in policy) == (way == "shared")
    assert len(by_kind(items, "IPPool")) == networks
    assert len(by_kind(items, "HostDeviceNetwork")) == (2 * networks if way == "host-device" else 0)
    assert len(by_kind(items, "SriovIBNetwork")) == (2 * networks if way == "sr-iov" else 0)


def test_roce_says_what_the_switches_say() -> None:
    plan = planned(WAYS[3][0])
    assert list_attachments(plan, plan.pools[0])[0].needs_host_network
    settings = build_nccl_environment(plan, plan.pools[0])
    underlay = plan.networks.find_underlay("compute") if plan.networks else None
    assert underlay and settings["NCCL_IB_TC"] == str(underlay.qos_policy.dscp << 2)
    assert settings["NCCL_IB_HCA"].count("mlx5_") == 8


def test_pods_on_infiniband_use_index_0_and_functions_are_left_to_nccl() -> None:
    """A function has an RDMA device and a P_Key table of its own: the names of the whole ports would match none."""
    whole = planned({})
    settings = build_nccl_environment(whole, whole.pools[0])
    assert settings["NCCL_IB_PKEY"] == "0" and settings["NCCL_IB_HCA"].startswith("=mlx5_")
    cut = planned(next(changes for changes, way, _ in WAYS if way == "sr-iov"))
    assert not {"NCCL_IB_HCA", "NCCL_IB_PKEY"} & set(build_nccl_environment(cut, cut.pools[0]))


def test_volcano_tiers_grow_from_the_nodes() -> None:
    items = rendered({"scheduler": {"kind": "kubernetes", "version": "1.36", "queue": "volcano"}})
    nodes = by_kind(items, "HyperNode")
    tiers = {name: item["spec"]["tier"] for name, item in nodes.items()}
    assert sorted(set(tiers.values())) == [1, 2]
    [top] = [item for item in nodes.values() if item["spec"]["tier"] == 2]
    below = {member["selector"]["exactMatch"]["name"] for member in top["spec"]["members"]}
    assert below == {name for name, tier in tiers.items() if tier == 1}
    queues = by_kind(items, "Queue")
    assert queues["llm"]["spec"]["weight"] == 70 and queues["llm"]["spec"]["deserved"]["nvidia.com/gpu"] == "360"
    assert not by_kind(items, "ClusterQueue")


def test_volcano_has_one_tier_for_a_level_whatever_the_pool() -> None:
    """A unit lies above the domains of one pool and the nodes of another: one number, one HyperNode, one parent."""
    link = {"kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}
    pools = [H100 | {"nodes": 32}, {"name": "nvl", "machine": "dgx-gb200", "nodes": 36, "fabrics": ["domains"]}]
    fabrics = [{"name": name, **link} for name in ("compute", "domains")]
    scheduler = {"kind": "kubernetes", "version": "1.36", "queue": "volcano"}
    items = rendered({"scheduler": scheduler, "pools": pools, "fabrics": fabrics, "facility": None})
    listed = [item for item in items if item["kind"] == "HyperNode"]
    nodes = by_kind(items, "HyperNode")
    assert len(listed) == len(nodes)
    tiers = {(item["spec"]["tierName"], item["spec"]["tier"]) for item in listed}
    assert {name for name, _ in tiers} == {"scale-up", "su", "fabric", "cluster"} and len(tiers) == 4
    parents: list[str] = []
    for item in listed:
        for member in item["spec"]["members"]:
            if member["type"] == "HyperNode":
                parents.append(member["selector"]["exactMatch"]["name"])
                assert nodes[parents[-1]]["spec"]["tier"] < item["spec"]["tier"]
    assert len(parents) == len(set(parents)) == len(listed) - 1, "a tree"


def test_gangs_give_way_under_volcano() -> None:
    """Its own defaults take only what a gang has beyond its least number, and ours have nothing beyond."""
    bundle = render(planned(VARIANTS["volcano"]), "kubernetes")
    said = yaml.safe_load(yaml.safe_load(bundle["charts/volcano.yaml"])["custom"]["scheduler_config_override"])
    [tier] = said["tiers"]
    plugins = {item["name"]: item for item in tier["plugins"]}
    actions = set(said["actions"].split(", "))
    assert {"preempt", "reclaim"} <= actions and "enqueue" not in actions, "it keeps out who would take a place"
    assert plugins["gang"]["enablePreemptable"] is plugins["gang"]["enableReclaimable"] is False
    assert "capacity" in plugins, "what a queue deserves is protected in the same tier"


def test_a_fabric_may_be_called_like_a_device() -> None:
    fabric = {"name": "gpu", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-q3400-ra"}
    pools = [{"name": "train", "machine": "dgx-gb300", "nodes": 36, "fabrics": ["gpu"]}]
    policy = by_kind(rendered({"pools": pools, "fabrics": [fabric]}), "NicClusterPolicy")["nic-cluster-policy"]
    assert '"resourceName": "gpu-port"' in policy["spec"]["sriovDevicePlugin"]["config"]


def test_a_rack_has_its_own_limit() -> None:
    [rules] = by_kind(rendered(VARIANTS["powered"]), "PrometheusRule").values()
    found = {rule["alert"]: rule["expr"] for group in rules["spec"]["groups"] for rule in group["rules"]}
    assert found["RackPowerTrain"].endswith("> 45000") and "+ 4600" in found["RackPowerTrain"]
    assert found["SitePower"].endswith("> 2e+06")
    assert found["GpuXid79"] == "DCGM_FI_DEV_XID_ERRORS == 79"


def test_the_guide_names_the_storage_target_where_it_is_rendered() -> None:
    """Without servers in the plan there is no target storage, and the guide referred to it."""
    store = {"name": "home", "kind": "nfs", "mount": "/home", "capacity": "64 TB"}
    served = store | {"name": "work", "mount": "/work", "servers": {"machine": "management-server", "count": 1}}
    for declared in ([store], [store, served]):
        plan = planned({"storage": declared})
        guide = render(plan, "kubernetes")["INSTALL.md"]
        assert "- `/home`: the manual of your nfs (home): its servers are not in the plan" in guide
        assert ("storage" in list_targets(plan)) == ("- `/work`: `storage/INSTALL.md`" in guide) == (len(declared) == 2)
        assert ("storage/INSTALL.md" in guide) == (len(declared) == 2)
