"""Ranges of cloud networks: aligned, apart, stable when zones and nodes are added."""

from __future__ import annotations

import ipaddress
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan.clouds import BLOCK, DALLAS, KUBERNETES, NFS, build_cloud, build_plan, build_pool, build_slurm

from supercloud.plan.model.cloud import CloudPlan

ZONES = [f"us-east-1{letter}" for letter in "abcdef"]


def build_site(count: int) -> dict[str, Any]:
    return {"kind": "aws", "region": "us-east-1", "zones": ZONES[:count]}


def list_ranges(found: CloudPlan) -> dict[str, str | None]:
    return {item.key: item.cidr for item in found.network.subnets}


def check_ranges(found: CloudPlan) -> None:
    whole = [ipaddress.IPv4Network(text) for text in found.network.cidrs]
    subnets = [ipaddress.IPv4Network(str(item.cidr)) for item in found.network.subnets]
    assert all(any(net.subnet_of(room) for room in whole) for net in subnets)
    assert not [pair for pair in combinations(subnets, 2) if pair[0].overlaps(pair[1])]
    assert not [pair for pair in combinations(whole, 2) if pair[0].overlaps(pair[1])]


@pytest.mark.parametrize("scheduler", [build_slurm(), KUBERNETES], ids=["slurm", "kubernetes"])
@pytest.mark.parametrize("count", range(1, 7))
def test_ranges_are_valid_for_any_number_of_zones(scheduler: dict[str, Any], count: int) -> None:
    found = build_cloud(site=build_site(count), scheduler=scheduler)
    check_ranges(found)
    assert {item.zone for item in found.network.subnets if item.purpose == "nodes"} >= set(ZONES[:count])


def test_another_zone_renumbers_nothing() -> None:
    before = list_ranges(build_cloud(site=build_site(2), scheduler=KUBERNETES))
    after = list_ranges(build_cloud(site=build_site(3), scheduler=KUBERNETES))
    assert before.items() <= after.items()


def test_more_nodes_add_ranges_and_renumber_nothing() -> None:
    small, large = (build_cloud(pools=[build_pool(nodes=nodes)]) for nodes in (100, 20_000))
    assert list_ranges(small).items() <= list_ranges(large).items()
    assert len(small.network.cidrs) == 1 and len(large.network.cidrs) == 2
    check_ranges(large)
    assert large.groups[0].subnets == ("private-us-east-1a", "private-us-east-1a-2")


@pytest.mark.parametrize(
    "first, room",
    [
        ("10.0.0.0/16", "10.0.0.0/8"),
        ("10.1.0.0/16", "10.0.0.0/8"),
        ("172.20.0.0/16", "100.64.0.0/10"),
        ("192.168.0.0/20", "100.64.0.0/10"),
        ("100.64.0.0/16", "100.64.0.0/10"),
    ],
)
def test_ranges_of_one_network_are_of_one_private_block(first: str, room: str) -> None:
    """AWS refuses to add a range of another of RFC 1918's blocks, and none but its like to one of 100.64.0.0/10."""
    found = build_cloud(pools=[build_pool(nodes=40_000)], network={"cidr": first})
    more = [ipaddress.IPv4Network(text) for text in found.network.cidrs[1:]]
    assert more and all(net.subnet_of(ipaddress.IPv4Network(room)) for net in more)
    check_ranges(found)


def test_pods_get_addresses_of_the_subnets() -> None:
    (of_slurm,) = build_cloud(pools=[build_pool()]).groups
    (of_kubernetes,) = build_cloud(pools=[build_pool()], scheduler=KUBERNETES).groups
    assert (of_slurm.addresses_per_node, of_kubernetes.addresses_per_node) == (1, 1 + 2 * 50)


def test_additional_ranges_are_for_private_subnets() -> None:
    found = build_cloud(site=build_site(2), network={"cidr": "10.0.0.0/16", "cidrs": ["10.5.0.0/16", "10.6.0.0/16"]})
    assert [item.cidr for item in found.network.subnets if item.purpose == "nodes"] == ["10.5.0.0/16", "10.6.0.0/16"]
    check_ranges(found)


def test_an_isolated_network_has_endpoints_and_no_public_subnets() -> None:
    found = build_cloud(network={"isolated": True})
    assert found.network.is_isolated and not [item for item in found.network.subnets if item.is_public]
    assert found.network.endpoints["s3"] == "gateway" and found.network.endpoints["secretsmanager"] == "interface"
    assert "internet gateway" not in {line.item for line in found.cost.lines}


