"""Findings about networks: each has the path and the number that does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from plan.network_plans import ROCE, list_problems, plan_file
from plan.test_resolve import build_pools, plan_spec


@pytest.mark.slow
def test_overlapping_networks_are_reported() -> None:
    plan = plan_spec(network={"fabrics": "10.128.0.0/16"}, fabrics=[ROCE], pools=build_pools("dgx-h100", 64))
    ((path, problem),) = list_problems(plan, "network-overlap")
    assert path == "network.fabrics" and "10.0.0.0/8" in problem and "10.128." in problem
    plan = plan_spec(
        network={"management": "172.16.0.0/14", "fabrics": "172.16.0.0/12"},
        fabrics=[ROCE],
        pools=build_pools("dgx-h100", 64),
    )
    ((path, problem),) = list_problems(plan, "network-overlap")
    assert "172.16.0.0" in problem and path == "network.fabrics"
    plan = plan_spec(network={"cidr": "172.16.0.0/12"}, fabrics=[ROCE], pools=build_pools("dgx-h100", 64))
    assert list_problems(plan, "network-overlap") == []  # undeclared values make space
    plan = plan_spec(fabrics=[ROCE | {"subnet": "10.9.0.0/16"}], pools=build_pools("dgx-h100", 64))
    assert [path for path, _ in list_problems(plan, "network-overlap")] == ["fabrics[0].subnet"]


@pytest.mark.slow
def test_too_few_as_numbers_are_reported() -> None:
    plan = plan_spec(fabrics=[ROCE | {"routing": {"asn_range": "65000-65004"}}], pools=build_pools("dgx-h100", 64))
    ((path, problem),) = list_problems(plan, "network-asn")
    assert path == "fabrics[0].routing.asn_range"
    assert "has 5 AS numbers" in problem and "needs 10" in problem and "8 leaf" in problem
    plan = plan_spec(fabrics=[ROCE | {"routing": {"asn_range": "65000-64000"}}], pools=build_pools("dgx-h100", 64))
    assert "not a valid range" in list_problems(plan, "network-asn")[0][1]


def test_fabrics_with_equal_as_numbers_are_reported() -> None:
    routing = {"routing": {"asn_range": "4200000000-4200000999"}}
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": 64, "fabrics": ["compute", "second"]}]
    plan = plan_spec(fabrics=[ROCE | routing, ROCE | routing | {"name": "second"}], pools=pools)
    assert [path for path, _ in list_problems(plan, "network-asn-overlap")] == ["fabrics[1].routing.asn_range"]


def test_more_rails_than_subnets_are_reported() -> None:
    plan = plan_spec(fabrics=[ROCE | {"subnet": "172.16.0.0/25"}], pools=build_pools("dgx-h100", 64))
    ((path, problem),) = list_problems(plan, "network-size")
    assert path == "fabrics[0].subnet" and "has space for 1 rails of 128 addresses, but compute has 8 rails" in problem
    plan = plan_spec(network={"fabrics": "172.16.0.0/24"}, fabrics=[ROCE], pools=build_pools("dgx-h100", 64))
    ((path, problem),) = list_problems(plan, "network-size")
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
def test_invalid_and_small_networks_are_reported(network: dict[str, str]) -> None:
    plan = plan_spec(network=network, fabrics=[ROCE], pools=build_pools("dgx-h100", 300))
    (key,) = network
    assert list_problems(plan, "network-size")[0][0] == f"network.{key}"


def test_an_unknown_operating_system_is_an_error() -> None:
    plan = plan_spec(fabrics=[ROCE | {"os": "sonik"}], pools=build_pools("dgx-h100", 64))
    (finding,) = [item for item in plan.errors if item.check == "unknown-name"]
    assert finding.path == "fabrics[0].os" and finding.hint == "did you mean sonic?"
    plan = plan_spec(
        fabrics=[ROCE | {"systems": {"leaf": "sonic", "spine": "junos"}}], pools=build_pools("dgx-h100", 64)
    )
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
def test_an_inconsistent_qos_policy_is_reported(qos: dict[str, Any], place: str) -> None:
    plan = plan_spec(fabrics=[ROCE | {"qos": qos}], pools=build_pools("dgx-h100", 64))
    assert [path for path, _ in list_problems(plan, "network-lossless")] == [f"fabrics[0].qos.{place}"]


def test_more_paths_than_the_system_supports_are_reported(tmp_path: Path) -> None:
    overlay = tmp_path / "catalog" / "network-systems"
    overlay.mkdir(parents=True)
    (overlay / "nvue.yaml").write_text("name: nvue\nmax_paths: 32\n")
    plan = plan_file(tmp_path, catalog="catalog")
    assert list_problems(plan, "network-paths")[0][0] == "fabrics[0]"


def test_ethernet_settings_on_infiniband_are_reported() -> None:
    plan = plan_spec(
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
    assert [path for path, _ in list_problems(plan, "network-unused")] == ["fabrics[0].os", "fabrics[0].qos"]


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
def test_a_system_of_another_vendor_than_the_switch_is_reported(system: str, switch: str, fits: bool) -> None:
    plan = plan_spec(pools=build_pools("dgx-h100", 16), fabrics=[ROCE | {"switch": switch, "os": system}])
    found = [item for item in plan.findings if item.check == "network-system"]
    assert bool(found) is not fits
    assert all(item.path == "fabrics[0].os" and switch in item.problem and "sonic" in item.hint for item in found)
