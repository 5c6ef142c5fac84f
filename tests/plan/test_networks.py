"""Addresses, names and AS numbers: nothing twice, nothing moved by growth, what does not fit is said in numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from plan.test_resolve import planned, train

from supercloud.plan.build.cabling.cables import build_cable_table
from supercloud.plan.build.fabric.device_names import list_switch_names
from supercloud.plan.model.network import NetworksPlan, Underlay
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load
from supercloud.targets import render

ROCE = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600"}
CLOS = {"name": "compute", "kind": "roce", "shape": "clos", "switch": "nvidia-sn5600", "su": 2, "racks_per_pod": 8}


def networks(plan: Plan) -> NetworksPlan:
    assert plan.networks is not None
    return plan.networks


def underlay(**changes: Any) -> Underlay:
    nodes = changes.pop("nodes", 64)
    fabric = changes.pop("fabric", ROCE)
    (found,) = networks(planned(pools=train("dgx-h100", nodes), fabrics=[fabric | changes])).underlays
    return found


def problems(plan: Plan, check: str) -> list[tuple[str, str]]:
    return [(finding.path, finding.problem) for finding in plan.findings if finding.check == check]


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
def test_every_end_of_every_node_link_has_an_address_of_its_own(shape: str) -> None:
    found = underlay(**SHAPES[shape])
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
def test_as_numbers_tell_apart_what_must_be_apart(shape: str) -> None:
    found = underlay(**SHAPES[shape])
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
def test_growth_moves_nothing(planes: int) -> None:
    small, large = (underlay(nodes=nodes, planes=planes, su=16, leaf_down=16, leaf_up=16) for nodes in (60, 200))
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


def test_no_two_subnets_share_an_address() -> None:
    plan = planned(
        pools=[*train("dgx-h100", 64), {"name": "more", "machine": "dgx-h100", "nodes": 300, "fabrics": ["second"]}],
        fabrics=[ROCE, CLOS | {"name": "second"}],
        storage=[{"name": "scratch", "kind": "nfs", "capacity": "1 PiB", "mount": "/s"}],
    )
    blocks = sorted(subnet.block for subnet in networks(plan).subnets)
    assert len(blocks) > 12
    assert all(not one.overlaps(other) for one, other in zip(blocks, blocks[1:], strict=False))
    assert problems(plan, "network-overlap") == []
    first, second = networks(plan).underlays
    assert first.as_numbers[1] < second.as_numbers[0]


def test_names_are_those_of_the_cabling() -> None:
    for run in underlay(nodes=130, planes=2).switches:
        wanted = list_switch_names("compute", run.tier.name, run.tier.count)
        assert [run.format_name(index) for index in range(run.tier.count)] == wanted
        assert [name for plane in range(run.planes) for name in run.get_plane_hosts(plane)] == wanted


def test_infiniband_rails_are_flat_subnets() -> None:
    rails = [subnet for subnet in networks(planned()).subnets if subnet.role == "rail"]
    assert [rail.name for rail in rails] == [f"compute-rail{number}" for number in range(8)]
    assert all(rail.hosts == 127 and not rail.is_routed and rail.block.num_addresses >= 256 for rail in rails)


def test_a_cloud_has_none() -> None:
    plan = planned(
        site={"kind": "aws", "region": "us-east-1"},
        pools=train("p5.48xlarge", 2),
        fabrics=[{"name": "compute", "kind": "efa"}],
    )
    assert plan.networks is None


@pytest.mark.slow
def test_ports_are_called_what_the_system_calls_them() -> None:
    names = {}
    for system in ("sonic", "eos", "nvue", "frr"):
        leaves = underlay(os=system).get_switch_run("leaf")
        names[system] = [leaves.format_port_name(index) for index in (0, 1, 2, 127)]
    assert names == {
        "sonic": ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet508"],
        "eos": ["Ethernet1/1", "Ethernet1/5", "Ethernet2/1", "Ethernet64/5"],
        "nvue": ["swp1s0", "swp1s1", "swp2s0", "swp64s1"],
        "frr": ["swp1s0", "swp1s1", "swp2s0", "swp64s1"],
    }
    arista = planned(pools=train("dgx-h100", 16), fabrics=[ROCE | {"switch": "arista-7060x6-64pe"}])
    systems = [run.network_os.name for run in networks(arista).switches if run.network_os]
    assert set(systems) == {"eos"}


@pytest.mark.slow
def test_overlapping_networks() -> None:
    plan = planned(network={"fabrics": "10.128.0.0/16"}, fabrics=[ROCE], pools=train("dgx-h100", 64))
    ((path, problem),) = problems(plan, "network-overlap")
    assert path == "network.fabrics" and "10.0.0.0/8" in problem and "10.128." in problem
    plan = planned(
        network={"management": "172.16.0.0/14", "fabrics": "172.16.0.0/12"}, fabrics=[ROCE], pools=train("dgx-h100", 64)
    )
    ((path, problem),) = problems(plan, "network-overlap")
    assert "172.16.0.0" in problem and path == "network.fabrics"
    plan = planned(network={"cidr": "172.16.0.0/12"}, fabrics=[ROCE], pools=train("dgx-h100", 64))
    assert problems(plan, "network-overlap") == []  # what nobody declared makes room
    plan = planned(fabrics=[ROCE | {"subnet": "10.9.0.0/16"}], pools=train("dgx-h100", 64))
    assert [path for path, _ in problems(plan, "network-overlap")] == ["fabrics[0].subnet"]


@pytest.mark.slow
def test_too_few_as_numbers() -> None:
    plan = planned(fabrics=[ROCE | {"routing": {"asn_range": "65000-65004"}}], pools=train("dgx-h100", 64))
    ((path, problem),) = problems(plan, "network-asn")
    assert path == "fabrics[0].routing.asn_range"
    assert "has 5 AS numbers" in problem and "needs 10" in problem and "8 leaf" in problem
    plan = planned(fabrics=[ROCE | {"routing": {"asn_range": "65000-64000"}}], pools=train("dgx-h100", 64))
    assert "not a valid range" in problems(plan, "network-asn")[0][1]


def test_fabrics_with_the_same_as_numbers() -> None:
    routing = {"routing": {"asn_range": "4200000000-4200000999"}}
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["compute", "second"]}]
    plan = planned(fabrics=[ROCE | routing, ROCE | routing | {"name": "second"}], pools=pools)
    assert [path for path, _ in problems(plan, "network-asn-overlap")] == ["fabrics[1].routing.asn_range"]


def test_more_rails_than_subnets_fit() -> None:
    plan = planned(fabrics=[ROCE | {"subnet": "172.16.0.0/25"}], pools=train("dgx-h100", 64))
    ((path, problem),) = problems(plan, "network-size")
    assert path == "fabrics[0].subnet" and "has space for 1 rails of 128 addresses, but compute has 8 rails" in problem
    plan = planned(network={"fabrics": "172.16.0.0/24"}, fabrics=[ROCE], pools=train("dgx-h100", 64))
    ((path, problem),) = problems(plan, "network-size")
    assert path == "network.fabrics" and "256 addresses" in problem and "compute 1024" in problem


@pytest.mark.parametrize(
    "network",
    [
        {"management": "192.168.0.0/24"},
        {"management": "192.168.0.0/21"},
        {"fabrics": "fd00::/48"},
        {"management": "10.300.0.0/16"},
        {"fabrics": "172.16.0.1/12"},
    ],
)
def test_networks_that_are_none_or_too_small(network: dict[str, str]) -> None:
    plan = planned(network=network, fabrics=[ROCE], pools=train("dgx-h100", 300))
    (key,) = network
    assert problems(plan, "network-size")[0][0] == f"network.{key}"


def test_unknown_operating_system() -> None:
    plan = planned(fabrics=[ROCE | {"os": "sonik"}], pools=train("dgx-h100", 64))
    (finding,) = [item for item in plan.errors if item.check == "unknown-name"]
    assert finding.path == "fabrics[0].os" and finding.hint == "did you mean sonic?"
    plan = planned(fabrics=[ROCE | {"systems": {"leaf": "sonic", "spine": "junos"}}], pools=train("dgx-h100", 64))
    assert [item.path for item in plan.errors] == ["fabrics[0].systems.spine"]


@pytest.mark.parametrize(
    "qos, place",
    [
        ({"dscp": 48}, "cnp_dscp"),
        ({"priority": 6}, "cnp_priority"),
        ({"mtu": 4200, "host_mtu": 9000}, "host_mtu"),
        ({"ecn": {"min": "2 MB", "max": "1 MB", "probability": 5}}, "ecn.min"),
    ],
)
def test_a_contract_that_contradicts_itself(qos: dict[str, Any], place: str) -> None:
    plan = planned(fabrics=[ROCE | {"qos": qos}], pools=train("dgx-h100", 64))
    assert [path for path, _ in problems(plan, "network-lossless")] == [f"fabrics[0].qos.{place}"]


def test_more_paths_than_the_system_takes(tmp_path: Path) -> None:
    overlay = tmp_path / "catalog" / "network-systems"
    overlay.mkdir(parents=True)
    (overlay / "nvue.yaml").write_text("name: nvue\nmax_paths: 32\n")
    plan = from_file(tmp_path, catalog="catalog")
    assert problems(plan, "network-paths")[0][0] == "fabrics[0]"


def test_settings_of_ethernet_on_infiniband() -> None:
    plan = planned(
        fabrics=[
            {
                "name": "compute",
                "kind": "infiniband",
                "shape": "rail-optimized",
                "switch": "nvidia-qm9700",
                "os": "sonic",
                "qos": {"dscp": 24},
            }
        ]
    )
    assert [path for path, _ in problems(plan, "network-unused")] == ["fabrics[0].os", "fabrics[0].qos"]


def from_file(folder: Path, **more: Any) -> Plan:
    spec = {
        "name": "pod1",
        "site": {"kind": "onprem", "location": "stockholm"},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": train("dgx-h100", 64),
        "fabrics": [ROCE],
    } | more
    (folder / "cluster.yaml").write_text(yaml.safe_dump(spec))
    return resolve(load(folder / "cluster.yaml"))


@pytest.mark.slow
def test_mac_addresses(tmp_path: Path) -> None:
    (tmp_path / "macs.csv").write_text(
        "host,network,mac\n# nodes\ntrain-0001,in-band,02-00-00-00-00-01\ntrain-0001,bmc,02:00:00:00:00:0A\n"
        "compute-leaf-008,switch,02:00:00:00:00:0b\n\n"
    )
    plan = from_file(tmp_path, network={"macs": "macs.csv"})
    assert not plan.errors
    assert networks(plan).macs == {
        ("train-0001", "in-band"): "02:00:00:00:00:01",
        ("train-0001", "bmc"): "02:00:00:00:00:0a",
        ("compute-leaf-008", "switch"): "02:00:00:00:00:0b",
    }


@pytest.mark.parametrize(
    "line, said",
    [
        ("train-0001,in-band", "2 columns"),
        ("train-0065,in-band,02:00:00:00:00:02", "unknown node or server 'train-0065'"),
        ("train-1,in-band,02:00:00:00:00:02", "unknown node or server 'train-1'"),
        ("train-0001,storage,02:00:00:00:00:02", "unknown network 'storage'"),
        ("train-0001,in-band,02:00:00:00:00", "not a unicast MAC address"),
        ("train-0001,in-band,01:00:00:00:00:02", "not a unicast MAC address"),
        ("train-0002,in-band,02:00:00:00:00:01", "already belongs to train-0001"),
        ("train-0001,in-band,02:00:00:00:00:02", "two MAC addresses on in-band"),
        ("compute-leaf-009,switch,02:00:00:00:00:02", "unknown switch 'compute-leaf-009'"),
    ],
)
def test_wrong_mac_addresses(tmp_path: Path, line: str, said: str) -> None:
    given = "train-0001,in-band,02:00:00:00:00:01\n" if "0001,in-band,0" not in line or "two MAC" in said else ""
    (tmp_path / "macs.csv").write_text(f"host,network,mac\n{given}{line}\n")
    found = problems(from_file(tmp_path, network={"macs": "macs.csv"}), "network-macs")
    assert len(found) == 1 and said in found[0][1] and f"macs.csv:{3 if given else 2}:" in found[0][1]


@pytest.mark.slow
def test_a_list_of_mac_addresses_that_is_not_there(tmp_path: Path) -> None:
    assert problems(from_file(tmp_path, network={"macs": "macs.csv"}), "network-macs")[0][0] == "network.macs"
    (tmp_path / "macs.csv").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in problems(from_file(tmp_path, network={"macs": "macs.csv"}), "network-macs")[0][1]
    (tmp_path / "macs.csv").write_text("x,y,z\n" * 50)
    assert len(problems(from_file(tmp_path, network={"macs": "macs.csv"}), "network-macs")) == 21


@pytest.mark.parametrize(
    "system, switch, fits",
    [
        ("eos", "nvidia-sn5600", False),
        ("eos", "arista-7060x6-64pe", True),
        ("nvue", "arista-7060x6-64pe", False),
        ("nvue", "nvidia-sn5600", True),
        ("sonic", "arista-7060x6-64pe", True),
        ("frr", "arista-7060x6-64pe", True),
    ],
)
def test_a_system_of_another_maker_than_the_switch_is_found(system: str, switch: str, fits: bool) -> None:
    plan = planned(pools=train("dgx-h100", 16), fabrics=[ROCE | {"switch": switch, "os": system}])
    found = [item for item in plan.findings if item.check == "network-system"]
    assert bool(found) is not fits
    assert all(item.path == "fabrics[0].os" and switch in item.problem and "sonic" in item.hint for item in found)


IN_BAND = {"name": "in-band", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn4600c"}
MANAGEMENT = {"name": "management", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn2201"}
JOINS = {"joins": {"fabric": "in-band", "links": 2}}


@pytest.mark.parametrize(
    "in_band, management, islands",
    [
        ({}, {}, {"fabrics[0].exits": "in-band", "fabrics[1].exits": "management"}),
        ({}, JOINS, {"fabrics[0].exits": "in-band and management"}),
        ({"exits": 2}, {}, {"fabrics[1].exits": "management"}),
        ({"exits": 2}, JOINS, {}),
        ({}, {"exits": 1}, {"fabrics[0].exits": "in-band"}),
        ({}, JOINS | {"exits": 1}, {"fabrics[0].exits": "in-band"}),
    ],
)
def test_bridged_networks_without_a_way_to_a_router_are_found(
    in_band: dict[str, Any], management: dict[str, Any], islands: dict[str, str]
) -> None:
    """Each subnet is a VLAN, and switches only bridge: nodes, service machines and storage did not reach each other."""
    pools = train("dgx-h100", 32)
    pools[0]["fabrics"] = ["in-band", "management"]
    plan = planned(pools=pools, fabrics=[IN_BAND | in_band, MANAGEMENT | management])
    assert not plan.errors, plan.errors
    found = dict(problems(plan, "network-exits"))
    assert {
        path: text.partition(" leads to ")[0].removeprefix("no link of ") for path, text in found.items()
    } == islands
    assert "(service, " in found.get("fabrics[0].exits", "(service, ")
    text = render(plan, "ethernet")["INSTALL.md"]
    assert ("to which the plan has no link" in text) == ("exits" not in in_band | management)


@pytest.mark.parametrize(
    "in_band, management, missed",
    [
        ({"exits": 1}, 1, {"fabrics[0].exits": "exits: 2", "fabrics[1].joins.links": "links: 2"}),
        ({"exits": 1}, 2, {"fabrics[0].exits": "exits: 2"}),
        ({"exits": 2}, 1, {"fabrics[1].joins.links": "links: 2"}),
        ({"exits": 2}, 2, {}),
        ({"exits": 2, "tiers": 2, "spines": 2, "leaf_up": 4}, 2, {}),
        ({}, 2, {"fabrics[0].exits": "(2 at least, one for each plane)"}),
    ],
)
def test_each_plane_of_a_bridged_network_needs_an_exit_and_a_joining_link(
    in_band: dict[str, Any], management: int, missed: dict[str, str]
) -> None:
    """A node whose first link failed moved to a plane without its gateway, and the plan had no finding."""
    pools = train("dgx-b200", 4)
    pools[0]["fabrics"] = ["in-band", "management"]
    joins = {"joins": {"fabric": "in-band", "links": management}}
    plan = planned(pools=pools, fabrics=[IN_BAND | in_band | {"planes": 2}, MANAGEMENT | joins])
    assert not plan.errors, plan.errors
    hints = {item.path: item.hint for item in plan.findings if item.check == "network-exits"}
    assert hints.keys() == missed.keys() and all(missed[path] in hint for path, hint in hints.items())
    fabric = next(item for item in plan.fabrics if item.name == "in-band")
    table, top = build_cable_table(plan, fabric), fabric.tiers[-1]
    switches = (
        table.links.source[table.links.target_set == len(table.devices) - 1] if "exits" in in_band else np.array([])
    )
    assert len(set(switches // (top.count // 2))) == min(2, in_band.get("exits", 0))


def test_routed_networks_need_no_exits() -> None:
    assert not problems(planned(pools=train("dgx-h100", 32), fabrics=[ROCE]), "network-exits")
