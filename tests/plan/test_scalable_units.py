"""A fabric whose units the spec leaves open has leaves for its nodes and no more, and its rails meet."""

from __future__ import annotations

from typing import Any

import pytest
from plan.test_resolve import build_pools, plan_spec

from supercloud.plan.model.plan import Plan
from supercloud.topology import Fabric as Wiring

NDR = {"name": "compute", "kind": "infiniband", "shape": "rail-optimized", "switch": "nvidia-qm9700"}
XDR = NDR | {"switch": "nvidia-q3400-ra"}
ROCE = NDR | {"kind": "roce", "switch": "nvidia-sn5600"}


def build_wiring(plan: Plan) -> Wiring:
    assert not plan.errors
    wiring = plan.fabrics[0].wiring
    assert isinstance(wiring, Wiring)
    return wiring


def count_switches(machine: str, nodes: int, of: dict[str, Any]) -> tuple[int, ...]:
    return tuple(tier.count for tier in build_wiring(plan_spec(pools=build_pools(machine, nodes), fabrics=[of])).tiers)


def count_idle_switches(wiring: Wiring) -> dict[str, int]:
    """Switches of each tier with no way to a node."""
    used = {"node": set(range(wiring.nodes))}
    for group in wiring.link_groups:
        ends = group.build_columns()
        joined = {
            int(upper)
            for lower, upper in zip(ends.source, ends.target, strict=True)
            if int(lower) in used[group.source_kind]
        }
        used.setdefault(group.target_kind, set()).update(joined)
    return {tier.name: tier.count - len(used[tier.name]) for tier in wiring.tiers if tier.count > len(used[tier.name])}


# By hand for DGX GB200: 4 leaves of 18 uplinks for each rack, all of them under the same 9 or 18 spines of 64 ports up
# to 64 leaves; then pods of at most 8 racks (17 racks: 6, 6 and 5, each with 18 spines) and two cores in each group.
@pytest.mark.parametrize(
    "machine, nodes, of, switches",
    [
        ("dgx-gb200", 144, NDR, (32, 9)),
        ("dgx-gb200", 145, NDR, (36, 18)),
        ("dgx-gb200", 180, NDR, (40, 18)),
        ("dgx-gb200", 270, NDR, (60, 18)),
        ("dgx-gb200", 288, NDR, (64, 48, 18)),  # two units: as printed
        ("dgx-gb200", 288, NDR | {"pod": "su"}, (64, 18)),
        ("dgx-gb200", 288, NDR | {"tiers": 2}, (64, 18)),
        ("dgx-gb200", 144, NDR | {"tiers": 3}, (32, 24, 12)),
        ("dgx-gb200", 72, NDR | {"pod": "rail"}, (16, 8)),
        ("dgx-gb200", 18, NDR | {"tiers": 1}, (4,)),
        ("dgx-gb200", 306, NDR, (68, 54, 36)),
        ("dgx-gb200", 180, NDR | {"oversubscription": {"leaf": 2}}, (40, 9)),
        ("dgx-gb300", 145, XDR, (12, 6)),
        ("dgx-gb300", 288, XDR, (16, 8)),
        ("dgx-h100", 52, NDR | {"leaf_up": 40}, (24, 20)),  # 24 nodes on a leaf: 3 of them on each rail
    ],
)
def test_switches_match_a_manual_count(machine: str, nodes: int, of: dict[str, Any], switches: tuple[int, ...]) -> None:
    assert count_switches(machine, nodes, of) == switches


@pytest.mark.parametrize("machine", ["dgx-gb200", "dgx-h100"])
@pytest.mark.parametrize("shape", ["fat-tree", "rail-optimized"])
def test_units_and_domains_of_compute_do_not_affect_other_networks(machine: str, shape: str) -> None:
    """Machines with as many ports of a network on leaves of as many ports take equal switches there. By hand: 32 ports
    of a leaf face down, and external links find ports on the spines.
    """
    network = {"name": "in-band", "kind": "ethernet", "shape": shape, "switch": "nvidia-sn4600c", "external_links": 2}
    pools = [{"name": "train", "machine": machine, "nodes": 288, "fabrics": ["in-band"]}]
    wiring = build_wiring(plan_spec(pools=pools, fabrics=[network]))
    assert tuple(tier.count for tier in wiring.tiers) == (18, 16)


@pytest.mark.slow
@pytest.mark.parametrize(
    "machine, of",
    [
        ("dgx-gb200", NDR),
        ("dgx-gb200", NDR | {"oversubscription": {"leaf": 2}}),
        ("dgx-gb200", NDR | {"pod": "rail"}),
        ("dgx-gb300", XDR),
        ("dgx-gb300", ROCE | {"speed": "400 Gb/s"}),
        ("dgx-h100", NDR | {"leaf_up": 40}),
        ("dgx-b300", XDR),
        ("dgx-b200", NDR),
    ],
)
def test_no_switch_is_without_nodes_and_rails_meet(machine: str, of: dict[str, Any]) -> None:
    for nodes in (1, 19, 73, 144, 145, 217, 289, 577):
        wiring = build_wiring(plan_spec(pools=build_pools(machine, nodes), fabrics=[of]))
        assert not count_idle_switches(wiring), (nodes, wiring.switch_counts)
        assert not wiring.has_disjoint_rails or of.get("pod") == "rail", nodes


