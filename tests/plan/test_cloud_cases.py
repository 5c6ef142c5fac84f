"""Published cluster definitions, typed again as specs, come out fact by fact."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from samples import ROOT

from supercloud.plan.model.cloud import CloudPlan, NodeGroup
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load

CASES = ROOT / "tests" / "clouds" / "cases"
_PLANS: dict[str, Plan] = {}


def build_case(name: str) -> Plan:
    if name not in _PLANS:
        _PLANS[name] = resolve(load(CASES / f"{name}.yaml"))
    return _PLANS[name]


def get_cloud(name: str) -> CloudPlan:
    found = build_case(name).cloud
    assert found is not None
    return found


def describe_storage(name: str, what: str) -> dict[str, Any]:
    item = get_cloud(name).get_storage(what)
    return {
        "product": item.product,
        "gib": item.capacity.to("GiB") if item.capacity else None,
        "mb_s": item.throughput.to("MB/s") if item.throughput else None,
        "per_tib": item.per_tib.to("MB/s") if item.per_tib else None,
    } | dict(item.options)


def check_cards(group: NodeGroup, cards: int) -> None:
    """Section 3 of the definitions: one EFA a card, unique places, and an address on device 0 of card 0 only."""
    places = [(item.card, item.device) for item in group.interfaces]
    assert len(set(places)) == len(places)
    fast = Counter(item.card for item in group.interfaces if item.kind.startswith("efa"))
    assert fast == Counter(range(cards))
    assert [(item.card, item.device) for item in group.interfaces if item.has_address] == [(0, 0)]
    assert all(device in (0, 1) for _, device in places)


@pytest.mark.parametrize("name", ["a1", "a2", "a6", "a8"])
def test_each_case_plans_without_errors(name: str) -> None:
    assert build_case(name).errors == ()


def test_a1_matches_the_parallelcluster_case() -> None:
    plan, found = build_case("a1"), get_cloud("a1")
    (head,) = found.hosts
    assert (head.role, head.machine.name, head.disk.to("GiB"), head.is_public) == (
        "controller",
        "m5.8xlarge",
        500,
        True,
    )
    assert found.network.get_subnet(head.subnets[0]).is_public
    (group,) = found.groups
    assert (group.pool, group.capacity.kind, group.min_nodes, group.initial_nodes, group.max_nodes) == (
        "compute-gpu",
        "reservation",
        4,
        4,
        4,
    )
    assert not group.has_placement_group
    assert (group.disk.to("GiB"), group.local_disk_mount) == (512, "/scratch")
    check_cards(group, 32)
    assert len(group.interfaces) == 33
    assert describe_storage("a1", "home") == {
        "product": "fsx-openzfs",
        "deployment": "MULTI_AZ_1",
        "gib": 512,
        "mb_s": 160,
        "per_tib": None,
        "compression": "NONE",
    }
    lustre = describe_storage("a1", "fsx")
    assert (lustre["deployment"], lustre["gib"], lustre["per_tib"]) == ("PERSISTENT_2", 1200, 250)
    assert (lustre["compression"], lustre["version"], lustre["metadata"]) == ("LZ4", "2.15", "AUTOMATIC")
    assert found.network.cidrs == ("10.0.0.0/16", "10.1.0.0/16")
    public = [item.cidr for item in found.network.subnets if item.is_public]
    private = [item.cidr for item in found.network.subnets if not item.is_public]
    assert public == ["10.0.0.0/17"]
    assert private == ["10.1.0.0/17", "10.1.128.0/17"]
    assert found.network.endpoints == {"s3": "gateway"}
    assert {item.zone for item in found.network.subnets if item.key in found.get_storage("home").subnets} == {
        "us-west-2a",
        "us-west-2b",
    }
    assert "ubuntu-22.04" in found.images["slurm-nvidia-x86"]
    slurm: Any = plan.spec.scheduler
    assert slurm.options["JobCompType"] == "jobcomp/filetxt"
    assert slurm.options["JobAcctGatherType"] == "jobacct_gather/linux"


def test_a2_matches_the_pcs_case() -> None:
    plan, found = build_case("a2"), get_cloud("a2")
    block, on_demand = found.list_groups("p5")
    assert (block.capacity.kind, block.has_placement_group) == ("capacity-block", False)
    assert (on_demand.capacity.kind, on_demand.has_placement_group) == ("on-demand", True)
    for group in (block, on_demand):
        check_cards(group, 32)
        assert sum(item.kind.startswith("efa") for item in group.interfaces) == 32
        assert (group.min_nodes, group.initial_nodes, group.max_nodes, group.disk.to("GiB")) == (0, 0, 4, 300)
    assert found.options["metadata_hops"] == 4
    assert plan.scheduler.version == "25.11"
    assert found.network.cidrs == ("10.0.0.0/16", "10.1.0.0/16")
    assert [item.cidr for item in found.network.subnets if item.is_public] == ["10.0.0.0/17"]
    private = [str(item.cidr) for item in found.network.subnets if not item.is_public]
    assert len(private) == 3 and all(cidr.endswith("/18") for cidr in private)
    lustre = describe_storage("a2", "fsx")
    assert (lustre["deployment"], lustre["gib"], lustre["per_tib"], lustre["compression"], lustre["version"]) == (
        "PERSISTENT_2",
        1200,
        250,
        "LZ4",
        "2.15",
    )
    assert lustre["efa"] is False
    home = describe_storage("a2", "home")
    assert (home["deployment"], home["gib"], home["mb_s"]) == ("SINGLE_AZ_HA_2", 512, 320)
    assert [host.machine.name for host in found.list_hosts("login")] == ["m6i.4xlarge"]
    (cpu,) = found.list_groups("cpu")
    assert (plan.get_pool("cpu").machine.name, cpu.max_nodes, cpu.min_nodes) == ("c6i.4xlarge", 4, 0)
    assert found.images["slurm-nvidia-x86"] == "/aws/service/pcs/ami/dlami-base-ubuntu2404/x86_64/latest/ami-id"


@pytest.mark.parametrize("machine, cards", [("p5.48xlarge", 32), ("p5e.48xlarge", 32), ("p5en.48xlarge", 16)])
def test_a2_plans_with_other_machine_types(machine: str, cards: int) -> None:
    loaded = load(CASES / "a2.yaml")
    pools = (loaded.model.pools[0].model_copy(update={"machine": machine}), loaded.model.pools[1])
    plan = resolve(loaded.model.model_copy(update={"pools": pools}))
    assert plan.cloud is not None and plan.errors == ()
    check_cards(plan.cloud.list_groups("p5")[0], cards)


def test_a6_matches_the_eks_case() -> None:
    plan, found = build_case("a6"), get_cloud("a6")
    assert plan.scheduler.version == "1.32"
    assert found.network.existing == "vpc-0123456789abcdef0" and found.network.cidrs == ()
    assert [item.is_public for item in found.network.subnets] == [False, False, True, True]
    (group,) = found.groups
    assert (group.capacity.kind, group.min_nodes, group.initial_nodes, group.max_nodes) == ("capacity-block", 0, 1, 10)
    assert not group.has_placement_group and group.local_disk_mount is not None
    assert all(not found.network.get_subnet(key).is_public for key in group.subnets)
    assert {found.network.get_subnet(key).zone for key in group.subnets} == {"us-east-2a"}
    check_cards(group, 32)


def test_a8_matches_the_isolated_case() -> None:
    plan, found = build_case("a8"), get_cloud("a8")
    assert plan.scheduler.version == "1.33"
    assert found.network.cidrs[0] == "10.192.0.0/16"
    assert found.network.is_isolated and not any(item.is_public for item in found.network.subnets)
    private = [item.cidr for item in found.network.subnets if item.purpose == "nodes"]
    assert private == ["10.1.0.0/16", "10.2.0.0/16", "10.3.0.0/16", "10.4.0.0/16"]
    assert [item.cidr for item in found.network.subnets if item.purpose == "control"] == [
        "10.192.7.0/28",
        "10.192.8.0/28",
    ]
    assert found.network.endpoints == {"s3": "gateway"} | dict.fromkeys(
        ("ec2", "ecr.api", "ecr.dkr", "sts", "logs", "monitoring", "ssm", "ssmmessages", "ec2messages", "eks-auth"),
        "interface",
    )
    (system,) = found.list_hosts("system")
    assert (system.machine.name, system.count) == ("m5.12xlarge", 1)
    (group,) = found.groups
    assert (group.max_nodes, group.disk.to("GiB")) == (2, 850)
    check_cards(group, 32)
    assert plan.get_pool("rig").accelerators_per_node == 8
    lustre = describe_storage("a8", "fsx")
    assert (lustre["gib"], lustre["per_tib"]) == (4800, 250)
    assert {finding.check for finding in plan.findings} == {
        "cloud-network-ranges",
        "kueue-starts",
        "storage-throughput-low",
    }
