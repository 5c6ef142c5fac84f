"""Leaves of a pair keep ports for the links between them, whatever the spec leaves open."""

from __future__ import annotations

import numpy as np
import pytest

from supercloud.catalog import Catalog
from supercloud.plan.model.plan import Plan
from supercloud.plan.resolve import resolve
from supercloud.spec.loader import loads

FACTS = Catalog.load_default()
SPEC = """name: m
site: {{kind: onprem, location: stockholm}}
scheduler: {{kind: slurm, version: "25.11"}}
pools:
  - {{name: train, machine: dgx-h100, nodes: {nodes}, fabrics: [in-band]}}
fabrics:
  - {{name: in-band, kind: ethernet, shape: {shape}, switch: nvidia-sn4600c, peer_links: {peers}{more}}}
facility: {{rack: {{type: eia-48u}}}}
"""


def build_plan(nodes: int, peers: int, shape: str = "rail-optimized", more: str = "") -> Plan:
    return resolve(loads(SPEC.format(nodes=nodes, peers=peers, shape=shape, more=more), "x"), FACTS)


@pytest.mark.parametrize("more", ["", ", external_links: 4", ", services: [{name: nfs, count: 3, links: 2}]"])
@pytest.mark.parametrize("shape", ["rail-optimized", "fat-tree"])
@pytest.mark.parametrize("nodes, peers", [(2, 2), (31, 1), (32, 4), (65, 2), (127, 40)])
def test_pairs_without_leaf_up_are_planned(nodes: int, peers: int, shape: str, more: str) -> None:
    plan = build_plan(nodes, peers, shape, more)
    assert not plan.errors
    leaf = plan.fabrics[0].wiring.tiers[0]  # type: ignore[attr-defined]
    assert leaf.count == 1 or leaf.down + leaf.up + peers <= leaf.radix


def test_uplinks_of_pairs_do_not_need_a_spine_each() -> None:
    """62 of 64 ports in two halves are 31, a prime number: 31 uplinks spread evenly over no fewer than 31 spines."""
    assert build_plan(127, 2).fabrics[0].count_switches("spine") <= 6


def test_leaves_without_ports_for_the_pair_are_reported_with_a_size_that_fits() -> None:
    (error,) = build_plan(2, 2, more=", leaf_down: 32").errors
    assert error.check == "fabric-fit" and "2 to the other leaf" in error.problem
    assert "30 up (leaf_up)" in error.hint
    assert not build_plan(2, 2, more=", leaf_down: 32, leaf_up: 30").errors
    assert not build_plan(2, 2, more=", leaf_down: 30").errors


def test_exits_on_leaves_keep_the_ports_of_the_pair() -> None:
    """Without spines the links to the building are on leaves too."""
    plan = build_plan(31, 2, more=", tiers: 1, external_links: 60")
    assert not plan.errors
    assert build_plan(31, 2, more=", tiers: 1, external_links: 63").errors


def test_reserved_ports_are_not_those_of_the_pair() -> None:
    for nodes in (3, 15):  # leaves with few nodes, whose free ports begin below those of the pair
        wiring = build_plan(nodes, 2, more=", leaf_down: 20, leaf_up: 40, services: [{name: a, count: 8, links: 2}]")
        (reserved,) = (
            group
            for group in wiring.fabrics[0].wiring.link_groups  # type: ignore[attr-defined]
            if group.target_kind == "leaf" and "reserved" in group.source_kind
        )
        assert not np.isin(reserved.build_columns().target_port, (20, 21)).any()
        assert not wiring.errors


def test_rails_of_a_pair_are_connected() -> None:
    """Without spines the peer links connect the two leaves."""
    found = {peers: [item.check for item in build_plan(8, peers, more=", tiers: 1").findings] for peers in (0, 2)}
    assert "fabric-rails-disjoint" in found[0] and "fabric-rails-disjoint" not in found[2]


@pytest.mark.parametrize("nodes, links", [(8, "there is no pair"), (40, "the 2 links between leaves do not help")])
def test_nodes_with_links_to_one_leaf_of_a_pair_are_reported(nodes: int, links: str) -> None:
    plan = build_plan(nodes, 2, shape="fat-tree")
    assert [item.problem for item in plan.findings if item.check == "leaf-pairs"] == [
        f"{nodes} of {nodes} nodes of in-band have links to one leaf only: its failure disconnects them, and {links}"
    ]
    assert "leaf-pairs" not in {item.check for item in build_plan(nodes, 2).findings}
