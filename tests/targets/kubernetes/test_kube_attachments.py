"""How pods use a fabric: network attachments and the environment of NCCL."""

from __future__ import annotations

from typing import Any

import pytest
from kube_specs import H100, build_plan, list_bundle_objects, render_objects, select_kind

from supercloud.plan.build.kubernetes.fabrics import build_nccl_environment, list_attachments
from supercloud.targets import render

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
def test_pods_are_attached_to_each_kind_of_fabric(changes: dict[str, Any], way: str, networks: int) -> None:
    plan = build_plan(changes)
    [reach] = list_attachments(plan, plan.pools[0])
    assert (reach.mode, len(reach.networks)) == (way, networks)
    items = list_bundle_objects(render(plan, "kubernetes"))
    policy = select_kind(items, "NicClusterPolicy")["nic-cluster-policy"]["spec"]
    assert ("rdmaSharedDevicePlugin" in policy) == (way == "shared")
    assert len(select_kind(items, "IPPool")) == networks
    assert len(select_kind(items, "HostDeviceNetwork")) == (2 * networks if way == "host-device" else 0)
    assert len(select_kind(items, "SriovIBNetwork")) == (2 * networks if way == "sr-iov" else 0)


def test_roce_settings_match_the_switches() -> None:
    plan = build_plan(WAYS[3][0])
    assert list_attachments(plan, plan.pools[0])[0].needs_host_network
    settings = build_nccl_environment(plan, plan.pools[0])
    underlay = plan.networks.find_underlay("compute") if plan.networks else None
    assert underlay and settings["NCCL_IB_TC"] == str(underlay.qos_policy.dscp << 2)
    assert settings["NCCL_IB_HCA"].count("mlx5_") == 8


def test_pods_on_infiniband_use_index_0_and_functions_are_left_to_nccl() -> None:
    """A function has an RDMA device and a separate P_Key table: the names of whole ports would match none."""
    whole = build_plan({})
    settings = build_nccl_environment(whole, whole.pools[0])
    assert settings["NCCL_IB_PKEY"] == "0" and settings["NCCL_IB_HCA"].startswith("=mlx5_")
    cut = build_plan(next(changes for changes, way, _ in WAYS if way == "sr-iov"))
    assert not {"NCCL_IB_HCA", "NCCL_IB_PKEY"} & set(build_nccl_environment(cut, cut.pools[0]))


def test_a_fabric_can_have_the_name_of_a_device() -> None:
    fabric = {"name": "gpu", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-q3400-ra"}
    pools = [{"name": "train", "machine": "dgx-b300", "nodes": 36, "fabrics": ["gpu"]}]
    policy = select_kind(render_objects({"pools": pools, "fabrics": [fabric]}), "NicClusterPolicy")[
        "nic-cluster-policy"
    ]
    assert '"resourceName": "gpu-port"' in policy["spec"]["sriovDevicePlugin"]["config"]
