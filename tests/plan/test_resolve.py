"""Published designs come out with their published numbers, and the shape of a plan holds for any spec."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from supercloud.plan.model.plan import Plan
from supercloud.plan.publish.document import build_document
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import loads


def plan_spec(**changes: Any) -> Plan:
    spec = {
        "name": "pod1",
        "site": {"kind": "onprem", "location": "stockholm"},
        "scheduler": {"kind": "slurm", "version": "22.05"},
        "pools": [{"name": "train", "machine": "dgx-h100", "nodes": 127, "fabrics": ["compute"]}],
        "fabrics": [{"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}],
    } | changes
    return resolve(loads(yaml.safe_dump(spec)))


def build_pools(machine: str, nodes: int) -> list[dict[str, Any]]:
    return [{"name": "train", "machine": machine, "nodes": nodes, "fabrics": ["compute"]}]


def count_switches_and_links(plan: Plan) -> tuple[int, ...]:
    (fabric,) = plan.fabrics
    return (
        *(fabric.count_switches(tier) for tier in ("leaf", "spine", "core")),
        *(fabric.link_counts[key] for key in ("node_leaf", "leaf_spine", "spine_core")),
    )


# RA-11333-001 V11 table 3, RA-11334-001 V08 table 3.1: SU -> leaf, spine, core, node-leaf, leaf-spine, spine-core
TABLE_A = {
    2: (16, 8, 0, 512, 512, 0),
    4: (32, 16, 0, 1024, 1024, 0),
    8: (64, 32, 0, 2048, 2048, 0),
    16: (128, 128, 64, 4096, 4096, 4096),
    32: (256, 256, 128, 8192, 8192, 8192),
    64: (512, 512, 256, 16384, 16384, 16384),
}
# RA-11333-001 V11 table 4: SU -> nodes, leaf, spine, compute and UFM cables, spine-leaf cables
TABLE_B = {1: (31, 8, 4, 252, 256), 2: (63, 16, 8, 508, 512), 3: (95, 24, 16, 764, 768), 4: (127, 32, 16, 1020, 1024)}
# RA-11338-001 V01: SU -> accelerators, leaf, spine, core
TABLE_C = {2: (1152, 64, 48, 18), 4: (2304, 128, 96, 36), 8: (4608, 256, 192, 72), 16: (9216, 512, 384, 144)}


@pytest.mark.parametrize("machine", ["dgx-h100", "dgx-h200", "dgx-b200"])
@pytest.mark.parametrize("units", TABLE_A)
def test_switches_of_larger_superpods_match_the_reference(machine: str, units: int) -> None:
    plan = plan_spec(pools=build_pools(machine, 32 * units))
    assert count_switches_and_links(plan) == TABLE_A[units] and not plan.errors


@pytest.mark.slow
@pytest.mark.parametrize("units", TABLE_B)
def test_superpods_with_subnet_managers_match_the_reference(units: int) -> None:
    nodes, leaf, spine, cables, between = TABLE_B[units]
    fabric = {
        "name": "compute",
        "kind": "infiniband",
        "shape": "rail-optimized",
        "switch": "nvidia-qm9700",
        "manager": {"links": 4},
    }
    plan = plan_spec(pools=build_pools("dgx-h100", nodes), fabrics=[fabric])
    (built,) = plan.fabrics
    assert count_switches_and_links(plan)[:2] == (leaf, spine)
    assert (
        built.link_counts["node_leaf"] + built.link_counts["manager"] == cables
        and built.link_counts["leaf_spine"] == between
    )
    full = plan_spec(pools=build_pools("dgx-h100", nodes + 1), fabrics=[fabric | {"su": 32}])
    assert [finding.check for finding in full.errors] == ["fabric-fit"], "one more node leaves no port for them"
    assert f"use {nodes} nodes" in full.errors[0].hint
    smaller = plan_spec(pools=build_pools("dgx-h100", nodes + 1), fabrics=[fabric])
    assert not smaller.errors and count_switches_and_links(smaller)[0] > leaf, (
        "units that the spec leaves open become smaller"
    )


@pytest.mark.parametrize("units", TABLE_C)
def test_nvl72_superpods_match_the_reference(units: int) -> None:
    accelerators, leaf, spine, core = TABLE_C[units]
    plan = plan_spec(pools=build_pools("dgx-gb200", 144 * units))
    assert plan.accelerators == accelerators and count_switches_and_links(plan)[:3] == (leaf, spine, core)
    assert count_switches_and_links(plan)[3:] == (accelerators,) * 3
    blocks = next(item for item in plan.localities if item.kind == "block")
    assert plan.localities[0] is blocks and len(blocks.levels[0].groups) == 8 * units and blocks.block_nodes == 18


# DGX SuperPOD B300, XDR: 72 nodes per SU, radix 144: SU -> leaf, spine
TABLE_B300_XDR = {1: (8, 4), 2: (16, 8), 4: (32, 18), 8: (64, 36)}
# DGX SuperPOD B300, Ethernet in two planes: 64 nodes per SU: SU -> leaf, spine
TABLE_B300_ETHERNET = {1: (16, 8), 2: (32, 16), 4: (64, 32), 8: (128, 64), 16: (256, 128)}


@pytest.mark.parametrize("units", TABLE_B300_XDR)
def test_b300_superpods_over_xdr_match_the_reference(units: int) -> None:
    fabric = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-q3400-ra"}
    plan = plan_spec(pools=build_pools("dgx-b300", 72 * units), fabrics=[fabric])
    assert count_switches_and_links(plan)[:2] == TABLE_B300_XDR[units] and plan.fabrics[0].unit_nodes == 72


@pytest.mark.parametrize("units", TABLE_B300_ETHERNET)
def test_b300_superpods_over_two_ethernet_planes_match_the_reference(units: int) -> None:
    fabric = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600"}
    plan = plan_spec(pools=build_pools("dgx-b300", 64 * units), fabrics=[fabric])
    assert count_switches_and_links(plan)[:2] == TABLE_B300_ETHERNET[units] and plan.fabrics[0].planes == 2


def test_a_fabric_that_is_too_large_is_reported_with_what_fits() -> None:
    plan = plan_spec(pools=build_pools("dgx-h100", 12_500))
    (finding,) = plan.errors
    assert finding.check == "fabric-fit" and "65536" in finding.problem and "radix" in finding.hint


def test_the_example_of_the_design_is_planned() -> None:
    plan = plan_spec(
        storage=[{"name": "scratch", "kind": "lustre", "capacity": "2 PiB", "tier": "best", "mount": "/scratch"}],
        facility={"rack": {"type": "orv3-48u", "nodes": 4}, "power": {"budget": "2 MW"}},
        tenants=[{"name": "llm", "share": 70}, {"name": "vision", "share": 30}],
    )
    data = build_document(plan).model_dump()
    assert data["pools"][0]["hosts"] == "train-[0001-0127]" and data["pools"][0]["accelerators"] == 1016
    assert data["facility"]["racks"] == 32 and data["facility"]["nodes_kw"] == 1295.4
    assert (data["storage"][0]["read_gb_s"], data["storage"][0]["write_gb_s"]) == (500, 250)
    assert [tenant["fraction"] for tenant in data["tenants"]] == [0.7, 0.3]
    tree = data["localities"][0]
    assert [(level["name"], len(level["groups"])) for level in tree["levels"]] == [("su", 4), ("fabric", 1)]
    assert tree["levels"][0]["groups"][3] == {"name": "su4", "hosts": "train-[0097-0127]", "parent": "compute"}


@pytest.mark.slow
def test_storage_throughput_is_interpolated_and_extrapolated() -> None:
    def read(nodes: int) -> float:
        plan = plan_spec(
            pools=build_pools("dgx-h100", nodes), storage=[{"name": "s", "kind": "lustre", "tier": "better"}]
        )
        rate = plan.storage[0].read
        assert rate
        return rate.to("GB/s")

    assert [read(nodes) for nodes in (8, 32, 64, 128, 256)] == [40, 40, 80, 160, 320]


def test_unknown_names_are_findings_with_the_nearest() -> None:
    plan = plan_spec(
        pools=[{"name": "train", "machine": "dgx-h10", "nodes": 4, "fabrics": ["comput"]}],
        fabrics=[{"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm970"}],
        scheduler={
            "kind": "slurm",
            "version": "21.08",
            "partitions": [{"name": "p", "pools": ["trian"], "accounts": ["nobody"]}],
        },
        facility={"rack": {"type": "orv3-48"}},
    )
    findings = {finding.path: finding.hint for finding in plan.errors}
    assert "dgx-h100" in findings["pools[0].machine"]
    assert "compute" in findings["pools[0].fabrics[0]"]
    assert "train" in findings["scheduler.partitions[0].pools[0]"]
    assert {"scheduler.version", "scheduler.partitions[0].accounts[0]"} <= set(findings)


def test_mixed_pools_share_one_tree() -> None:
    plan = plan_spec(
        pools=[
            {"name": "a", "machine": "dgx-h100", "nodes": 40, "fabrics": ["compute"]},
            {"name": "b", "machine": "dgx-b200", "nodes": 30, "fabrics": ["other"]},
            {"name": "cpu", "machine": "cpu-6740e", "nodes": 3},
        ],
        fabrics=[
            {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"},
            {"name": "other", "kind": "roce", "shape": "fat-tree", "switch": "nvidia-sn5600"},
        ],
    )
    assert not plan.errors
    tree = next(item for item in plan.localities if item.kind == "tree")
    everyone = sorted(host for pool in plan.pools for host in pool.hosts)
    for inner, outer in zip(tree.levels, tree.levels[1:], strict=False):
        assert sorted(host for group in inner.groups for host in group.hosts) == everyone
        for group in inner.groups:
            assert group.parent is not None and set(group.hosts) <= set(outer.groups[group.parent].hosts)
    assert len(tree.levels[-1].groups) == 1
    names = [group.name for level in tree.levels for group in level.groups]
    assert len(names) == len(set(names))


@pytest.mark.exhaustive
@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(["dgx-h100", "dgx-b200", "dgx-gb200", "dgx-a100", "cpu-6740e"]), st.integers(1, 400)),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(["rail-optimized", "fat-tree"]),
)
def test_every_plan_is_consistent(pools: list[tuple[str, int]], shape: str) -> None:
    plan = plan_spec(
        pools=[
            {
                "name": f"p{index}",
                "machine": machine,
                "nodes": nodes,
                "fabrics": [] if machine == "cpu-6740e" else [f"f{index}"],
            }
            for index, (machine, nodes) in enumerate(pools)
        ],
        fabrics=[
            {"name": f"f{index}", "kind": "infiniband", "shape": shape, "switch": "nvidia-qm9700"}
            for index, (machine, _) in enumerate(pools)
            if machine != "cpu-6740e"
        ],
    )
    assert not plan.errors
    hosts = [host for pool in plan.pools for host in pool.hosts]
    assert len(set(hosts)) == len(hosts) == plan.nodes
    addresses = [pool.addresses[index] for pool in plan.pools for index in range(pool.nodes)]
    assert len(set(addresses)) == len(addresses)
    for locality in plan.localities:
        for level in locality.levels:
            seen = [host for group in level.groups for host in group.hosts]
            assert len(set(seen)) == len(seen)
            if locality.kind in ("tree", "flat"):
                assert sorted(seen) == sorted(hosts)
    assert build_document(plan).model_dump_json() == build_document(plan).model_dump_json()
