"""Published switch and cable counts, reproduced by the family of rules from inputs alone."""

import pytest

from topology.shapes import build_clos, build_fat_tree, build_rail_optimized

# DGX H100/B200, "Larger SuperPOD component counts": RA-11333-001 V11 Table 3, RA-11334-001 V08 Table 3.1.
# su: (nodes, gpus, leaf, spine, core, node-leaf, leaf-spine, spine-core)
TABLE_A = {
    2: (64, 512, 16, 8, 0, 512, 512, 0),
    4: (128, 1024, 32, 16, 0, 1024, 1024, 0),
    8: (256, 2048, 64, 32, 0, 2048, 2048, 0),
    16: (512, 4096, 128, 128, 64, 4096, 4096, 4096),
    32: (1024, 8192, 256, 256, 128, 8192, 8192, 8192),
    64: (2048, 16384, 512, 512, 256, 16384, 16384, 16384),
}
# "Compute fabric component count": RA-11333-001 V11 Table 4.
# su: (nodes, gpus, leaf, spine, compute and UFM cables, spine-leaf cables)
TABLE_B = {
    1: (31, 248, 8, 4, 252, 256),
    2: (63, 504, 16, 8, 508, 512),
    3: (95, 760, 24, 16, 764, 768),
    4: (127, 1016, 32, 16, 1020, 1024),
}
# GB200 SuperPOD: RA-11338-001 V01. su: (gpus, leaf, spine, core)
TABLE_C = {
    2: (1152, 64, 48, 18),
    4: (2304, 128, 96, 36),
    8: (4608, 256, 192, 72),
    16: (9216, 512, 384, 144),
}


def count_switches(fabric):
    return tuple(fabric.switch_counts.get(tier, 0) for tier in ("leaf", "spine", "core"))


def count_cables(fabric):
    return tuple(fabric.link_counts.get(name, 0) for name in ("node-leaf", "leaf-spine", "spine-core"))


@pytest.mark.parametrize("su", TABLE_A)
def test_larger_superpods_match_the_table(su):
    nodes, gpus, *counts = TABLE_A[su]
    fabric = build_rail_optimized(nodes, rails=8, radix=64)
    assert [*count_switches(fabric), *count_cables(fabric)] == counts
    assert fabric.nodes * fabric.node_ports == gpus
    assert fabric.get_level("su").count == su
    assert fabric.bisection == 1


@pytest.mark.parametrize("su", TABLE_B)
def test_compute_fabrics_with_ufm_match_the_table(su):
    nodes, gpus, leaf, spine, node_and_ufm, leaf_spine = TABLE_B[su]
    fabric = build_rail_optimized(nodes, rails=8, radix=64, reserved=4)
    assert count_switches(fabric) == (leaf, spine, 0)
    assert fabric.link_counts["node-leaf"] == gpus
    assert fabric.link_counts["node-leaf"] + fabric.link_counts["reserved-leaf"] == node_and_ufm
    assert fabric.link_counts["leaf-spine"] == leaf_spine


@pytest.mark.parametrize("su, parallel, spines", [(1, 8, 4), (2, 4, 8), (3, 2, 16), (4, 2, 16), (8, 1, 32)])
def test_leaves_have_equal_links_to_each_spine(su, parallel, spines):
    group = build_rail_optimized(32 * su, rails=8, radix=64).link_groups[-1]
    pairs = [(link.source, link.target) for link in group]
    assert len(set(pairs)) == 8 * su * spines
    assert {pairs.count(pair) for pair in pairs[:64]} == {parallel}


