"""Rails of pods: their addresses, and adapters with drivers of others."""

from __future__ import annotations

import ipaddress
import re
from typing import Any

import pytest
import yaml
from kube_specs import ELSEWHERE, ONPREM, VARIANTS, build_plan, list_bundle_objects, select_kind

from supercloud.jobs.placement.requests.pod_links import build_pod_links
from supercloud.plan.build.kubernetes.fabrics import list_attachments
from supercloud.plan.build.kubernetes.quota import compute_node_resources
from supercloud.plan.build.network.server_links import iter_server_ends
from supercloud.primitives.addresses import AddressRun
from supercloud.targets import render
from supercloud.targets.schedulers.kubernetes.device_rules import list_accelerator_ports

H100 = {"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["compute"]}
BOTH = [H100, H100 | {"name": "dev", "nodes": 4, "slicing": {"shards": 2}}]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pools": BOTH},
        {"pools": [H100 | {"nodes": 300}]},
        {
            "storage": [
                {
                    "name": "s",
                    "kind": "lustre",
                    "capacity": "50 TB",
                    "mount": "/s",
                    "fabric": "compute",
                    "servers": {"machine": "dgx-h100", "count": 4},
                }
            ]
        },
    ],
)
def test_addresses_of_pods_differ_from_those_of_nodes_and_servers(changes: dict[str, Any]) -> None:
    """nv-ipam gives a block to each node in any order: none may hold what hosts on the same rail have."""
    plan = build_plan(changes)
    assert plan.networks
    pools = select_kind(list_bundle_objects(render(plan, "kubernetes")), "IPPool")
    blocks = [ipaddress.ip_network(item["spec"]["subnet"]) for item in pools.values()]
    assert len(blocks) == len(set(blocks)) == 8 * len(plan.pools)
    assert not any(one.overlaps(other) for index, one in enumerate(blocks) for other in blocks[:index])
    rails = [subnet.block for subnet in plan.networks.subnets if subnet.role == "rail"]
    nodes = sum(pool.nodes for pool in plan.pools)
    hosts = [AddressRun(rail, 0, nodes) for rail in rails]
    taken = {ipaddress.ip_address(run[index]) for run in hosts for index in range(nodes)}
    taken |= {
        ipaddress.ip_address(end.address)
        for end in iter_server_ends(plan.fabrics[0], plan.networks.list_servers("compute"))
    }
    for item, block in zip(pools.values(), blocks, strict=True):
        assert any(block.subnet_of(rail) for rail in rails) and not any(address in block for address in taken)
        [term] = item["spec"]["nodeSelector"]["nodeSelectorTerms"]
        [rule] = term["matchExpressions"]
        served = sum(plan.get_pool(name).nodes for name in rule["values"])
        assert block.num_addresses - 2 >= served * item["spec"]["perNodeBlockSize"]


B300 = H100 | {"name": "new", "machine": "dgx-b300", "nodes": 32}
GB300 = H100 | {"name": "super", "machine": "dgx-gb300", "nodes": 18}


@pytest.mark.slow
@pytest.mark.parametrize("pools, rails", [([B300], 8), ([H100, B300], 8), ([GB300], 4), ([GB300, B300], 4)])
def test_nodes_have_one_pod_address_per_attachment(pools: list[dict[str, Any]], rails: int) -> None:
    """Where the RDMA devices of a machine are not known, its pods join one network once for each port."""
    plan = build_plan({"pools": pools, "fabrics": [ONPREM["fabrics"][0] | {"rails": rails}]})
    assert plan.networks and not [item for item in plan.findings if item.check == "kubernetes-rail-addresses"]
    found = {
        item["metadata"]["name"]: item
        for item in select_kind(list_bundle_objects(render(plan, "kubernetes")), "IPPool").values()
    }
    for pool in plan.pools:
        [reach] = list_attachments(plan, pool)
        for network in set(reach.networks):
            size = found[network]["spec"]["perNodeBlockSize"]
            assert size >= reach.networks.count(network), (pool.name, network)
    taken: list[ipaddress.IPv4Network] = []
    for name, item in found.items():
        [term] = item["spec"]["nodeSelector"]["nodeSelectorTerms"]
        served = term["matchExpressions"][0]["values"]
        assert served == [pool.name for pool in plan.pools if name in list_attachments(plan, pool)[0].networks]
        block = ipaddress.IPv4Network(item["spec"]["subnet"])
        nodes = sum(plan.get_pool(each).nodes for each in served)
        assert block.num_addresses - 2 >= nodes * item["spec"]["perNodeBlockSize"]
        assert not any(block.overlaps(other) for other in taken)
        taken.append(block)


