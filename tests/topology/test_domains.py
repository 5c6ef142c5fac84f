"""Levels of locality."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supercloud.topology import Level
from topology.shapes import build_rail_optimized


@pytest.mark.slow
@given(st.integers(1, 300), st.integers(1, 40), st.integers(0, 100))
def test_domains_partition_the_nodes(nodes, size, within):
    level = Level("any", nodes, size, 1, section_nodes=within if within >= size else 0)
    assert [node for domain in level for node in domain] == list(range(nodes))
    assert all(node in level.list_domain_nodes(level.find_domain(node)) for node in range(nodes))
    assert all(1 <= len(domain) <= size for domain in level)


def test_blocks_restart_in_every_unit():
    fabric = build_rail_optimized(90, rails=2, radix=64, unit_nodes=40, down=18)
    assert list(fabric.get_level("leaf-set")) == [
        range(0, 18),
        range(18, 36),
        range(36, 40),
        range(40, 58),
        range(58, 76),
        range(76, 80),
        range(80, 90),
    ]
    assert list(fabric.get_level("su")) == [range(0, 40), range(40, 80), range(80, 90)]


def test_pods_contain_several_units():
    fabric = build_rail_optimized(3200, rails=8, radix=64)
    assert [(level.name, level.size, level.count, level.hops) for level in fabric.levels] == [
        ("su", 32, 100, 1),
        ("pod", 64, 50, 3),
        ("fabric", 3200, 1, 5),
    ]


def test_the_share_is_the_outgoing_bandwidth():
    fabric = build_rail_optimized(512, rails=8, radix=64, oversubscription=(3, 2))
    assert fabric.get_tier("leaf").down == 48
    assert fabric.get_tier("leaf").up == 16
    su, *_ = fabric.levels
    assert su.uplink_ratio == pytest.approx(1 / 6), "3:1 at the leaves, then 2:1 at the spines"
    assert fabric.bisection == su.uplink_ratio


def test_nodes_outside_are_an_index_error():
    level = Level("su", 100, 32, 1)
    for ask in (level.find_domain, level.list_domain_nodes):
        with pytest.raises(IndexError):
            ask(100)
        with pytest.raises(IndexError):
            ask(-1)