@pytest.mark.parametrize("su", TABLE_C)
def test_gb200_superpods_match_the_table(su):
    gpus, *counts = TABLE_C[su]
    fabric = build_rail_optimized(144 * su, rails=4, radix=64, unit_nodes=144, down=18, pod="rail")
    assert list(count_switches(fabric)) == counts
    assert count_cables(fabric) == (gpus, gpus, gpus)
    assert [(level.name, level.size, level.count) for level in fabric.levels] == [
        ("leaf-set", 18, 8 * su),  # a rack
        ("su", 144, su),
        ("fabric", 144 * su, 1),
    ]
    leaf, spine, core = fabric.tiers
    assert (leaf.down, leaf.up, spine.down, spine.up) == (18, 18, 24, 24)
    assert core.down == 64
    assert core.axes[1:] == (("group", 6), ("core", 3 * su // 2))
    assert not fabric.has_disjoint_rails


def test_gb200_of_one_su_has_disjoint_rails():
    fabric = build_rail_optimized(144, rails=4, radix=64, unit_nodes=144, down=18, pod="rail")
    assert "core" not in fabric.switch_counts
    assert fabric.has_disjoint_rails
    grown = build_rail_optimized(144, rails=4, radix=64, unit_nodes=144, down=18, pod="rail", tiers=3)
    assert count_switches(grown) == (32, 24, 12)  # "eight leaves and six spines per rail group per SU"


def build_meta(**given):
    """Meta's 24k H100 RoCE cluster (arXiv 2407.21783 section 3.3.1): 8 pods of 192 racks of 16 GPUs in 2 servers."""
    numbers = {
        "rack_nodes": 2,
        "uplinks": 18,
        "racks_per_pod": 192,
        "radix": (64, 576, 576),
        "oversubscription": (1, 7),
    }
    return build_clos(8 * 192 * 2, nics=8, **(numbers | given))


def test_the_cluster_of_meta_matches_its_publication():
    fabric = build_meta()
    rack, pod, _ = fabric.levels
    assert fabric.nodes * fabric.node_ports == 24_576
    assert fabric.get_tier("leaf").count == rack.count == 1_536
    assert pod.count == 8
    assert pod.size * fabric.node_ports == 3_072
    assert rack.uplink_ratio == 18 / 16  # full bandwidth within a pod, and an eighth to spare
    assert fabric.get_tier("spine").oversubscription == pytest.approx(7, rel=0.01)
    assert 1 / 7 <= fabric.bisection == pod.uplink_ratio < 1 / 6
    assert fabric.count_hops(0, 1) == 1
    assert fabric.count_hops(0, 383) == 3
    assert fabric.count_hops(0, 384) == 5


def test_meta_with_a_spine_for_every_uplink_keeps_full_bandwidth_without_two_of_them():
    fabric = build_meta(spines=18)
    assert fabric.get_tier("spine").count == 8 * 18
    assert fabric.get_tier("leaf").up - 2 >= fabric.get_tier("leaf").down


@pytest.mark.parametrize("k", [2, 4, 6, 8, 16, 48])
def test_a_k_ary_fat_tree_matches_its_publication(k):
    """Al-Fares et al., SIGCOMM 2008: k pods of k/2 + k/2 switches, (k/2)**2 cores, k**3/4 hosts."""
    fabric = build_fat_tree(k**3 // 4, nics=1, radix=k, tiers=3)
    assert count_switches(fabric) == (k * k // 2, k * k // 2, k * k // 4)
    assert fabric.bisection == 1
    assert fabric.link_counts["spine-core"] == k**3 // 4


def test_planes_are_copies_of_one_fabric():
    """DGX B300: two ports a GPU, one per plane; each plane by the rule, then summed."""
    one = build_rail_optimized(127, rails=8, radix=64, reserved=4)
    two = build_rail_optimized(127, rails=8, radix=64, reserved=4, planes=2)
    assert two.switch_counts == {tier: 2 * count for tier, count in one.switch_counts.items()}
    assert two.link_counts == {group: 2 * count for group, count in one.link_counts.items()}
    assert [two.get_node_link(5, 3, plane).source_port for plane in (0, 1)] == [6, 7]


@pytest.mark.slow
def test_a_fabric_of_100_000_accelerators_is_built():
    fabric = build_rail_optimized(12_500, rails=8, radix=144)
    columns = fabric.build_columns()
    assert len(columns.source) == sum(fabric.link_counts.values()) == 300_448
    assert fabric.bisection == 1
    for kind, device, port in (
        (columns.source_kind, columns.source, columns.source_port),
        (columns.target_kind, columns.target, columns.target_port),
    ):
        places = (kind.astype("int64") * 100_000 + device) * 1_000 + port
        assert len(set(places.tolist())) == len(places)