def test_existing_subnets_are_used_unchanged() -> None:
    found = build_cloud(network={"id": "vpc-1", "subnets": [{"id": "subnet-1", "zone": "us-east-1a"}, "subnet-2"]})
    assert found.network.existing == "vpc-1" and found.network.cidrs == () and found.network.endpoints == {}
    assert found.groups[0].subnets == ("given-1", "given-2")
    assert [item.existing for item in found.network.subnets] == ["subnet-1", "subnet-2"]


TEXT = st.sampled_from(
    [
        "10.0.0.0/8",
        "10.0.0.0/16",
        "10.0.0.0/28",
        "10.0.0.0/32",
        "10.0.0.0/31",
        "0.0.0.0/0",
        "192.168.0.0/24",
        "fd00::/8",
        "10.0.0.1/16",
        "1.2.3.4/99",
    ]
)


@pytest.mark.slow
@settings(max_examples=40)
@given(
    cidr=st.none() | TEXT,
    cidrs=st.lists(TEXT, max_size=3),
    zones=st.integers(1, 6),
    is_isolated=st.booleans(),
    private=st.lists(TEXT, max_size=7),
    public=st.lists(TEXT, max_size=3),
    control=st.lists(TEXT, max_size=3),
    scheduler=st.sampled_from([build_slurm(), build_slurm(managed_database=True, public=True), KUBERNETES]),
    nodes=st.sampled_from([1, 500, 100_000]),
)
def test_no_declared_network_raises(
    cidr: str | None,
    cidrs: list[str],
    zones: int,
    is_isolated: bool,
    private: list[str],
    public: list[str],
    control: list[str],
    scheduler: dict[str, Any],
    nodes: int,
) -> None:
    network: dict[str, Any] = {
        "cidrs": cidrs,
        "isolated": is_isolated,
        "blocks": {"private": private, "public": public, "control": control},
    }
    plan = build_plan(
        site=build_site(zones),
        scheduler=scheduler,
        pools=[build_pool(nodes=nodes)],
        network=network | ({"cidr": cidr} if cidr else {}),
    )
    if plan.errors == () and plan.cloud is not None:
        check_ranges(plan.cloud)


def test_a_local_zone_has_nodes_only() -> None:
    site = {"kind": "aws", "region": "us-east-1", "zones": [DALLAS]}
    pool = build_pool(machine="p6e-gb200.36xlarge", nodes=18, capacity=[BLOCK | {"zone": DALLAS}])
    cloud = build_cloud(site=site, pools=[pool], storage=[NFS])
    assert cloud.zones == ("us-east-1a", DALLAS)
    assert [(item.key, item.is_local) for item in cloud.network.subnets] == [
        ("public-us-east-1a", False),
        ("private-us-east-1a", False),
        (f"private-{DALLAS}", True),
    ]
    assert cloud.groups[0].subnets == (f"private-{DALLAS}",)
    assert {host.subnets for host in cloud.hosts} == {("private-us-east-1a",)}
    assert cloud.storage[0].subnets == ("private-us-east-1a",)


def test_the_control_plane_is_not_in_a_local_zone() -> None:
    site = {"kind": "aws", "region": "us-east-1", "zones": [DALLAS]}
    pool = build_pool(machine="p6e-gb200.36xlarge", nodes=18, capacity=[BLOCK | {"zone": DALLAS}])
    cloud = build_cloud(site=site, pools=[pool], scheduler=KUBERNETES)
    assert cloud.zones == ("us-east-1a", "us-east-1b", DALLAS)
    control = [item.zone for item in cloud.network.subnets if item.purpose == "control"]
    assert control == ["us-east-1a", "us-east-1b"]
    assert not any(item.is_public for item in cloud.network.subnets if item.zone == DALLAS)
    assert {host.subnets for host in cloud.hosts} == {("private-us-east-1a", "private-us-east-1b")}


@pytest.mark.parametrize("nodes, groups", [(18, [(18, 18)]), (36, [(18, 18), (18, 18)])])
def test_a_block_of_ultraservers_is_one_domain(nodes: int, groups: list[tuple[int, int]]) -> None:
    blocks = [BLOCK | {"id": f"cr-0123456789abcdef{number}", "zone": DALLAS} for number in range(len(groups))]
    pool = build_pool(machine="p6e-gb200.36xlarge", nodes=nodes, capacity=blocks)
    found = build_cloud(site={"kind": "aws", "region": "us-east-1"}, pools=[pool])
    assert [(group.max_nodes, group.initial_nodes) for group in found.groups] == groups
