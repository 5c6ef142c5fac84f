"""Storage servers with addresses of the in-band network have ports on it, or there is a finding."""

from __future__ import annotations

import pytest
from plan.test_resolve import plan_spec

from supercloud.plan.model.plan import Plan

IN_BAND = {"name": "in-band", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn4600"}
STORAGE = {"name": "storage", "kind": "roce", "shape": "fat-tree", "switch": "nvidia-sn4600"}


def build_site(machine: str, clients: str, *more: str) -> Plan:
    fabrics = [STORAGE, IN_BAND, *(IN_BAND | {"name": name, "role": "in-band"} for name in more)]
    pools = [
        {"name": name, "machine": "dgx-h100", "nodes": 4, "fabrics": ["storage", network]}
        for name, network in zip(("one", "two"), ("in-band", *more), strict=False)
    ]
    store = {
        "name": "scratch",
        "kind": "lustre",
        "capacity": "100 TB",
        "mount": "/scratch",
        "fabric": clients,
        "servers": {"machine": machine, "count": 4},
    }
    return plan_spec(pools=pools, fabrics=fabrics, storage=[store])


# cpu-6740e has two ports, for in-band Ethernet; management-server has two for storage besides.
@pytest.mark.parametrize(
    "machine, clients, has_port",
    [
        ("cpu-6740e", "storage", False),
        ("cpu-6740e", "in-band", True),
        ("management-server", "storage", True),
    ],
)
def test_servers_without_a_port_on_the_network_of_their_addresses_are_reported(
    machine: str, clients: str, has_port: bool
) -> None:
    plan = build_site(machine, clients)
    found = [item for item in plan.findings if item.check == "storage-in-band"]
    in_band = next(item for item in plan.fabrics if item.name == "in-band")
    assert any(service.name == "scratch-oss" for service in in_band.services) is has_port
    assert [(item.level, item.path) for item in found] == [("warning", "storage[0].servers.machine")] * (not has_port)
    for item in found:
        assert "scratch-oss-[0001-0004]" in item.problem and "in-band: 2 × 200 Gb/s ethernet" in item.problem


def test_ports_of_servers_are_on_one_in_band_network() -> None:
    plan = build_site("management-server", "storage", "second")
    joined = [fabric.name for fabric in plan.fabrics if any(item.name == "scratch-oss" for item in fabric.services)]
    assert joined == ["storage", "in-band"]