@pytest.mark.slow
def test_ports_of_unknown_devices_need_addresses_for_all_rails() -> None:
    """256 addresses of a rail are enough for pods on 100 nodes that hold one address each, and not for eight."""
    fabrics = [ONPREM["fabrics"][0] | {"subnet": "172.16.0.0/20"}]
    named = build_plan({"fabrics": fabrics, "pools": [H100 | {"nodes": 100}]})
    unnamed = build_plan({"fabrics": fabrics, "pools": [B300 | {"nodes": 100}]})
    assert not [item for item in named.findings if item.check == "kubernetes-rail-addresses"]
    [finding] = [item for item in unnamed.findings if item.check == "kubernetes-rail-addresses"]
    assert finding.path == "fabrics[0].subnet"
    assert not select_kind(list_bundle_objects(render(unnamed, "kubernetes")), "IPPool")


def test_rails_without_pod_addresses_are_reported() -> None:
    fabrics = [ONPREM["fabrics"][0] | {"subnet": "172.16.0.0/21"}]  # 256 addresses a rail, all of them for nodes
    plan = build_plan({"fabrics": fabrics})
    [finding] = [item for item in plan.findings if item.check == "kubernetes-rail-addresses"]
    assert (finding.level, finding.path) == ("warning", "fabrics[0].subnet")
    items = list_bundle_objects(render(plan, "kubernetes"))
    assert not select_kind(items, "IPPool")
    assert all("ipam" not in item["spec"] for item in select_kind(items, "HostDeviceNetwork").values())


@pytest.mark.slow
@pytest.mark.parametrize("machine, model", [("gaudi3-8", "Gaudi 3"), ("mi355x-8gpu", "Pollara 400")])
def test_adapters_of_other_vendors_get_no_nvidia_driver(machine: str, model: str) -> None:
    fabric = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600"}
    pools = [{"name": "train", "machine": machine, "nodes": 16, "fabrics": ["compute"]}]
    plan = build_plan({"pools": pools, "fabrics": [fabric]})
    assert not plan.errors, plan.errors
    bundle = render(plan, "kubernetes")
    kinds = {item["kind"] for item in list_bundle_objects(bundle)}
    assert "NicClusterPolicy" not in kinds and "network-operator" not in bundle["charts.lock.yaml"]
    [reach] = list_attachments(plan, plan.pools[0])
    assert (reach.mode, reach.resources, reach.needs_host_network) == ("host", {}, True)
    [finding] = [item for item in plan.findings if item.check == "kubernetes-adapters"]
    assert model in finding.problem and finding.path == "pools[0].machine"
    mixed = [*pools, {"name": "nv", "machine": "dgx-h100", "nodes": 16, "fabrics": ["other"]}]
    both = build_plan({"pools": mixed, "fabrics": [fabric, fabric | {"name": "other"}]})
    [policy] = select_kind(list_bundle_objects(render(both, "kubernetes")), "NicClusterPolicy").values()
    [rule] = policy["spec"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert rule["matchExpressions"][0]["values"] == ["nv"]


@pytest.mark.slow
@pytest.mark.parametrize("changes, on_hosts", [({}, True), (VARIANTS["roce"], True), (ELSEWHERE["aks"], False)])
def test_network_adapters_have_one_driver(changes: dict[str, Any], on_hosts: bool) -> None:
    """Own hosts set names, addresses and QoS with its tools: a driver container would load another and undo them."""
    bundle = render(build_plan(changes), "kubernetes")
    [policy] = select_kind(list_bundle_objects(bundle), "NicClusterPolicy").values()
    assert ("ofedDriver" in policy["spec"]) is not on_hosts
    values = yaml.safe_load(bundle["charts/gpu-operator.yaml"])
    assert values["driver"]["rdma"] == {"enabled": True, "useHostMofed": on_hosts}
    steps = re.findall(r"^[123]\. .+", bundle["INSTALL.md"], re.M)
    first = "1. On train-[0001-0064]: install DOCA-OFED"
    assert bool(steps and steps[0].startswith(first)) is on_hosts
    assert any("the target `roce`" in step for step in steps) is (changes is VARIANTS["roce"])


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"pools": BOTH},
        {"pools": [B300]},
        {"pools": [GB300, B300]},
        {"pools": [H100, GB300]},
        VARIANTS["roce"],
        VARIANTS["sliced"],
        VARIANTS["claims"],
        VARIANTS["aws"],
        VARIANTS["neuron"],
        ELSEWHERE["aks"],
        ELSEWHERE["gke"],
    ],
)
def test_jobs_request_at_most_the_ports_that_admission_allows(changes: dict[str, Any]) -> None:
    """Whatever part of a node they take; and no pool has ports that a pod without accelerators could hold."""
    plan = build_plan(changes)
    known = {ports.name: ports for ports in list_accelerator_ports(plan)}
    for pool in plan.pools:
        assert {name for reach in list_attachments(plan, pool) for name in reach.resources} <= set(known)
        for count in range(1, pool.accelerators_per_node + 1):
            for name, number in build_pod_links(plan, pool, "llm", 2, count / pool.accelerators_per_node).resources:
                share = known[name].share
                assert share is None or number <= share * count, (pool.name, count, name)
                assert known[name].devices & set(compute_node_resources(pool))
