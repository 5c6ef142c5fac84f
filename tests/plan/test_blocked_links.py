"""Links of bridged networks that the spanning tree blocks are counted, and what is advised leaves none."""

from __future__ import annotations

from typing import Any

import pytest
from plan.test_resolve import plan_spec
from samples import ROOT

from supercloud.errors import Finding
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import load

pytestmark = pytest.mark.slow

IN_BAND = {"name": "in-band", "kind": "ethernet", "shape": "rail-optimized", "switch": "nvidia-sn4600c"}
MANAGEMENT = {
    "name": "management",
    "kind": "ethernet",
    "shape": "fat-tree",
    "switch": "nvidia-sn2201",
    "upstream": {"fabric": "in-band", "links": 2},
}


def build_site(nodes: int, **more: Any) -> Plan:
    pools = [{"name": "train", "machine": "dgx-h100", "nodes": nodes, "fabrics": ["in-band", "management"]}]
    return plan_spec(
        pools=pools, fabrics=[IN_BAND | more, MANAGEMENT], facility={"rack": {"type": "eia-48u", "nodes": 4}}
    )


def find_blocked_links(plan: Plan) -> list[Finding]:
    assert not plan.errors
    return [item for item in plan.findings if item.check == "network-blocked"]


# By hand: three pairs of leaves with four links to each of two spines: the second spine is joined by one pair only; of
# the two links of each management leaf, which go to both spines, one is left.
def test_blocked_links_to_spines_without_a_pair_are_counted() -> None:
    plan = build_site(127, leaf_up=4, spines=2, peer_links=2)
    leaves = plan.fabrics[1].count_switches("leaf")
    found = {item.path: item.problem for item in find_blocked_links(plan)}
    assert [tier.count for tier in plan.fabrics[0].tiers] == [6, 2]
    assert (
        found["fabrics[0]"].startswith("8 of 24 links")
        and "2 spine switches that are not a pair" in found["fabrics[0]"]
    )
    assert found["fabrics[1]"].startswith(f"{leaves} of {2 * leaves} links")


@pytest.mark.parametrize(
    "nodes, declared, fix",
    [
        (127, {"leaf_up": 4, "spines": 2, "peer_links": 2}, {"spines": 1}),
        (40, {"spines": 4}, {"tiers": 1, "peer_links": 2}),
    ],
)
def test_the_suggested_fix_leaves_no_link_blocked(nodes: int, declared: dict[str, Any], fix: dict[str, Any]) -> None:
    found = find_blocked_links(build_site(nodes, **declared))
    text = "set " + " and ".join(f"{key}: {value}" for key, value in fix.items())
    assert found and all(item.hint.startswith(text) for item in found), found
    fixed = {key: value for key, value in declared.items() if key != "spines" or "spines" in fix} | fix
    assert not find_blocked_links(build_site(nodes, **fixed))


def test_routed_networks_and_single_switches_block_nothing() -> None:
    pools = [{"name": "train", "machine": "dgx-b300", "nodes": 72, "fabrics": ["compute"]}]
    routed = {"name": "compute", "kind": "roce", "shape": "rail-optimized", "switch": "nvidia-sn5600"}
    assert not find_blocked_links(plan_spec(pools=pools, fabrics=[routed])) and not find_blocked_links(
        build_site(8, tiers=1, peer_links=2)
    )


def test_a_network_that_joins_another_is_advised_fewer_uplinks_and_no_routing() -> None:
    """`fabric-upstream` would refuse routing."""
    example = ROOT / "examples/07-storage"
    spec = load(example / "cluster.yaml").model
    spec = spec.model_copy(update={"catalog": str(example / spec.catalog)}) if spec.catalog else spec
    found = find_blocked_links(resolve(spec))
    assert {item.path for item in found} == {"fabrics[2]", "fabrics[3]"}
    assert all(item.hint.startswith("set spines: 1 and leaf_up: 16") for item in found), found
    changes = {"spines": 1, "leaf_up": 16}
    changed = tuple(item.model_copy(update=changes) if item.name == "in-band" else item for item in spec.fabrics)
    after = resolve(spec.model_copy(update={"fabrics": changed}))
    assert not after.errors and not find_blocked_links(after)
    routed = tuple(
        item.model_copy(update={"kind": "roce"}) if item.name == "in-band" else item for item in spec.fabrics
    )
    assert "fabric-upstream" in {item.check for item in resolve(spec.model_copy(update={"fabrics": routed})).errors}