@pytest.mark.parametrize("racks", [1, 2, 7, 8, 9, 13, 15, 16, 17, 29])
def test_each_rack_of_nvl72_needs_four_leaves(racks: int) -> None:
    wiring = build_wiring(plan_spec(pools=build_pools("dgx-gb200", 18 * racks), fabrics=[NDR | {"leaf_rails": 1}]))
    assert wiring.tiers[0].count == 4 * racks
    assert len(wiring.tiers) == (2 if racks < 16 else 3)
    assert wiring.bisection == 1


@pytest.mark.parametrize(
    "machine, nodes, of, switches",
    [
        ("dgx-b300", 3672, XDR, (408, 408, 216)),  # 17 pods of three units; one unit a pod would take 288 cores
        ("dgx-b300", 3672, XDR | {"pod": "su"}, (408, 408, 288)),  # as declared
        ("dgx-h100", 625, NDR, (160, 160, 128)),  # no size of pods takes fewer
        ("dgx-gb200", 576, NDR, (128, 96, 36)),  # the vendor's pods
    ],
)
def test_undeclared_pods_have_the_size_with_the_fewest_switches(
    machine: str, nodes: int, of: dict[str, Any], switches: tuple[int, ...]
) -> None:
    assert count_switches(machine, nodes, of) == switches


@pytest.mark.slow
@pytest.mark.parametrize(
    "machine, nodes, settings, switches",
    [
        ("dgx-gb200", 271, {"pod": "su"}, (130, 82)),
        ("dgx-gb200", 288, {"pod": "su"}, (130, 82)),
        ("dgx-h100", 625, {"pod": "rail", "tiers": 2}, (448, 288)),
    ],
)
def test_a_kind_of_pod_with_fewer_switches_is_reported_correctly(
    machine: str, nodes: int, settings: dict[str, Any], switches: tuple[int, int]
) -> None:
    now = plan_spec(pools=build_pools(machine, nodes), fabrics=[NDR])
    [finding] = [item for item in now.findings if item.check == "fabric-pods"]
    assert all(f"{key}: {value}" in finding.hint for key, value in settings.items()) and finding.level == "note"
    assert f"{switches[0]} switches connect" in finding.problem and f"{switches[1]} are enough" in finding.problem
    assert sum(count_switches(machine, nodes, NDR)) == switches[0]
    then = plan_spec(pools=build_pools(machine, nodes), fabrics=[NDR | settings])
    assert sum(tier.count for tier in build_wiring(then).tiers) == switches[1]
    assert not [item for item in then.findings if item.check == "fabric-pods"]


def list_split(pools: list[dict[str, Any]], of: dict[str, Any]) -> list[str]:
    """The findings on split domains, and a manual check: the leaves of their nodes, read from the links."""
    plan = plan_spec(pools=pools, fabrics=[of])
    findings = [item.hint for item in plan.findings if item.check == "fabric-split-domain"]
    ends = build_wiring(plan).link_groups[0].build_columns()
    leaves: dict[int, set[int]] = {}
    for node, leaf in zip(ends.source.tolist(), ends.target.tolist(), strict=True):
        leaves.setdefault(node, set()).add(leaf)
    first, split = 0, False
    for pool in plan.pools:
        for start in range(0, pool.nodes, pool.machine.domain_nodes):
            nodes = range(first + start, first + min(start + pool.machine.domain_nodes, pool.nodes))
            split = split or any(leaves[node] != leaves[nodes[0]] for node in nodes)
        first += pool.nodes
    assert bool(findings) is split, (pools, findings)
    return findings


@pytest.mark.slow
@pytest.mark.parametrize("nodes", [2, 12, 16, 24, 31, 36, 90])
def test_domains_that_are_not_split_are_not_reported(nodes: int) -> None:
    assert not list_split(build_pools("dgx-gb200", nodes), NDR)
    assert not list_split(build_pools("dgx-gb200", min(nodes, 18)), NDR | {"leaf_down": 20})


@pytest.mark.slow
def test_split_domains_are_reported_with_a_fix() -> None:
    assert list_split(build_pools("dgx-gb200", 72), NDR | {"leaf_down": 20}) == ["set leaf_down to a multiple of 18"]
    assert list_split(build_pools("dgx-gb200", 36), NDR | {"leaf_rails": 4}) == ["set leaf_rails: 1"]
    assert not list_split(build_pools("dgx-gb200", 36), NDR | {"leaf_rails": 1})
    behind = [
        {"name": "rest", "machine": "dgx-gb200", "nodes": 4, "fabrics": ["compute"]},
        *build_pools("dgx-gb200", 36),
    ]
    [hint] = list_split(behind, NDR)
    assert hint.startswith("declare pool train before the others of compute")
    assert not list_split(behind[::-1], NDR)


@pytest.mark.slow
@pytest.mark.parametrize("one, other", [(20, 31), (31, 20), (20, 22), (4, 36), (36, 4)])
def test_the_suggested_order_of_pools_splits_no_domain(one: int, other: int) -> None:
    """Each of two pools was suggested to be the first, in both orders."""
    pools = [
        {"name": name, "machine": "dgx-gb200", "nodes": nodes, "fabrics": ["compute"]}
        for name, nodes in (("t", one), ("u", other))
    ]
    for order in (pools, pools[::-1]):
        for hint in list_split(order, NDR):
            if "before the others" in hint:
                assert not list_split(order[::-1], NDR), (order, hint)
            else:
                assert hint.endswith("with a separate fabric"), hint
                name = hint.split()[2]
                apart = [pool | {"fabrics": ["own" if pool["name"] == name else "compute"]} for pool in order]
                plan = plan_spec(pools=apart, fabrics=[NDR, NDR | {"name": "own", "role": "compute"}])
                assert not [item for item in plan.findings if item.check == "fabric-split-domain"]
