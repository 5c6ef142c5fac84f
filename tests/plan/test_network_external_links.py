"""Bridged networks without a link to a router are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plan.network_plans import ROCE, list_problems
from plan.test_resolve import build_pools, plan_spec

from supercloud.plan.build.cabling.cables import build_cable_table
from supercloud.targets import render

IN_BAND = {"name": "in-band", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn4600c"}
MANAGEMENT = {"name": "management", "kind": "ethernet", "shape": "fat-tree", "switch": "nvidia-sn2201"}
UPSTREAM = {"upstream": {"fabric": "in-band", "links": 2}}


@pytest.mark.parametrize(
    "in_band, management, islands",
    [
        ({}, {}, {"fabrics[0].external_links": "in-band", "fabrics[1].external_links": "management"}),
        ({}, UPSTREAM, {"fabrics[0].external_links": "in-band and management"}),
        ({"external_links": 2}, {}, {"fabrics[1].external_links": "management"}),
        ({"external_links": 2}, UPSTREAM, {}),
        ({}, {"external_links": 1}, {"fabrics[0].external_links": "in-band"}),
        ({}, UPSTREAM | {"external_links": 1}, {"fabrics[0].external_links": "in-band"}),
    ],
)
def test_bridged_networks_without_a_route_are_reported(
    in_band: dict[str, Any], management: dict[str, Any], islands: dict[str, str]
) -> None:
    """Each subnet is a VLAN, and switches only bridge: nodes, service machines and storage did not reach each other."""
    pools = build_pools("dgx-h100", 32)
    pools[0]["fabrics"] = ["in-band", "management"]
    plan = plan_spec(pools=pools, fabrics=[IN_BAND | in_band, MANAGEMENT | management])
    assert not plan.errors, plan.errors
    found = dict(list_problems(plan, "network-external-links"))
    assert {
        path: text.partition(" leads to ")[0].removeprefix("no link of ") for path, text in found.items()
    } == islands
    assert "(service, " in found.get("fabrics[0].external_links", "(service, ")
    text = render(plan, "ethernet")["INSTALL.md"]
    assert ("to which the plan has no link" in text) == ("external_links" not in in_band | management)


@pytest.mark.parametrize(
    "in_band, management, missed",
    [
        (
            {"external_links": 1},
            1,
            {"fabrics[0].external_links": "external_links: 2", "fabrics[1].upstream.links": "links: 2"},
        ),
        ({"external_links": 1}, 2, {"fabrics[0].external_links": "external_links: 2"}),
        ({"external_links": 2}, 1, {"fabrics[1].upstream.links": "links: 2"}),
        ({"external_links": 2}, 2, {}),
        ({"external_links": 2, "tiers": 2, "spines": 2, "leaf_up": 4}, 2, {}),
        ({}, 2, {"fabrics[0].external_links": "(2 at least, one for each plane)"}),
    ],
)
def test_each_plane_of_a_bridged_network_needs_an_exit_and_a_joining_link(
    in_band: dict[str, Any], management: int, missed: dict[str, str]
) -> None:
    """A node whose first link failed moved to a plane without its gateway, and the plan had no finding."""
    pools = build_pools("dgx-b200", 4)
    pools[0]["fabrics"] = ["in-band", "management"]
    upstream = {"upstream": {"fabric": "in-band", "links": management}}
    plan = plan_spec(pools=pools, fabrics=[IN_BAND | in_band | {"planes": 2}, MANAGEMENT | upstream])
    assert not plan.errors, plan.errors
    hints = {item.path: item.hint for item in plan.findings if item.check == "network-external-links"}
    assert hints.keys() == missed.keys() and all(missed[path] in hint for path, hint in hints.items())
    fabric = next(item for item in plan.fabrics if item.name == "in-band")
    table, top = build_cable_table(plan, fabric), fabric.tiers[-1]
    switches = (
        table.links.source[table.links.target_set == len(table.devices) - 1]
        if "external_links" in in_band
        else np.array([])
    )
    assert len(set(switches // (top.count // 2))) == min(2, in_band.get("external_links", 0))


def test_routed_networks_need_no_exits() -> None:
    assert not list_problems(plan_spec(pools=build_pools("dgx-h100", 32), fabrics=[ROCE]), "network-external-links")
