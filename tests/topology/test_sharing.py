"""Rails that share a leaf: no allowed arrangement takes fewer switches than the one that is chosen."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from supercloud.topology import LeafRequirements, TopologyError, compute_arrangements
from topology.shapes import build_rail_optimized

# nodes of 8 rails -> rails on a leaf, leaves, spines. One switch of 64 ports for up to eight: NVIDIA DGX BasePOD,
# RA-11127-001 V5 (DGX H100 and B200, NDR400). 64 x 800G boxes split in two, 400 Gb/s an accelerator: 4 + 2 for 256.
SMALL = {
    (1, 64): (8, 1, 0),
    (8, 64): (8, 1, 0),
    (9, 64): (8, 3, 2),
    (16, 64): (2, 4, 2),
    (24, 64): (4, 6, 4),
    (31, 64): (1, 8, 4),
    (32, 64): (1, 8, 4),
    (8, 128): (8, 1, 0),
    (16, 128): (8, 1, 0),
    (32, 128): (2, 4, 2),
}


@pytest.mark.parametrize("nodes, radix", SMALL)
def test_small_designs_need_the_fewest_switches(nodes: int, radix: int) -> None:
    best = compute_arrangements(nodes, 8, LeafRequirements(radix, radix))[0]
    assert (best.rails_per_leaf, best.leaves, best.spines) == SMALL[nodes, radix]


def test_open_cluster_designs_match_the_publication() -> None:
    """Leaves with 64 ports down and 64 up, whatever the size: 1 + 1, 2 + 1 and 4 + 2 boxes of 128 ports."""
    counts = [
        build_rail_optimized(nodes, rails=8, radix=128, rails_per_leaf=sharing, down=64, tiers=2).switch_counts
        for nodes, sharing in ((8, 8), (16, 4), (32, 2))
    ]
    assert counts == [{"leaf": 1, "spine": 1}, {"leaf": 2, "spine": 1}, {"leaf": 4, "spine": 2}]


def find_fewest(nodes: int, rails: int, radix: int, ratio: float, reserved: int) -> int | None:
    """Every way to share rails, every unit, every number of uplinks and spines, tried one by one."""
    found = [1] if nodes * rails + reserved <= radix else []
    for sharing in (number for number in range(1, rails + 1) if rails % number == 0):
        for unit in range(1, radix // sharing + 1):
            leaves = -(-nodes // unit) * (rails // sharing)
            for up in range(1, radix - unit * sharing + 1):
                enough = up * ratio >= unit * sharing - 1e-9
                if not enough or leaves * (radix - up) - nodes * rails < reserved:
                    continue
                found += [
                    leaves + spines for spines in range(1, up + 1) if up % spines == 0 and leaves * up <= spines * radix
                ]
    return min(found, default=None)


@pytest.mark.slow
@settings(deadline=None, max_examples=80)
@given(
    st.integers(1, 20),
    st.sampled_from([1, 2, 3, 4, 6, 8]),
    st.integers(4, 24),
    st.sampled_from([1.0, 4 / 3, 2.0]),
    st.integers(0, 3),
)
def test_no_allowed_arrangement_needs_fewer_switches(
    nodes: int, rails: int, radix: int, ratio: float, reserved: int
) -> None:
    found = compute_arrangements(nodes, rails, LeafRequirements(radix, radix, ratio, reserved))
    assert (found[0].switch_count if found else None) == find_fewest(nodes, rails, radix, ratio, reserved)
    for best in found[:1]:
        fabric = build_rail_optimized(
            nodes,
            rails=rails,
            radix=radix,
            unit_nodes=best.unit_nodes,
            down=best.unit_nodes * best.rails_per_leaf,
            uplinks=best.uplinks or None,
            rails_per_leaf=best.rails_per_leaf,
            tiers=2 if best.uplinks else 1,
            reserved=reserved,
        )
        assert sum(fabric.switch_counts.values()) == best.switch_count
        ports = Counter((link.target, link.target_port) for group in fabric.link_groups[:1] for link in group)
        assert max(ports.values()) == 1 and len(ports) == nodes * rails
        leaf = fabric.tiers[0]
        assert best.uplinks == 0 or leaf.down <= leaf.up * ratio + 1e-9


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(1, 60), st.sampled_from([1, 2, 4]), st.sampled_from([2, 6, 18]))
def test_scale_up_domains_are_not_spread_over_leaves(nodes: int, rails: int, domain: int) -> None:
    for item in compute_arrangements(nodes, rails, LeafRequirements(64, 64), domain_nodes=domain):
        assert item.unit_nodes % domain == 0 or item.unit_nodes >= nodes


def test_rails_that_do_not_divide_are_refused() -> None:
    message = "8 rails cannot be divided into groups of 3 per leaf; use 1, 2, 4 or 8 rails per leaf"
    with pytest.raises(TopologyError, match=message):
        build_rail_optimized(8, rails=8, radix=64, rails_per_leaf=3)
