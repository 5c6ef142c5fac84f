"""Service hosts on-prem: names and addresses that are invalid or in use."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from supercloud.plan.build.kubernetes.networks import build_cluster_networks
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.primitives.addresses import AddressRun
from supercloud.primitives.nodes import HostRange
from supercloud.spec import ClusterSpec


def build_plan(kind: str, *controllers: tuple[str, str | None]) -> Plan:
    version = "1.36" if kind == "kubernetes" else "25.11"
    hosts = [{"name": name} | ({"address": address} if address else {}) for name, address in controllers]
    return resolve(
        ClusterSpec.model_validate(
            {
                "name": "pod",
                "site": {"kind": "onprem", "location": "stockholm"},
                "scheduler": {"kind": kind, "version": version, "controllers": hosts},
                "pools": [{"name": "t", "machine": "dgx-h100", "nodes": 300}],
            }
        )
    )


def list_problems(plan: Plan, check: str = "service-hosts") -> list[tuple[str, str]]:
    return [(item.path, item.problem) for item in plan.findings if item.check == check]


@pytest.mark.parametrize("kind", ["kubernetes", "slurm"])
@pytest.mark.parametrize(
    "controllers, found",
    [
        ([("a", None), ("b", "10.0.7.1"), ("c", None)], None),
        ([("a", "999.1.2.3")], "'999.1.2.3' is not an IP address"),
        ([("a", "10.0.7.1"), ("b", "10.0.7.2"), ("c", "10.0.7.1")], "10.0.7.1 is the address of a"),
        (
            [("a", "10.0.0.12"), ("b", None), ("c", "10.0.7.3")],
            "10.0.0.12 is the address of a",
        ),  # b's own would be that
        ([("a", "10.1.1.50")], "10.1.1.50 is the address of one of t-[0001-0300]"),
        ([("a", "10.1.1.51")], None),  # the 301st
        ([("t-0300", None)], "t-0300 is also the name of one of t-[0001-0300]"),
        ([("t-0301", None)], None),
    ],
)
def test_duplicate_names_and_addresses_of_hosts_are_reported(kind: str, controllers: Any, found: str | None) -> None:
    assert [problem for _, problem in list_problems(build_plan(kind, *controllers))] == ([found] if found else [])


@pytest.mark.slow
def test_only_slurm_accepts_ipv6_addresses() -> None:
    assert not list_problems(build_plan("slurm", ("a", "fd00::1")))
    [(path, problem)] = list_problems(build_plan("kubernetes", ("a", "fd00::1")))
    assert path == "scheduler.controllers[0].address" and "IPv6" in problem
    [(_, problem)] = list_problems(build_plan("kubernetes", ("a", "10.0.0.10")))
    assert problem == "10.0.0.10 is the address of the endpoint of the control plane"


def test_the_address_of_the_control_plane_is_in_their_network() -> None:
    [(path, problem)] = list_problems(build_plan("kubernetes", ("a", "192.0.2.7"), ("b", None)), "kubernetes-endpoint")
    assert path == "scheduler.controllers[0].address" and "outside of 10.0.0.0/16" in problem


def test_networks_of_pods_and_services_avoid_the_hosts() -> None:
    free = build_cluster_networks(build_plan("kubernetes", ("a", None)))
    for block in (free.pods, free.services):
        assert block
        moved = build_cluster_networks(build_plan("kubernetes", ("a", str(block.network_address + 5))))
        address = ipaddress.ip_address(str(block.network_address + 5))
        assert moved.pods and moved.services and address not in moved.pods and address not in moved.services


def test_runs_contain_their_hosts_and_addresses() -> None:
    hosts = HostRange("gpu-", 8, 12, 2)
    assert [
        name
        for name in ("gpu-07", "gpu-08", "gpu-8", "gpu-12", "gpu-012", "gpu-13", "gpu-x", "cpu-08")
        if name in hosts
    ] == ["gpu-08", "gpu-12"]
    run = AddressRun(ipaddress.IPv4Network("10.0.0.0/16"), 249, 3)
    inside = {run[index] for index in range(3)}
    assert {str(address) for address in ipaddress.IPv4Network("10.0.0.0/22") if str(address) in run} == inside
    assert "nonsense" not in run and "fd00::1" not in run
