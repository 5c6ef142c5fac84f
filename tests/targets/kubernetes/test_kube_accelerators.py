"""Accelerators of nodes: MIG instances, shares, NVLink domains, resource claims, limits of power."""

from __future__ import annotations

import pytest
import yaml
from kube_specs import H100, VARIANTS, build_plan, list_bundle_objects, read_quota, render_objects, select_kind

from supercloud.plan.build.kubernetes.fabrics import build_nccl_environment
from supercloud.targets import render


def test_mig_profiles_are_requested_by_label() -> None:
    slicing = {"mig": {"1g.10gb": 7, "1g.10gb+me": 1}, "accelerators": 3}
    items = render_objects({"pools": [H100 | {"slicing": slicing | {"mig": {"2g.20gb": 3}}}]})
    config = yaml.safe_load(select_kind(items, "ConfigMap")["gpu-operator/mig-parted"]["data"]["config.yaml"])
    assert config["mig-configs"]["train"] == [
        {"devices": [0, 1, 2], "mig-enabled": True, "mig-devices": {"2g.20gb": 3}},
        {"devices": [3, 4, 5, 6, 7], "mig-enabled": False},
    ]
    queue = select_kind(items, "ClusterQueue")["llm"]
    nodes = 45
    assert read_quota(queue, "train", "nvidia.com/mig-2g.20gb") == nodes * 9
    assert read_quota(queue, "train", "nvidia.com/gpu") == nodes * 5


def test_shared_accelerators_count_as_their_shares() -> None:
    items = render_objects({"pools": [H100 | {"slicing": {"shards": 4}}], "tenants": []})
    assert read_quota(select_kind(items, "ClusterQueue")["default"], "train", "nvidia.com/gpu") == 64 * 8 * 4
    shared = yaml.safe_load(select_kind(items, "ConfigMap")["gpu-operator/device-plugin"]["data"]["train"])
    assert shared["sharing"]["timeSlicing"]["resources"] == [{"name": "nvidia.com/gpu", "replicas": 4}]


def test_nvl72_shares_memory_within_a_tenant() -> None:
    pools = [{"name": "train", "machine": "dgx-gb200", "nodes": 72, "fabrics": ["compute"]}]
    plan = build_plan({"pools": pools})
    items = list_bundle_objects(render(plan, "kubernetes"))
    domains = select_kind(items, "ComputeDomain")
    assert set(domains) == {"llm/train-nvlink", "vision/train-nvlink"}
    [topology] = select_kind(items, "Topology").values()
    labels = [item["nodeLabel"].rpartition("/")[2] for item in topology["spec"]["levels"]]
    assert labels[-2:] == ["scale-up", "hostname"]
    assert "NCCL_MNNVL_ENABLE" not in build_nccl_environment(plan, plan.pools[0]), (
        "forced it fails for pods without a channel"
    )
    assert select_kind(items, "DeviceClass")["train.supercloud.dev"]


@pytest.mark.slow
def test_claims_replace_the_device_plugin() -> None:
    bundle = render(build_plan(VARIANTS["claims"]), "kubernetes")
    values = {
        name: yaml.safe_load(bundle[f"charts/{name}.yaml"]) for name in ("gpu-operator", "nvidia-dra-driver", "kueue")
    }
    assert values["gpu-operator"]["devicePlugin"] == {"enabled": False}
    assert values["nvidia-dra-driver"]["resources"] == {"gpus": {"enabled": True}, "computeDomains": {"enabled": True}}
    templates = select_kind(list_bundle_objects(bundle), "ResourceClaimTemplate")
    assert {"llm/train-device", "vision/train-device", "llm/rack-device"} <= set(templates)
    [ask] = templates["llm/rack-device"]["spec"]["spec"]["devices"]["requests"]
    assert ask["exactly"]["deviceClassName"] in select_kind(list_bundle_objects(bundle), "DeviceClass")
    config = yaml.safe_load(values["kueue"]["managerConfig"]["controllerManagerConfigYaml"])
    mapped = {item["name"]: item["deviceClassNames"] for item in config["resources"]["deviceClassMappings"]}
    assert mapped["nvidia.com/gpu"] == ["train.supercloud.dev", "rack.supercloud.dev"]
    assert not select_kind(list_bundle_objects(render(build_plan({}), "kubernetes")), "ResourceClaimTemplate")


def test_a_rack_has_its_own_limit() -> None:
    [rules] = select_kind(render_objects(VARIANTS["powered"]), "PrometheusRule").values()
    found = {rule["alert"]: rule["expr"] for group in rules["spec"]["groups"] for rule in group["rules"]}
    assert found["RackPowerTrain"].endswith("> 45000") and "+ 4600" in found["RackPowerTrain"]
    assert found["SitePower"].endswith("> 2e+06")
    assert found["GpuXid79"] == 'DCGM_EXP_XID_ERRORS_COUNT{xid="79"} > 0'
