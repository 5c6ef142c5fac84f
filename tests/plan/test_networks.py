"""Addresses, names and AS numbers: unique in a plan, and the same after the cluster grows."""

from __future__ import annotations

import pytest
from plan.network_plans import CLOS, ROCE, find_underlay, get_networks, list_problems
from plan.test_resolve import build_pools, plan_spec

from supercloud.plan.build.fabric.device_names import list_switch_names

SHAPES = {
    "rails": {"fabric": ROCE, "nodes": 130},
    "two planes": {"fabric": ROCE, "nodes": 70, "planes": 2},
    "small leaves": {"fabric": ROCE, "nodes": 70, "leaf_down": 10, "su": 20},
    "rail pods": {"fabric": ROCE, "nodes": 300, "pod": "rail", "leaf_down": 16, "leaf_up": 16, "tiers": 3},
    "clos": {"fabric": CLOS, "nodes": 45},
    "fat tree": {"fabric": ROCE | {"shape": "fat-tree"}, "nodes": 45},
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_every_end_of_every_node_link_has_a_unique_address(shape: str) -> None:
    found = find_underlay(**SHAPES[shape])
    hosts = found.rails.node_links
    links = [link for node in range(hosts.nodes) for link in found.rails.iter_links(node)]
    addresses = [address for link in links for address in (link.address, link.gateway)]
    assert len(addresses) == len(set(addresses)) == 2 * hosts.count
    by_leaf: dict[int, set[int]] = {}
    for link in links:
        prefix = found.rails.get_leaf_block(link.leaf)
        assert {link.address, link.gateway} <= {str(address) for address in prefix}
        assert prefix.subnet_of(found.block)
        by_leaf.setdefault(link.leaf, set()).add(link.port)
    leaves = found.get_switch_run("leaf")
    assert {leaf: set(found.rails.list_node_ports(leaf)) for leaf in range(leaves.tier.count)} == {
        leaf: by_leaf.get(leaf, set()) for leaf in range(leaves.tier.count)
    }
    prefixes = sorted(found.rails.get_leaf_block(leaf) for leaf in range(leaves.tier.count))
    assert all(not one.overlaps(other) for one, other in zip(prefixes, prefixes[1:], strict=False))


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_as_numbers_are_unique_where_required(shape: str) -> None:
    found = find_underlay(**SHAPES[shape])
    runs = {run.tier.name: run for run in found.switches}
    leaves = [runs["leaf"].get_as_number(index) for index in range(runs["leaf"].tier.count)]
    assert len(set(leaves)) == len(leaves)
    spines = runs["spine"]
    pods: dict[int, set[int]] = {}
    for index in range(spines.tier.count):
        pods.setdefault(index // spines.tier.axes[-1].size, set()).add(spines.get_as_number(index))
    assert all(len(numbers) == 1 for numbers in pods.values())
    shared = [number for numbers in pods.values() for number in numbers]
    assert len(set(shared)) == len(shared)
    cores = {runs["core"].get_as_number(index) for index in range(runs["core"].tier.count)} if "core" in runs else set()
    assert len(cores) in (0, found.wiring.planes)
    assert len({*leaves, *shared, *cores}) == len(leaves) + len(shared) + len(cores)
    assert all(found.as_numbers[0] <= number <= found.as_numbers[1] for number in (*leaves, *shared, *cores))


@pytest.mark.parametrize("planes", [1, 2])
def test_growth_moves_no_address(planes: int) -> None:
    small, large = (find_underlay(nodes=nodes, planes=planes, su=16, leaf_down=16, leaf_up=16) for nodes in (60, 200))
    assert small.block == large.block and small.loopbacks == large.loopbacks
    for node in (0, 17, 59):
        one, other = (
            [(item.address, item.gateway) for item in found.rails.iter_links(node)] for found in (small, large)
        )
        assert one == other
    for tier in ("leaf", "spine"):
        before, after = small.get_switch_run(tier), large.get_switch_run(tier)
        for index in range(before.switches_per_plane):  # the same place: planes are further apart in the larger fabric
            for plane in range(planes):
                here, there = plane * before.switches_per_plane + index, plane * after.switches_per_plane + index
                if tier == "leaf":
                    assert before.get_loopback(here) == after.get_loopback(there)
                    assert before.get_as_number(here) == after.get_as_number(there)
                    assert before.get_management_address(here) == after.get_management_address(there)


def test_subnets_do_not_overlap() -> None:
    plan = plan_spec(
        pools=[
            *build_pools("dgx-h100", 64),
            {"name": "more", "machine": "dgx-h100", "nodes": 300, "fabrics": ["second"]},
        ],
        fabrics=[ROCE, CLOS | {"name": "second"}],
        storage=[{"name": "scratch", "kind": "nfs", "capacity": "1 PiB", "mount": "/s"}],
    )
    blocks = sorted(subnet.block for subnet in get_networks(plan).subnets)
    assert len(blocks) > 12
    assert all(not one.overlaps(other) for one, other in zip(blocks, blocks[1:], strict=False))
    assert list_problems(plan, "network-overlap") == []
    first, second = get_networks(plan).underlays
    assert first.as_numbers[1] < second.as_numbers[0]


def test_switch_names_match_the_cabling() -> None:
    for run in find_underlay(nodes=130, planes=2).switches:
        wanted = list_switch_names("compute", run.tier.name, run.tier.count)
        assert [run.format_name(index) for index in range(run.tier.count)] == wanted
        assert [name for plane in range(run.planes) for name in run.get_plane_hosts(plane)] == wanted


def test_infiniband_rails_are_flat_subnets() -> None:
    rails = [subnet for subnet in get_networks(plan_spec()).subnets if subnet.role == "rail"]
    assert [rail.name for rail in rails] == [f"compute-rail{number}" for number in range(8)]
    assert all(rail.hosts == 127 and not rail.is_routed and rail.block.num_addresses >= 256 for rail in rails)


def test_a_cloud_has_no_network_plan() -> None:
    plan = plan_spec(
        site={"kind": "aws", "region": "us-east-1"},
        pools=build_pools("p5.48xlarge", 2),
        fabrics=[{"name": "compute", "kind": "efa"}],
    )
    assert plan.networks is None


@pytest.mark.slow
def test_ports_have_the_names_of_the_operating_system() -> None:
    names = {}
    for system in ("sonic", "eos", "nvue", "frr"):
        leaves = find_underlay(os=system).get_switch_run("leaf")
        names[system] = [leaves.format_port_name(index) for index in (0, 1, 2, 127)]
    assert names == {
        "sonic": ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet508"],
        "eos": ["Ethernet1/1", "Ethernet1/5", "Ethernet2/1", "Ethernet64/5"],
        "nvue": ["swp1s0", "swp1s1", "swp2s0", "swp64s1"],
        "frr": ["swp1s0", "swp1s1", "swp2s0", "swp64s1"],
    }
    arista = plan_spec(pools=build_pools("dgx-h100", 16), fabrics=[ROCE | {"switch": "arista-7060x6-64pe"}])
    systems = [run.network_os.name for run in get_networks(arista).switches if run.network_os]
    assert set(systems) == {"eos"}
