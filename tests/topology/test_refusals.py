"""Numbers that make no fabric are refused with the numbers and what would fit."""

import pytest

from supercloud.topology import TopologyError, build_torus
from topology.shapes import build_clos, build_fat_tree, build_rail_optimized


def get_refusal(call, *args, **kwargs) -> TopologyError:
    with pytest.raises(TopologyError) as caught:
        call(*args, **kwargs)
    return caught.value


def test_reserved_links_that_do_not_fit_are_refused():
    error = get_refusal(build_rail_optimized, 128, rails=8, radix=64, reserved=4)
    assert str(error) == (
        "4 reserved links need 4 free leaf ports, but 128 nodes with 8 ports each leave 0 free on 32 leaves with "
        "32 ports for them; use 127 nodes, or smaller units (su)"
    )
    assert build_rail_optimized(127, rails=8, radix=64, reserved=4).link_counts["reserved-leaf"] == 4
    assert build_rail_optimized(128, rails=8, radix=64, reserved=4, units=5).link_counts["reserved-leaf"] == 4


def test_too_many_nodes_for_three_tiers_are_refused():
    error = get_refusal(build_rail_optimized, 12_500, rails=8, radix=64)
    assert error.problem == (
        "12500 nodes with 8 ports each, 100000 ports on 3128 leaves, do not fit 3 tiers of radix 64, which join at "
        "most 65536 ports"
    )
    assert error.hint == (
        "8192 nodes fit, 12500 need a radix of 80, or use 2 planes with every port split in two (radix 128), "
        "or leaves oversubscribed 5:1"
    )


def test_three_equal_radixes_are_like_one():
    one, three = (get_refusal(build_rail_optimized, 12_500, rails=8, radix=radix) for radix in (64, (64, 64, 64)))
    assert str(one) == str(three)
    mixed = get_refusal(build_rail_optimized, 12_500, rails=8, radix=(64, 64, 32))
    assert "radix 64 (leaf), 64 (spine), 32 (core)" in mixed.problem
    assert mixed.hint == "4096 nodes fit"


@pytest.mark.parametrize(
    "remedy",
    [
        {"nodes": 8192},
        {"radix": 80},
        {"radix": 128, "planes": 2},
        {"oversubscription": 5.0},
        {"radix": 144},
    ],
)
def test_the_suggested_change_fits(remedy):
    fabric = build_rail_optimized(**({"nodes": 12_500, "rails": 8, "radix": 64} | remedy))
    assert len(fabric.tiers) == 3


@pytest.mark.parametrize("remedy", [{"nodes": 8193}, {"radix": 79}, {"oversubscription": 4.0}])
def test_the_suggested_change_is_minimal(remedy):
    get_refusal(build_rail_optimized, **({"nodes": 12_500, "rails": 8, "radix": 64} | remedy))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: build_rail_optimized(0, rails=8, radix=64), "nodes is 0"),
        (lambda: build_rail_optimized(8, rails=0, radix=64), "rails is 0"),
        (lambda: build_rail_optimized(8, rails=8, radix=1), "a leaf of 1 ports"),
        (lambda: build_rail_optimized(8, rails=8, radix=0), "leaf_radix is 0"),
        (lambda: build_rail_optimized(8, rails=8, radix=64, down=40, uplinks=30), "40 ports down"),
        (lambda: build_rail_optimized(8, rails=8, radix=64, tiers=4), "tiers is 4"),
        (lambda: build_rail_optimized(8, rails=8, radix=64, spines=12), "use 16 spines"),
        (lambda: build_rail_optimized(8, rails=8, radix=64, spines=64), "use 32 spines"),
        (lambda: build_rail_optimized(8, rails=8, radix=64, oversubscription=0), "oversubscription is 0"),
        (lambda: build_rail_optimized(128, rails=8, radix=64, units=3), "128 nodes do not fit into 3 SU of 32"),
        (lambda: build_rail_optimized(8, rails=8, radix=64, pod="rack"), "pod is 'rack'"),
        (lambda: build_rail_optimized(288, rails=8, radix=64, tiers=2), "256 nodes fit"),
        (lambda: build_rail_optimized(288, rails=8, radix=64, tiers=2), "allow 3 tiers"),
        (lambda: build_rail_optimized(65, rails=8, radix=64, tiers=1), "64 nodes fit"),
        (lambda: build_rail_optimized(288, rails=8, radix=64, unit_nodes=144, down=18), "pods of one rail"),
        (
            lambda: build_rail_optimized(100, rails=8, radix=128, spines=1),
            "3 tiers of radix 128: the 8 leaves of a pod have 512 uplinks, and its 1 spine has 64 ports",
        ),
        (
            lambda: build_rail_optimized(8, rails=8, radix=64, unit_nodes=64, down=32, tiers=1),
            "one tier has a single leaf, but a unit has 2",
        ),
        (
            lambda: build_rail_optimized(64, rails=8, radix=64, pod_units=4, spines=8, tiers=3),
            "the 32 leaves of a pod have 1024 uplinks, and its 8 spines have 256 ports",
        ),
        (
            lambda: build_rail_optimized(64, rails=8, radix=(64, 64, 4), pod="rail"),
            "8 sets of leaves meet in the core only",
        ),
        (lambda: build_fat_tree(9, nics=1, radix=4, tiers=2), "8 nodes fit"),
        (lambda: build_fat_tree(17, nics=1, radix=4), "16 nodes fit"),
        (lambda: build_fat_tree(100, nics=1, radix=64, tiers=1), "64 nodes fit"),
        (lambda: build_clos(4, nics=8, rack_nodes=2, radix=(16, 64, 64)), "16 ports down"),
        (lambda: build_clos(1 << 20, nics=8, rack_nodes=2, radix=64), "1048576 nodes"),
        (lambda: build_clos(4, nics=8, rack_nodes=2, radix=64, racks=1), "build 2 racks"),
        (lambda: build_fat_tree(9, nics=1, radix=4, leaves=4), "build 5 leaves"),
        (lambda: build_torus((4,)), "a torus of 1 axes"),
        (lambda: build_torus((4, 0)), "dims is 0"),
        (lambda: build_torus((4, 4), wrap=[True]), "one wrap per axis"),
    ],
)
def test_refusals_have_a_reason_and_a_hint(call, message):
    assert message in str(get_refusal(call))


def test_unknown_names_are_lookup_errors():
    fabric = build_fat_tree(4, nics=1, radix=4)
    with pytest.raises(LookupError, match="unknown spine: available are leaf"):
        fabric.get_tier("spine")
    with pytest.raises(LookupError, match="unknown pod: available are leaf, fabric"):
        fabric.get_level("pod")
    with pytest.raises(IndexError):
        fabric.count_hops(0, 4)
    with pytest.raises(LookupError):
        build_torus((2, 2)).get_node_link(0, 0)
