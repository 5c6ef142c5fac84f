"""Invalid networks: each is one finding with its path and a fix that works."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml
from plan.test_hall_fixes import list_findings, list_fixes, set_value
from plan.test_management_addresses import COMPUTE, IN_BAND, MANAGEMENT

from supercloud.plan.checks.network_names import _find_shared_name
from supercloud.primitives.nodes import HostRange

ROCE = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600"}
TENANTS = {"tenants": [{"name": "a", "share": 1, "users": ["x"]}, {"name": "b", "share": 1, "users": ["y"]}]}


def build_spec(
    *fabrics: dict[str, Any], pools: list[dict[str, Any]] | None = None, nodes: int = 64, **more: Any
) -> Any:
    names = [fabric["name"] for fabric in fabrics]
    return {
        "name": "t",
        "site": {"kind": "onprem", "location": "stockholm"},
        "scheduler": {"kind": "slurm", "version": "25.11"},
        "pools": pools or [{"name": "train", "machine": "dgx-h100", "nodes": nodes, "fabrics": names}],
        "fabrics": list(fabrics),
    } | more


def build_upstream_spec(**upstream: Any) -> Any:
    return build_spec(COMPUTE, IN_BAND, MANAGEMENT | {"upstream": upstream}, nodes=8)


WRONG: dict[str, tuple[str, str, str, Any]] = {
    "more rails than adapters": (
        "fabric-adapters",
        "fabrics[0].rails",
        "99 links per node, 91 more than the 8",
        build_spec(ROCE | {"rails": 99}),
    ),
    "more rails over planes": (
        "fabric-adapters",
        "fabrics[0].rails",
        "16 links per node, 8 more than the 8",
        build_spec(ROCE | {"rails": 8, "planes": 2}),
    ),
    "planes below another network": (
        "fabric-planes",
        "fabrics[0].planes",
        "compute has 2 planes: leaves below storage are switches of one network",
        build_spec(
            COMPUTE | {"planes": 2, "upstream": {"fabric": "storage", "links": 2}}, COMPUTE | {"name": "storage"}
        ),
    ),
    "too few spines": ("fabric-fit", "fabrics[0]", "do not fit", build_spec(ROCE | {"spines": 3})),
    "spines that would take a core": (
        "fabric-tiers",
        "fabrics[0].spines",
        "32 spines in pods and 16 core switches above them, 80 switches in total",
        build_spec(COMPUTE | {"spines": 8}, nodes=127),
    ),
    "spines of a tree that would take a core": (
        "fabric-tiers",
        "fabrics[0].spines",
        "without this number 24 in 2 tiers are sufficient",
        build_spec(COMPUTE | {"spines": 2, "shape": "fat-tree"}, nodes=63),
    ),
    "too many spines": (
        "fabric-fit",
        "fabrics[0]",
        "cannot be spread evenly over 1000",
        build_spec(ROCE | {"spines": 1000}),
    ),
    "unknown upstream fabric": (
        "unknown-name",
        "fabrics[2].upstream.fabric",
        "unknown fabric 'inband'",
        build_upstream_spec(fabric="inband", links=2),
    ),
    "a torus with an upstream fabric": (
        "fabric-upstream",
        "fabrics[2].upstream",
        "management is a torus, which has no switches",
        build_spec(
            COMPUTE,
            IN_BAND,
            MANAGEMENT | {"shape": "torus", "dims": [4, 2], "upstream": {"fabric": "in-band", "links": 2}},
            nodes=8,
        ),
    ),
    "a torus with external links": (
        "fabric-shape",
        "fabrics[0].external_links",
        "compute is a torus, which has no switches",
        build_spec(ROCE | {"shape": "torus", "dims": [8, 8], "external_links": 2}),
    ),
    "its own upstream fabric": (
        "fabric-upstream",
        "fabrics[2].upstream.fabric",
        "management is its own upstream fabric",
        build_upstream_spec(fabric="management", links=2),
    ),
    "upstream fabric of another kind": (
        "fabric-upstream",
        "fabrics[2].upstream.fabric",
        "compute is infiniband",
        build_upstream_spec(fabric="compute", links=2),
    ),
    "routed upstream fabric": (
        "fabric-upstream",
        "fabrics[2].upstream.fabric",
        "in-band is routed (ethernet, role storage)",
        build_spec(
            COMPUTE,
            IN_BAND | {"role": "storage"},
            MANAGEMENT | {"upstream": {"fabric": "in-band", "links": 2}},
            nodes=8,
        ),
    ),
    "upstream fabric without a pool": (
        "fabric-upstream",
        "fabrics[2].upstream.fabric",
        "in-band",
        build_spec(
            COMPUTE,
            IN_BAND,
            MANAGEMENT | {"upstream": {"fabric": "in-band", "links": 2}},
            pools=[{"name": "train", "machine": "dgx-h100", "nodes": 8, "fabrics": ["compute", "management"]}],
        ),
    ),
    "two tenants, one key": (
        "subnet-partitions",
        "fabrics[0].partitions[1].pkey",
        "b has the key 0x0010 of a",
        build_spec(
            COMPUTE
            | {"partitions": [{"tenant": "a", "pkey": 16}, {"tenant": "b", "pkey": 16}, {"tenant": "a", "pkey": 17}]},
            **TENANTS,
        ),
    ),
    "no such tenant": (
        "unknown-name",
        "fabrics[0].partitions[0].tenant",
        "unknown tenant 'zz'",
        build_spec(COMPUTE | {"partitions": [{"tenant": "zz"}]}, **TENANTS),
    ),
    "hosts that are not there": (
        "subnet-partitions",
        "fabrics[0].partitions[0].hosts",
        "6 of its hosts are not on compute, such as train-0065",
        build_spec(COMPUTE | {"partitions": [{"tenant": "a", "hosts": "train-[0065-0070]"}]}, **TENANTS),
    ),
    "hosts that are no hosts": (
        "subnet-partitions",
        "fabrics[0].partitions[0].hosts",
        "",
        build_spec(COMPUTE | {"partitions": [{"tenant": "a", "hosts": "train-[60-"}]}, **TENANTS),
    ),
    "no network of IPv4": (
        "addresses",
        "network.cidr",
        "hosts require IPv4",
        build_spec(ROCE, network={"cidr": "fd00::/64"}),
    ),
    "a network too small": (
        "addresses",
        "network.cidr",
        "blocks of: service hosts 256, train 256",
        build_spec(ROCE, network={"cidr": "10.0.0.0/28"}),
    ),
    "a pool like management ports": (
        "duplicate-name",
        "pools[0].name",
        "bmc-train-0001 would be the name of the management port of train and of a node of bmc-train",
        build_spec(
            COMPUTE,
            pools=[
                {"name": "train", "machine": "dgx-h100", "nodes": 4, "fabrics": ["compute"]},
                {"name": "bmc-train", "machine": "dgx-h100", "nodes": 4},
            ],
        ),
    ),
    "ports of one kind for two kinds of fabric": (
        "fabric-ports",
        "fabrics[1]",
        "eth needs the compute ports of mi300x-8gpu (8 × 400 Gb/s ConnectX-7; pool train), which are already on ib",
        build_spec(
            {"name": "ib", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"},
            ROCE | {"name": "eth"},
            pools=[{"name": "train", "machine": "mi300x-8gpu", "nodes": 8, "fabrics": ["ib", "eth"]}],
        ),
    ),
    "two storage networks on one machine": (
        "fabric-ports",
        "fabrics[1]",
        "two needs the storage ports of dgx-b200 (2 × 400 Gb/s BlueField-3; pool train)",
        build_spec(
            {"name": "one", "role": "storage", "kind": "roce", "shape": "fat-tree", "switch": "nvidia-sn5600"},
            {"name": "two", "role": "storage", "kind": "infiniband", "shape": "fat-tree", "switch": "nvidia-qm9700"},
            pools=[{"name": "train", "machine": "dgx-b200", "nodes": 8, "fabrics": ["one", "two"]}],
        ),
    ),
    "two ways to run the same ports": (
        "fabric-ports",
        "fabrics[1]",
        "eth needs the compute ports of dgx-b300 (16 × 400 Gb/s ConnectX-8; pool train)",
        build_spec(
            {"name": "ib", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-q3400-ra"},
            ROCE | {"name": "eth"},
            pools=[{"name": "train", "machine": "dgx-b300", "nodes": 8, "fabrics": ["ib", "eth"]}],
        ),
    ),
    "two management networks": (
        "fabric-ports",
        "fabrics[2]",
        "second needs the management ports of dgx-b300 (1 port; pool train)",
        build_spec(
            COMPUTE,
            MANAGEMENT,
            MANAGEMENT | {"name": "second", "role": "management"},
            pools=[
                {"name": "train", "machine": "dgx-b300", "nodes": 8, "fabrics": ["management", "second"]},
                {"name": "other", "machine": "dgx-h100", "nodes": 8, "fabrics": ["compute"]},
            ],
        ),
    ),
    "machines like switches": (
        "duplicate-name",
        "facility.machines[0].name",
        "compute-leaf-001 would be the name of a machine of compute-leaf and of a leaf switch of compute",
        build_spec(
            COMPUTE, facility={"machines": [{"name": "compute-leaf", "machine": "management-server", "count": 120}]}
        ),
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_each_wrong_network_is_one_finding_with_its_path(case: str) -> None:
    check, path, output, data = WRONG[case]
    wrong = [finding for finding in list_findings(data) if finding.level == "error"]
    assert [(finding.check, finding.path) for finding in wrong] == [(check, path)], wrong
    assert output in wrong[0].problem and wrong[0].hint
    for place, value in list_fixes(wrong[0]):
        fixed = copy.deepcopy(data)
        set_value(fixed, f"fabrics[0].{place}" if place.startswith(".") else place, value)
        left = [finding for finding in list_findings(fixed) if finding.level == "error"]
        assert not left, (place, value, left)


@pytest.mark.parametrize(
    "upstream, cycle",
    [
        ({"a": "b", "b": "a"}, "ab"),
        ({"a": "b", "b": "c", "c": "b"}, "bc"),
        ({"a": "b", "b": "c", "c": "d", "d": "b"}, "bcd"),
        ({"a": "a", "b": "a"}, "a"),
        ({"d": "c", "c": "b", "b": "a", "a": "b"}, "ab"),
    ],
)
def test_a_cycle_of_upstream_fabrics_is_refused_at_each_of_its_networks(upstream: dict[str, str], cycle: str) -> None:
    """Also where other networks only lead into it, which say nothing."""
    names = sorted({*upstream, *upstream.values()})
    pools = [{"name": f"of-{name}", "machine": "dgx-h100", "nodes": 8, "fabrics": [name]} for name in names]
    fabrics = [IN_BAND | {"name": name, "role": "in-band", "upstream": None} for name in names]
    for fabric in fabrics:
        if name := upstream.get(fabric["name"]):
            fabric["upstream"] = {"fabric": name, "links": 2}
    wrong = [item for item in list_findings(build_spec(*fabrics, pools=pools)) if item.check == "fabric-upstream"]
    assert [(item.check, item.path) for item in wrong] == [
        ("fabric-upstream", f"fabrics[{names.index(name)}].upstream.fabric") for name in cycle
    ]
    assert all(
        item.problem.startswith((f"{name} -> ", f"{name} is its own ")) and item.hint
        for name, item in zip(cycle, wrong, strict=True)
    )


@pytest.mark.slow
def test_valid_joins_and_partitions_have_no_findings() -> None:
    good = build_upstream_spec(fabric="in-band", links=2)
    assert not [finding for finding in list_findings(good) if finding.level == "error"]
    parts = [{"tenant": "a", "pkey": 16, "hosts": "train-[0001-0008]"}, {"tenant": "a", "pkey": 16}, {"tenant": "b"}]
    assert not [
        finding
        for finding in list_findings(build_spec(COMPUTE | {"partitions": parts}, **TENANTS))
        if finding.check == "subnet-partitions"
    ]


@pytest.mark.parametrize(
    "one, other, shared",
    [
        (HostRange("a-", 1, 9, 2), HostRange("a-", 9, 20, 2), "09"),
        (HostRange("a-", 1, 9, 2), HostRange("a-", 10, 20, 2), None),
        (HostRange("a-", 1, 99, 2), HostRange("a-", 1, 99, 4), None),
        (HostRange("a-", 1, 2000, 2), HostRange("a-", 1, 1500, 4), "1000"),
    ],
)
def test_colliding_names_are_found(one: HostRange, other: HostRange, shared: str | None) -> None:
    assert _find_shared_name(one, other) == _find_shared_name(other, one) == shared
    both = sorted({*one} & {*other})
    assert (both[0].removeprefix("a-") if both else None) == shared


def test_specs_of_the_cases_are_plain_yaml() -> None:
    assert all(yaml.safe_load(yaml.safe_dump(data)) == data for _, _, _, data in WRONG.values())


@pytest.mark.slow
def test_links_out_of_a_routed_fabric_are_reported() -> None:
    conv = ROCE | {"name": "conv", "role": "storage", "external_links": 4}
    data = build_spec(COMPUTE, conv, MANAGEMENT | {"upstream": {"fabric": "conv", "links": 2}}, nodes=8)
    findings = [(item.path, item.problem.split(":")[0]) for item in list_findings(data) if item.check == "network-edge"]
    assert findings == [
        ("fabrics[1].external_links", "4 links of conv lead to the building"),
        ("fabrics[1]", "2 links of conv lead to management"),
    ]
    bridged = build_spec(
        COMPUTE, IN_BAND | {"external_links": 4}, MANAGEMENT | {"upstream": {"fabric": "in-band", "links": 2}}, nodes=8
    )
    assert not [item for item in list_findings(bridged) if item.check == "network-edge"]


@pytest.mark.slow
def test_links_slower_than_the_adapters_are_reported() -> None:
    gaudi = [{"name": "train", "machine": "gaudi3-8", "nodes": 16, "fabrics": ["compute"]}]
    slow = ROCE | {"switch": "arista-7060x6-64pe"}  # 800, 400 and 100 Gb/s; the ports of a Gaudi 3 have 200
    (finding,) = (item for item in list_findings(build_spec(slow, pools=gaudi)) if item.check == "fabric-speed")
    assert "links of compute run at 100 Gb/s, 100 Gb/s below the speed of the adapters (200 Gb/s)" in finding.problem
    assert "nvidia-sn5600" in finding.hint and "set speed: 100 Gb/s" in finding.hint
    for fixed in (ROCE, slow | {"speed": "100 Gb/s"}):
        assert not [item for item in list_findings(build_spec(fixed, pools=gaudi)) if item.check == "fabric-speed"]


@pytest.mark.slow
def test_an_unavailable_kind_of_cable_is_reported() -> None:
    hall = {"facility": {"rack": {"type": "eia-48u", "nodes": 4}}}
    (finding,) = (
        item
        for item in list_findings(build_spec(COMPUTE | {"cabling": {"media": ["aoc"]}}, nodes=32, **hall))
        if item.check.startswith("cable")
    )
    assert (finding.check, finding.path) == ("cable-unknown", "fabrics[0].cabling.media")
    assert "512 of 512 links of compute have no cable: the catalog has no aoc that joins osfp" in finding.problem
    assert not [
        item
        for item in list_findings(build_spec(COMPUTE | {"cabling": {"media": ["aoc", "fiber"]}}, nodes=32, **hall))
        if item.check.startswith("cable")
    ]


@pytest.mark.parametrize("field", ["cidr", "fabrics", "management"])
def test_an_address_inside_a_network_means_the_network_of_its_prefix(field: str) -> None:
    """A larger network would be accepted too, and would give all machines other addresses."""
    data = build_spec(COMPUTE, IN_BAND, MANAGEMENT, nodes=8, network={field: "172.30.0.1/16"})
    [finding] = [item for item in list_findings(data) if item.path == f"network.{field}" and item.level == "error"]
    assert finding.hint == "write 172.30.0.0/16, the network that contains this address"
    assert not [
        item for item in list_findings(data | {"network": {field: "172.30.0.0/16"}}) if item.path == f"network.{field}"
    ]


def test_the_hint_on_a_small_network_names_the_smallest_that_is_large_enough() -> None:
    data = build_spec(nodes=8, network={"cidr": "10.20.0.0/28"})
    [finding] = [item for item in list_findings(data) if item.path == "network.cidr"]
    assert finding.hint == "specify a larger network: 10.20.0.0/23 is the smallest that is large enough"
    for cidr, count in (("10.20.0.0/24", 1), ("10.20.0.0/23", 0)):
        found = list_findings(data | {"network": {"cidr": cidr}})
        assert len([item for item in found if item.path == "network.cidr"]) == count
